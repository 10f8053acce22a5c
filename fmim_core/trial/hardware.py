"""The machine that a trial runs on: its name and versions, and what the trial takes of it."""

from __future__ import annotations

import platform
import resource
import sys

import torch

from fmim_core.registry import load_plugins


def environment() -> dict[str, str]:
    """Return the machine and versions a trial runs with, those of packages that register kinds among them."""
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "platform": platform.platform(),
        "host": platform.node(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else "none",
    } | load_plugins()


def device_name(device: torch.device) -> str:
    """Return the GPU's name, or `cpu`."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def peak_memory(device: torch.device | None) -> int:
    """Return bytes: of this trial on a GPU; on a CPU of the process so far, which may have run other trials before."""
    if device is not None and device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def energy_counter(device: torch.device) -> float | None:
    """Return the joules that a GPU has drawn since its driver was loaded; None where nothing tells (a CPU, an old GPU).

    NVML counts the whole card, its idle power and whatever else runs there; the package nvidia-ml-py reads it.
    """
    if device.type != "cuda":
        return None
    try:
        import pynvml
    except ModuleNotFoundError:
        return None
    try:
        pynvml.nvmlInit()
        card = pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{torch.cuda.get_device_properties(device).uuid}")
        return float(pynvml.nvmlDeviceGetTotalEnergyConsumption(card)) / 1000
    except pynvml.NVMLError:
        return None
