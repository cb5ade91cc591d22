"""What it costs to train one run with several processes, and what that means for more of them.

    python benchmarks/distributed.py                          # on the CPU: processes against threads
    python benchmarks/distributed.py --device cuda            # on a GPU, which two processes share
    python benchmarks/distributed.py --bytes 12.4e6 --fixed-ms 2 --pair-us 5     # the estimate alone

Steps are those of training, on batches of typical lengths. Each row is measured by processes of its own, in
turns; the fastest of all passes counts. The estimate takes the bytes of the gradients and the time of a step,
which has a fixed part and one for each pair, from the measurement or from the command line.
"""

import argparse
import json
import os
import pickle
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

BATCHES = 4
PASSES = 3


class Row(NamedTuple):
    """What is measured in one row of the table."""

    name: str
    processes: int = 1
    threads: int = 1
    parts: int = 0
    """The setting `train.exact_parts`."""
    divisor: int = 1
    """The batch is this many times smaller than the preset's."""
    nccl: bool = False
    """One process that adds up its gradients by NCCL all the same."""


CPU_ROWS = [
    Row("1 process, 1 thread"),
    Row("1 process, 2 threads", threads=2),
    Row("2 processes, 1 thread each", 2),
    Row("1 process, exact", parts=4),
    Row("2 processes, exact", 2, parts=4),
]
GPU_ROWS = [
    Row("1 process"),
    Row("1 process, NCCL", nccl=True),
    Row("2 processes that share the GPU, gloo", 2),
    Row("2 processes that share the GPU, gloo, exact", 2, parts=4),
]
SIZES = [Row(f"1 process, batches of 1/{divisor}", divisor=divisor) for divisor in (2, 4, 8)]


def prepare(arguments: argparse.Namespace, file: Path) -> None:
    """Writes the training pairs as ids and the sizes of the vocabularies, for all processes to read."""
    from augenmerk.base.config import load_config
    from augenmerk.data import open_data
    from augenmerk.text.batching import encode_pairs
    from augenmerk.text.tokenizer import TokenizerPair

    config = load_config(arguments.preset, arguments.set)
    pairs = open_data(config.data)[config.data.train]
    tokenizers = TokenizerPair.train(pairs, config.text)
    source, target = tokenizers.source, tokenizers.target
    tokens = encode_pairs(pairs, source.encode_ids, target.encode_ids, config.data.max_length)
    file.write_bytes(pickle.dumps((config, tokens, source.size, target.size)))


def work(file: Path, device_name: str, row: Row) -> None:
    """Measures a row, as one of its processes; the first of them prints the result."""
    import torch
    from torch import distributed

    from augenmerk.bench.training import select_typical
    from augenmerk.model.interface import build_model
    from augenmerk.training.distributed import join
    from augenmerk.training.engine import Engine, SharedGradients

    world, device = join(device_name)
    config, tokens, *sizes = pickle.loads(file.read_bytes())
    on_gpu = device.type == "cuda"
    settings = config.train.model_copy(
        update={"exact_parts": row.parts, "batch_size": config.train.batch_size // row.divisor}
    )
    tokens = tokens.to(device)
    plan = tokens.plan(settings.batch_size, seed=1, round_to=4 if on_gpu else 1)
    batches = list(tokens.batches(select_typical(plan, BATCHES)))
    torch.manual_seed(1)
    engine = Engine(build_model(config.model, *sizes).train(), settings, device, world)
    if row.nccl:
        store = distributed.HashStore()  # type: ignore[attr-defined]
        distributed.init_process_group("nccl", store=store, rank=0, world_size=1)
        engine.shared = SharedGradients(engine.parameters, settings, 1, world)
        world.add_up = distributed.all_reduce  # type: ignore[method-assign]

    def seconds_of(work: Callable[[], object]) -> float:
        if on_gpu:
            torch.cuda.synchronize()
        world.agree(0, False)
        began = time.perf_counter()
        work()
        if on_gpu:
            torch.cuda.synchronize()
        return time.perf_counter() - began

    def steps() -> None:
        for number, batch in enumerate(batches):
            engine.step([batch], 1e-4, number)
            world.agree(0, False)

    for _ in range(3 if on_gpu else 1):  # runs, records and replays the graphs
        steps()
    cpu = time.process_time()
    step = min(seconds_of(steps) for _ in range(PASSES)) / len(batches)
    cpu = (time.process_time() - cpu) / (PASSES * len(batches))
    shared = engine.shared
    reduction = min(seconds_of(shared.add_up) for _ in range(10)) if shared is not None else 0.0
    agreement = min(seconds_of(lambda: world.agree(0, False)) for _ in range(10)) if world.size > 1 else 0.0
    if world.is_first:
        numbers = sum(parameter.numel() for parameter in engine.parameters.values())
        pairs = float(np.mean([len(batch.src) for batch in batches]))
        speed = float(np.mean([batch.target_tokens for batch in batches])) / step
        print(json.dumps([step, reduction, agreement, cpu, speed, pairs, 4 * numbers]))
    world.leave()
    if row.nccl:
        distributed.destroy_process_group()


def measure(row: Row, file: Path, device: str) -> dict[str, float]:
    """Starts the processes of a row, as `torchrun` does, and returns what they measured."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    command = [sys.executable, __file__, "--work", json.dumps([str(file), device, *row])]
    processes = []
    for rank in range(row.processes):
        place = {"RANK": rank, "WORLD_SIZE": row.processes, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        place |= {"LOCAL_RANK": rank, "OMP_NUM_THREADS": row.threads}
        environment = os.environ | {name: str(value) for name, value in place.items()}
        processes.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True))
    printed = [process.communicate()[0] for process in processes]
    if any(process.returncode for process in processes):
        sys.exit(f"{row.name}: the processes failed.")
    print(f"{row.name}: {printed[0].strip()}", file=sys.stderr)
    names = ("step", "reduction", "agreement", "cpu", "speed", "pairs", "bytes")
    return dict(zip(names, json.loads(printed[0]), strict=True))


def measure_all(rows: list[Row], file: Path, device: str, turns: int) -> list[dict[str, float]]:
    """Measures all rows in turns, and keeps the fastest of each."""
    rounds = []
    for number in range(turns):
        print(f"round {number + 1} of {turns}, load {os.getloadavg()[0]:.1f}", file=sys.stderr)
        rounds.append([measure(row, file, device) for row in rows])
    return [min(found, key=lambda measured: measured["step"]) for found in zip(*rounds, strict=True)]


def print_measured(rows: list[Row], measured: list[dict[str, float]]) -> None:
    print("| | ms a step | of it reduction | decision | CPU ms of a process | tokens/s | against the first |")
    print("|---|---|---|---|---|---|---|")
    for row, found in zip(rows, measured, strict=True):
        share = f"{1e3 * found['reduction']:.2f} ms, {found['reduction'] / found['step']:.0%}"
        figures = [
            f"{1e3 * found['step']:.1f}",
            share if found["reduction"] else "",
            f"{1e3 * found['agreement']:.2f} ms" if found["agreement"] else "",
            f"{1e3 * found['cpu']:.1f}",
            f"{found['speed']:,.0f}",
            f"{found['speed'] / measured[0]['speed']:.2f}",
        ]
        print(f"| {row.name} | {' | '.join(figures)} |")


class Constants(NamedTuple):
    """What the estimate rests on. A reduction is a ring inside each machine, then one over the machines."""

    bytes: float
    """Of the gradients."""
    fixed: float
    """Seconds of a step that do not depend on the batch."""
    pair: float
    """Seconds of a step for each pair."""
    batch: int
    """Pairs of a step, of each GPU or in all."""
    inside: float
    """Bytes a second from GPU to GPU inside a machine."""
    latency: float
    """Seconds for a message between machines; a tenth of it inside a machine."""

    def reduction(self, machines: int, gpus: int, network: float) -> float:
        """Returns the seconds to add up the gradients; `network` is in bytes a second."""
        rings = ((gpus, self.inside, self.latency / 10), (machines, network, self.latency))
        return sum(2 * (n - 1) * (self.bytes / n / speed + latency) for n, speed, latency in rings)

    def computing(self, pairs: float) -> float:
        return self.fixed + self.pair * pairs


def print_estimate(constants: Constants, pairs: float) -> None:
    """Prints a table: 1 or 8 machines with 1 or 8 GPUs, for a batch of each GPU and for one in all."""
    alone = constants.batch / constants.computing(constants.batch)
    mb = constants.bytes / 1e6
    print(
        f"\nGradients of {mb:.1f} MB, {1e3 * constants.fixed:.2f} ms + {1e6 * constants.pair:.2f} us a pair"
    )
    print(
        "\n| machines x GPUs | network, Gbit/s | pairs a step | computing, ms | reduction, ms | pairs/s |",
        end="",
    )
    print(
        f" times one GPU | minutes for {pairs / 1e6:.0f} million pairs |\n|---|---|---|---|---|---|---|---|"
    )
    for machines, gpus in ((1, 1), (1, 8), (8, 1), (8, 8)):
        for gbit in (10, 25, 100, 400) if machines > 1 else (0,):
            n = machines * gpus
            for step in (constants.batch * n, constants.batch) if n > 1 else (constants.batch,):
                computing = constants.computing(step / n)
                reduction = constants.reduction(machines, gpus, gbit * 1e9 / 8 or 1.0)
                speed = step / (computing + reduction)
                print(
                    f"| {machines} x {gpus} | {gbit or ''} | {step:,} | {1e3 * computing:.2f} | "
                    f"{1e3 * reduction:.2f} | {speed:,.0f} | {speed / alone:.1f} | {pairs / speed / 60:.0f} |"
                )
    computing = constants.computing(constants.batch)
    limit = 2 * 7 / 8 * constants.bytes / max(1e-9, computing - 14 * constants.latency) * 8 / 1e9
    print(
        f"\nOver 8 machines with {constants.batch} pairs for each GPU, the reduction takes longer than "
        f"computing below {limit:.1f} Gbit/s."
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--preset", default="quick")
    parser.add_argument("--set", action="append", default=["data.bitext=bilderbuch"], help="settings over it")
    parser.add_argument("--rounds", type=int, default=2, help="how often each row is measured, in turns")
    parser.add_argument("--bytes", type=float, help="of the gradients; then nothing is measured")
    parser.add_argument("--fixed-ms", type=float, default=1.0, help="of a step, whatever its batch")
    parser.add_argument("--pair-us", type=float, default=10.0, help="of a step, for each pair")
    parser.add_argument("--batch", type=int, default=256, help="pairs of a step in the estimate")
    parser.add_argument("--inside-gb", type=float, default=200.0, help="GB/s between GPUs of a machine")
    parser.add_argument("--latency-us", type=float, default=30.0, help="of a message between machines")
    parser.add_argument("--pairs", type=float, default=1e8, help="training pairs in the estimate")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        file, device, *row = json.loads(arguments.work)
        work(Path(file), device, Row(*row))
        return
    size, fixed, pair = arguments.bytes, arguments.fixed_ms / 1e3, arguments.pair_us / 1e6
    if size is None:
        rows = CPU_ROWS if arguments.device == "cpu" else GPU_ROWS
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "tokens"
            prepare(arguments, file)
            measured = measure_all(rows + SIZES, file, arguments.device, arguments.rounds)
        print_measured(rows + SIZES, measured)
        alone: list[Any] = [measured[0], *measured[len(rows) :]]
        pair, fixed = np.polyfit([found["pairs"] for found in alone], [found["step"] for found in alone], 1)
        size, fixed = measured[0]["bytes"], max(fixed, 0.0)
    inside, latency = arguments.inside_gb * 1e9, arguments.latency_us / 1e6
    print_estimate(Constants(size, fixed, pair, arguments.batch, inside, latency), arguments.pairs)


if __name__ == "__main__":
    main()
