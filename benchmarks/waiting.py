"""What waiting costs: training steps under several policies of OpenMP, taking turns on the same machine.

    python benchmarks/waiting.py [--preset quick] [--rounds 5] [--steps 20] [--busy 3] [--alone]

`--busy` starts processes that compute all the while. `--alone` gives the steps real-time priority (Linux, as
root), so that they are timed as on an idle machine although it is not.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

POLICIES = {
    "as torch comes": {},
    "PASSIVE": {"OMP_WAIT_POLICY": "PASSIVE"},
    **{f"{count:,} spins": {"GOMP_SPINCOUNT": str(count)} for count in (10_000, 20_000, 50_000, 100_000)},
}
SPIN = "while True: pass"


def train(preset: str, steps: int, *, alone: bool) -> None:
    """Runs so many training steps for each line on stdin, and prints how long one took, in milliseconds."""
    import torch

    from augenmerk.base.config import load_config
    from augenmerk.data import open_bitext
    from augenmerk.model.interface import build_model
    from augenmerk.text.batching import encode_pairs
    from augenmerk.text.tokenizer import TokenizerPair
    from augenmerk.training.engine import Engine

    config = load_config(preset, [])
    pairs = list(open_bitext("bilderbuch", pairs=2000)["train"])
    tokenizers = TokenizerPair.train(pairs, config.text)
    data = encode_pairs(pairs, tokenizers.source.encode_ids, tokenizers.target.encode_ids)
    data = data.to(torch.device("cpu"))
    model = build_model(config.model, tokenizers.source.size, tokenizers.target.size).train()
    engine = Engine(model, config.train, torch.device("cpu"))
    batches = [*data.batches(data.plan(config.train.batch_size, seed=1, epoch=0)[:steps])]
    for _ in range(2):
        engine.step(batches[:1], 1e-4)
    print("ready", flush=True)
    for _ in sys.stdin:
        _set_priority(alone)
        began = time.perf_counter()
        for batch in batches:
            engine.step([batch], 1e-4)
        print(1e3 * (time.perf_counter() - began) / len(batches), flush=True)
        _set_priority(False)


def _set_priority(real_time: bool) -> None:
    for thread in Path("/proc/self/task").iterdir() if sys.platform == "linux" else ():
        policy = os.SCHED_FIFO if real_time else os.SCHED_OTHER
        os.sched_setscheduler(int(thread.name), policy, os.sched_param(int(real_time)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--preset", default="quick")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--train", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.train:
        train(asked.preset, asked.steps, alone=asked.alone)
        return
    unset = {
        name: value for name, value in os.environ.items() if name not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
    }
    workers: dict[str, subprocess.Popen[str]] = {
        name: subprocess.Popen(
            [sys.executable, __file__, "--train", *sys.argv[1:]],
            env={**unset, **policy},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name, policy in POLICIES.items()
    }
    for worker in workers.values():
        assert worker.stdout is not None
        worker.stdout.readline()
    busy = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(asked.busy)]
    taken: dict[str, list[float]] = {name: [] for name in workers}
    try:
        for _ in range(asked.rounds):
            for name, worker in workers.items():
                assert worker.stdin is not None
                assert worker.stdout is not None
                worker.stdin.write("\n")
                worker.stdin.flush()
                taken[name].append(float(worker.stdout.readline()))
    finally:
        for worker in workers.values():
            worker.kill()
        for process in busy:
            process.kill()
    first = taken["as torch comes"]
    print(f"{asked.preset}, {asked.busy} busy processes, load {os.getloadavg()[0]:.1f}")
    for name, each in taken.items():
        ratio = median(mine / other for mine, other in zip(each, first, strict=True))
        print(f"  {name:15} {median(each):8.1f} ms a step, {ratio:.2f} of the first")


if __name__ == "__main__":
    main()
