"""Measures `augenmerk serve`: single sentences from many clients, against translating them offline.

    python benchmarks/serve.py [--clients 50] [--seconds 20] [--rounds 3] [--model RUN]

It starts the server as a person does, and then takes turns: `augenmerk bench decode` measures the offline
greedy rate, and wrk (https://github.com/wg/wrk, `apt install wrk`) asks with keep-alive connections, each of
which sends the next sentence when it has the answer to the last. It prints requests a second, their share of
the offline rate, the latencies, what failed, and the server's memory before and after. The milliseconds of
processor time that a sentence takes, offline and served, say most where the machine has other things to do.

With --soak MINUTES it only asks, and prints the memory every ten seconds.
"""

import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from augenmerk.base.errors import AugenmerkError
from augenmerk.data import open_data
from augenmerk.run.bundled import BUNDLED_MODEL
from augenmerk.run.directory import RunDirectory
from augenmerk.translation import load

COMMAND = (sys.executable, "-m", "augenmerk")

SCRIPT = """
local bodies = {}
for line in io.lines(os.getenv("BODIES")) do bodies[#bodies + 1] = line end
local place = 0
local headers = {["Content-Type"] = "application/json"}
request = function()
  place = place % #bodies + 1
  return wrk.format("POST", "/v1/translate", headers, bodies[place])
end
done = function(summary, latency, requests)
  local errors = summary.errors
  print(string.format(
    'RESULT {"requests": %d, "seconds": %f, "p50": %f, "p90": %f, "p99": %f, "max": %f, "failed": %d}',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(90) / 1e3,
    latency:percentile(99) / 1e3, latency.max / 1e3,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clients", type=int, default=50, help="connections that ask at the same time")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long they ask in a round")
    parser.add_argument("--rounds", type=int, default=3, help="turns of offline and service")
    parser.add_argument("--sentences", type=int, default=1000, help="different sentences")
    parser.add_argument("--beam", type=int, default=1, help="width of the beam")
    parser.add_argument("--model", type=Path, default=BUNDLED_MODEL, help="a run directory")
    parser.add_argument("--no-bench", action="store_true", help="leave out `bench decode`")
    parser.add_argument("--soak", type=float, help="minutes to ask for, with the memory every ten seconds")
    arguments = parser.parse_args()
    sentences = read_sentences(arguments.model, arguments.sentences)
    with tempfile.TemporaryDirectory() as folder:
        script, bodies = Path(folder, "ask.lua"), Path(folder, "bodies.txt")
        script.write_text(SCRIPT, encoding="utf-8")
        lines = [json.dumps({"text": text, "beam": arguments.beam}, ensure_ascii=False) for text in sentences]
        bodies.write_text("\n".join(lines) + "\n", encoding="utf-8")
        with server(arguments.model) as (address, process):
            ask(address, script, bodies, arguments.clients, 2.0)  # warms up
            if arguments.soak:
                soak(address, process, script, bodies, arguments)
            else:
                compare(address, process, script, bodies, sentences, arguments)


def compare(
    address: str,
    process: subprocess.Popen[str],
    script: Path,
    bodies: Path,
    sentences: list[str],
    arguments: argparse.Namespace,
) -> None:
    """Takes turns of translating offline and asking the server, and prints both."""
    before = resident_mib(process.pid)
    rounds: list[dict[str, Any]] = []
    print(
        f"{'offline/s':>10} {'served/s':>9} {'share':>6} {'p50 ms':>7} {'p99 ms':>7} {'max ms':>7} "
        f"{'failed':>7} {'cpu ms offline':>15} {'served':>7} {'batch':>6}"
    )
    for _ in range(arguments.rounds):
        offline = (
            1 if arguments.no_bench else measure_offline(arguments.model, arguments.beam, arguments.sentences)
        )
        offline_cpu = measure_offline_cpu(arguments.model, arguments.beam, sentences)
        begin, batches = cpu_seconds(process.pid), count_batches(address)
        row = ask(address, script, bodies, arguments.clients, arguments.seconds)
        cpu = 1e3 * (cpu_seconds(process.pid) - begin) / row["requests"]
        computed = [after - before for after, before in zip(count_batches(address), batches, strict=True)]
        rate = row["requests"] / row["seconds"]
        own = {"offline": offline, "rate": rate, "share": rate / offline, "cpu": cpu}
        own |= {"offline_cpu": offline_cpu, "batch": computed[0] / computed[1]}
        rounds.append({**row, **own})
        print_round(rounds[-1])
    middle = {name: statistics.median(row[name] for row in rounds) for name in rounds[0]}
    print("median")
    print_round({**middle, "failed": sum(row["failed"] for row in rounds)})
    print(f"memory of the server: {before:.0f} MiB before, {resident_mib(process.pid):.0f} MiB after")


def soak(
    address: str, process: subprocess.Popen[str], script: Path, bodies: Path, arguments: argparse.Namespace
) -> None:
    """Asks for minutes, and prints the memory of the server all the while."""
    end, failed, requests = time.monotonic() + 60 * arguments.soak, 0, 0
    while time.monotonic() < end:
        row = ask(address, script, bodies, arguments.clients, 10.0)
        failed, requests = failed + row["failed"], requests + row["requests"]
        left = max(0.0, end - time.monotonic())
        print(
            f"{requests:>9,} requests, {failed} failed, p99 {row['p99']:.0f} ms, "
            f"{resident_mib(process.pid):.1f} MiB, {left:.0f} s left",
            flush=True,
        )


def print_round(row: dict[str, Any]) -> None:
    print(
        f"{row['offline']:>10.0f} {row['rate']:>9.0f} {row['share']:>6.0%} {row['p50']:>7.1f} "
        f"{row['p99']:>7.1f} {row['max']:>7.1f} {row['failed']:>7.0f} {row['offline_cpu']:>15.3f} "
        f"{row['cpu']:>7.3f} {row['batch']:>6.1f}",
        flush=True,
    )


def read_sentences(model: Path, count: int) -> list[str]:
    """Returns sentences of a split that the run did not learn from, or of bilderbuch if that is not here."""
    run = RunDirectory.open(model)
    data = run.config.data
    try:
        bitext = open_data(data)
    except AugenmerkError as error:
        print(f"{error} The sentences are those of bilderbuch.", file=sys.stderr)
        bitext = open_data(data.model_copy(update={"bitext": "bilderbuch"}))
    used = (data.train, data.validation)
    split = next((name for name in bitext.splits if name not in used), data.validation)
    return [pair.source for pair in islice(bitext[split], count)]


@contextmanager
def server(model: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Runs `augenmerk serve` on a free port."""
    command = [*COMMAND, "serve", str(model), "--no-pages", "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            text = ""
            while not text.endswith("}\n"):
                line = process.stdout.readline()
                if not line:
                    sys.exit("The server did not start.")
                text += line
            yield json.loads(text)["address"], process
        finally:
            process.send_signal(signal.SIGTERM)


def ask(address: str, script: Path, bodies: Path, clients: int, seconds: float) -> dict[str, Any]:
    """Has wrk ask for some seconds; latencies are in milliseconds."""
    command = [
        "wrk",
        "-t1",
        f"-c{clients}",
        f"-d{seconds:g}s",
        "--timeout",
        "60s",
        "-s",
        str(script),
        address,
    ]
    environment = {**os.environ, "BODIES": str(bodies)}
    printed = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    found = re.search(r"^RESULT (.*)$", printed, re.M)
    assert found is not None, printed
    result: dict[str, Any] = json.loads(found[1])
    return result


def measure_offline(model: Path, beam: int, sentences: int) -> float:
    """Returns the sentences a second of `augenmerk bench decode`."""
    options = ("--model", str(model), "--beam", str(beam), "--sentences", str(sentences), "--device", "cpu")
    command = [*COMMAND, "bench", "decode", *options, "--no-peers", "--json"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return float(json.loads(printed)["beams"][0]["sentences_per_second"])


def measure_offline_cpu(model: Path, beam: int, sentences: list[str]) -> float:
    """Returns the milliseconds of processor time in which a sentence is decoded offline."""
    translator = load(model)
    ids = translator.tokenizers.source.encode_ids(sentences)
    settings = translator.search_settings(beam=beam)
    translator.decode(ids[:100], settings)
    begin = time.process_time()
    translator.decode(ids, settings)
    return 1e3 * (time.process_time() - begin) / len(ids)


def cpu_seconds(pid: int) -> float:
    """Returns the processor time that a process has taken so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def count_batches(address: str) -> tuple[float, float]:
    """Returns how many texts the server has computed, and in how many batches."""
    with urllib.request.urlopen(f"{address}metrics") as answer:
        text = answer.read().decode()
    return float(re.findall(r"batch_texts_sum (\S+)", text)[0]), float(
        re.findall(r"batch_texts_count (\S+)", text)[0]
    )


def resident_mib(pid: int) -> float:
    """Returns the memory of a process in MiB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


if __name__ == "__main__":
    main()
