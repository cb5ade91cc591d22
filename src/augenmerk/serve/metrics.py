"""Counts of a service, as text for Prometheus."""

import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class Histogram:
    """Counts of values up to each of some bounds, and their sum."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def add(self, value: float) -> None:
        place = 0
        for bound in self.bounds:
            if value <= bound:
                break
            place += 1
        self.counts[place] += 1
        self.sum += value

    def lines(self, name: str) -> Iterator[str]:
        total = 0
        for bound, count in zip((*self.bounds, float("inf")), self.counts, strict=True):
            total += count
            yield f'{name}_bucket{{le="{"+Inf" if bound == float("inf") else f"{bound:g}"}"}} {total}'
        yield f"{name}_sum {self.sum:.9g}"
        yield f"{name}_count {total}"


class Metrics:
    """What is counted. Requests are counted in the event loop, batches in the thread that computes."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()  # by (route, status)
        self.seconds = Histogram(SECONDS)
        self.batch_sizes = Histogram(SIZES)
        self.compute_seconds = 0.0
        self.characters = 0
        self._lock = threading.Lock()

    def count_request(self, route: str, status: int, seconds: float) -> None:
        self.requests[route, status] += 1
        self.seconds.add(seconds)

    def count_batch(self, texts: int, characters: int, seconds: float) -> None:
        with self._lock:
            self.batch_sizes.add(texts)
            self.characters += characters
            self.compute_seconds += seconds

    def to_text(self, gauges: Mapping[str, tuple[str, float]]) -> str:
        """Returns all counts in the text format of Prometheus; `gauges` are the values of this moment."""
        lines = [*_describe("requests_total", "counter", "Requests by route and status.")]
        lines += [
            f'augenmerk_requests_total{{route="{route}",status="{status}"}} {count}'
            for (route, status), count in sorted(self.requests.items())
        ]
        lines += _describe("request_seconds", "histogram", "Time from a request to its answer.")
        lines += self.seconds.lines("augenmerk_request_seconds")
        with self._lock:
            lines += _describe("batch_texts", "histogram", "Texts that were computed together.")
            lines += self.batch_sizes.lines("augenmerk_batch_texts")
            for name, value, about in (
                ("compute_seconds_total", self.compute_seconds, "Time in which batches were computed."),
                ("characters_total", self.characters, "Characters of the texts that were computed."),
            ):
                lines += [*_describe(name, "counter", about), f"augenmerk_{name} {value:.9g}"]
        for name, (about, value) in gauges.items():
            lines += [*_describe(name, "gauge", about), f"augenmerk_{name} {value:.9g}"]
        return "\n".join(lines) + "\n"


def _describe(name: str, kind: str, about: str) -> tuple[str, str]:
    return f"# HELP augenmerk_{name} {about}", f"# TYPE augenmerk_{name} {kind}"
