"""Adam and AdamW on one device.

The arithmetic is torch's own fused kernel, so the weights are bit for bit those of `torch.optim`. Making an
optimizer of `torch.optim` imports torch's compiler, with sympy, which took 1.5 seconds of each training
(measured), and nothing here compiles.
"""

from collections.abc import Iterable

import torch
from torch import Tensor


class Adam:
    """Moves parameters along their gradients, by Adam, or by AdamW if `decoupled`."""

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float | Tensor,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        decoupled: bool = False,
    ) -> None:
        self.lr = lr
        """The learning rate; a tensor, if steps are recorded as a CUDA graph and it is to change."""
        self._betas = betas
        self._eps = eps
        self._weight_decay = weight_decay
        self._update = torch._fused_adamw_ if decoupled else torch._fused_adam_
        self.state = {
            parameter: {
                "step": torch.zeros((), device=parameter.device),
                "exp_avg": torch.zeros_like(parameter),
                "exp_avg_sq": torch.zeros_like(parameter),
            }
            for parameter in parameters
        }
        """The number of steps and both moments of each parameter."""

    @torch.no_grad()
    def step(self) -> None:
        """Updates the parameters that have a gradient."""
        gradients = {each: each.grad for each in self.state if each.grad is not None}
        steps, means, squares = (
            [self.state[parameter][key] for parameter in gradients]
            for key in ("step", "exp_avg", "exp_avg_sq")
        )
        torch._foreach_add_(steps, 1)
        self._update(
            list(gradients),
            list(gradients.values()),
            means,
            squares,
            [],
            steps,
            lr=self.lr,  # type: ignore[arg-type]  # its stub has only one of the two kinds
            beta1=self._betas[0],
            beta2=self._betas[1],
            weight_decay=self._weight_decay,
            eps=self._eps,
            amsgrad=False,
            maximize=False,
        )

    def zero_grad(self, *, set_to_none: bool) -> None:
        """Clears the gradients; without `set_to_none` they keep their memory and become 0."""
        gradients = [parameter.grad for parameter in self.state if parameter.grad is not None]
        if not set_to_none:
            torch._foreach_zero_(gradients)
            return
        for parameter in self.state:
            parameter.grad = None
