"""Adam as torch has it, in a process that never imports torch's compiler."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch


class Adam(torch.optim.Adam):
    """`torch.optim.Adam`, step for step (Kingma and Ba, ICLR 2015, with torch's L2 weight decay).

    Most of these methods of torch's optimizers import the compiler only to tell it to leave them alone: two seconds of
    every process that trains. We compile networks, never an optimizer, so that it can be spared.
    """

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> Any:
        return inspect.unwrap(torch.optim.Adam.step)(self, closure)

    def _accelerator_graph_capture_health_check(self) -> None:
        """Asks CUDA's driver, in every step, for a GPU that is being captured: no question for weights on a CPU."""
        if self.param_groups[0]["params"][0].device.type != "cpu":
            super()._accelerator_graph_capture_health_check()

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        inspect.unwrap(torch.optim.Adam.add_param_group)(self, param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        inspect.unwrap(torch.optim.Adam.zero_grad)(self, set_to_none)

    def state_dict(self) -> dict[str, Any]:
        return inspect.unwrap(torch.optim.Adam.state_dict)(self)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        inspect.unwrap(torch.optim.Adam.load_state_dict)(self, state_dict)
