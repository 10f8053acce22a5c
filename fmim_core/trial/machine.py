"""What a record says of the machine a trial ran on, and of an error that ended it."""

from __future__ import annotations

import platform
import resource
import sys
import traceback

import torch

from fmim_core.records import TrialError
from fmim_core.registry import load_plugins


def describe_error(error: BaseException) -> TrialError:
    """An error as a record keeps it; running out of memory is called that, whoever noticed it."""
    memory = isinstance(error, MemoryError | torch.OutOfMemoryError) or "can't allocate memory" in str(error)
    return TrialError(
        kind="out of memory" if memory else type(error).__name__,
        message=str(error),
        traceback="".join(traceback.format_exception(error)),
    )


def environment() -> dict[str, str]:
    """The machine and versions a trial ran with, those of packages that register kinds among them."""
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "platform": platform.platform(),
        "host": platform.node(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else "none",
    } | load_plugins()


def device_name(device: torch.device) -> str:
    """The GPU's name, or `cpu`."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def peak_memory(device: torch.device | None) -> int:
    """Bytes: of this trial on a GPU; on a CPU of the process so far, which may have run other trials before."""
    if device is not None and device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
