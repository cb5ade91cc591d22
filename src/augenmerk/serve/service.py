"""What the routes need, together."""

from collections.abc import Callable
from dataclasses import dataclass, field

from augenmerk.serve.access import Access
from augenmerk.serve.batcher import Batcher
from augenmerk.serve.limits import Limits
from augenmerk.serve.metrics import Metrics
from augenmerk.serve.registry import ModelRegistry
from augenmerk.serve.schemas import Names


@dataclass
class Service:
    """Everything a route needs; it finds it in `request.app.state.service`."""

    registry: ModelRegistry
    batcher: Batcher
    limits: Limits
    metrics: Metrics
    access: Access
    draining: bool = False
    """Whether the server ends, and takes no further requests."""
    closing: list[Callable[[], None]] = field(default_factory=list)
    """Functions to call when the server ends."""

    @classmethod
    def of(
        cls,
        registry: ModelRegistry,
        limits: Limits | None = None,
        access: Access | None = None,
        *,
        threads: int | None = None,
    ) -> "Service":
        """Makes a service; it computes with as many threads as there are cores, unless told."""
        limits, metrics = limits or Limits(), Metrics()
        batcher = Batcher(registry, limits, metrics, threads)
        return cls(registry, batcher, limits, metrics, access or Access())

    def choose_model(self, names: Names | None) -> Names:
        """Returns the model that a request names, or the default; raises UnknownModel."""
        if names is None:
            return self.registry.names[0]
        self.registry.check([names] if isinstance(names, str) else names)
        return names
