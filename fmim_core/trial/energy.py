"""The energy a trial draws, where the driver or the kernel tells it; `None` elsewhere, and never an error."""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

POWERCAP = Path("/sys/class/powercap")


@dataclass(frozen=True)
class Counter:
    """A device's energy counter: `read` gives joules since some moment, and begins again at 0 after `range` joules."""

    read: Callable[[], float | None]
    range: float = math.inf


class EnergyMeter:
    """Joules that counters have counted since this was made, times a share; `None` as soon as one cannot be read.

    A counter that begins again twice between two calls of `joules` (a CPU's of 100 W: after some 40 minutes) counts too
    little; a trial calls it at each checkpoint.
    """

    def __init__(self, counters: Sequence[Counter], share: float) -> None:
        self._counters, self._share = counters, share
        self._last = [counter.read() for counter in counters]
        self._sum: float | None = 0.0 if counters else None

    def joules(self) -> float | None:
        """Joules so far."""
        read = [counter.read() for counter in self._counters]
        for counter, last, now in zip(self._counters, self._last, read, strict=True):
            if self._sum is None or last is None or now is None:
                self._sum = None
                break
            self._sum += now - last if now >= last else now - last + counter.range
        self._last = read
        return None if self._sum is None else self._sum * self._share


def energy_meter(device: torch.device, device_share: float) -> EnergyMeter:
    """A meter of what a trial with this share of the device is answerable for.

    GPU: NVML's counter of the whole card × the share of it (at most 1). CPU: the kernel's RAPL counters of all packages
    × the share of all cores. Both count the idle power and whatever else runs there, in proportion: an attribution, not
    a measurement of the trial alone. A GPU trial's CPU is not in it.
    """
    if device.type == "cuda":
        return EnergyMeter(nvml_counters(device), min(device_share, 1.0))
    return EnergyMeter(rapl_counters(), min(device_share / (os.cpu_count() or 1), 1.0))


def nvml_counters(device: torch.device) -> list[Counter]:
    """The GPU's counter by the driver's own library; none where it, the function or the card's support is missing."""
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
        count = library.nvmlDeviceGetTotalEnergyConsumption
        uuid = f"GPU-{torch.cuda.get_device_properties(device).uuid}".encode()
        handle = ctypes.c_void_p()
        if library.nvmlInit_v2() or library.nvmlDeviceGetHandleByUUID(uuid, ctypes.byref(handle)):
            return []
    except (OSError, AttributeError):
        return []

    def read() -> float | None:
        millijoules = ctypes.c_ulonglong()
        return None if count(handle, ctypes.byref(millijoules)) else millijoules.value / 1000

    return [Counter(read)]


def rapl_counters(root: Path = POWERCAP) -> list[Counter]:
    """The counters of all CPU packages (often readable for root alone); none if one of them cannot be read."""
    zones = [zone for zone in sorted(root.glob("intel-rapl:*")) if zone.name.count(":") == 1]
    try:
        packages = [zone for zone in zones if (zone / "name").read_text().startswith("package")]
        found = [_rapl_counter(zone) for zone in packages]
    except (OSError, ValueError):
        return []
    return [] if any(counter.read() is None for counter in found) else found


def _rapl_counter(zone: Path) -> Counter:
    def read() -> float | None:
        try:
            return int((zone / "energy_uj").read_text()) / 1e6
        except (OSError, ValueError):
            return None

    return Counter(read, int((zone / "max_energy_range_uj").read_text()) / 1e6)
