"""Where the time of a training step on a GPU goes: kernels by kind, against the floor.

    python benchmarks/step_breakdown.py --set model.hidden=512 --set model.embedding=512

Replays the recorded graph of one shape of batch, and asks the profiler for its kernels.
"""

import argparse
import json
import time
from collections import defaultdict

import torch
from race import record_graphs
from torch.profiler import ProfilerActivity, profile

from augenmerk.base.config import load_config
from augenmerk.bench.machine import matrix_rate
from augenmerk.bench.training import operations
from augenmerk.model.interface import build_model
from augenmerk.text.batching import Batch
from augenmerk.training.engine import Engine

STEPS = 50
KINDS = {
    "matrix products": ("gemm", "cutlass", "nvjet", "splitk", "gemv"),
    "recurrence": ("gru", "rnn", "elemwise"),
    "optimizer and clipping": ("multi_tensor", "lpnorm", "adam"),
    "softmax and loss": ("softmax", "nll_loss", "_losses", "_gradients"),
    "copies and casts": ("copy", "memcpy", "memset", "cat", "fill"),
}


def kind_of(kernel: str) -> str:
    name = kernel.lower()
    return next((kind for kind, parts in KINDS.items() if any(part in name for part in parts)), "others")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", action="append", default=[], help="settings over those of `quick`")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--width", type=int, default=16, help="source and target tokens of a sentence")
    parser.add_argument("--kernels", type=int, default=12, help="how many kernels to name")
    arguments = parser.parse_args()
    config, device = load_config("quick", arguments.set), torch.device("cuda")
    B, W, V = arguments.batch, arguments.width, config.text.vocabulary_size
    model = build_model(config.model, V, V).train()
    engine = Engine(model, config.train, device)
    record_graphs(engine, [(B, W, W)], V)
    ids = torch.randint(4, V, (B, W), device=device)
    real = torch.ones_like(ids, dtype=torch.bool)
    lengths = torch.full((B,), W, device=device)
    batch = Batch(ids, real, lengths, ids, ids, real, lengths, B * W)

    def steps() -> float:
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(STEPS):
            engine.step([batch], 1e-4)
        torch.cuda.synchronize()
        return (time.perf_counter() - began) / STEPS

    steps()
    seconds = min(steps() for _ in range(3))
    with profile(activities=[ProfilerActivity.CUDA]) as profiled:
        steps()
    time_of: dict[str, float] = defaultdict(float)
    count_of: dict[str, int] = defaultdict(int)
    for event in profiled.events():
        time_of[event.name] += event.device_time_total / STEPS
        count_of[event.name] += 1
    kinds: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for name, microseconds in time_of.items():
        kinds[kind_of(name)][0] += microseconds
        kinds[kind_of(name)][1] += count_of[name] / STEPS
    print(
        json.dumps(
            {
                "step_ms": seconds * 1e3,
                "kernels_ms": sum(time_of.values()) / 1e3,
                "kernels": sum(count_of.values()) / STEPS,
                "floor_ms": operations(model, batch) / matrix_rate(engine.bf16, device, 8192) * 1e3,
                "kinds_ms_and_kernels": {
                    kind: [round(ms / 1e3, 3), round(n)] for kind, (ms, n) in kinds.items()
                },
                "largest": [
                    [round(us / 1e3, 3), round(count_of[name] / STEPS), name[:90]]
                    for name, us in sorted(time_of.items(), key=lambda item: -item[1])[: arguments.kernels]
                ],
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
