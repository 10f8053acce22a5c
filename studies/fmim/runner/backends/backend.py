"""Where trials run: on Ray, or one by one in this process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

from fmim.runner.backends.inline import run_inline
from fmim.runner.dispatcher import TrialSource
from fmim.runner.ending.guard import guarded
from fmim.runner.ending.signals import same_handlers
from fmim_core.data.bank.bank import Bank
from fmim_core.records import Code
from fmim_core.trial.trial import RunSettings

KILLED = (
    "error: the program was killed, or ended by Ray after the death of a process of Ray's own (then Ray says so); "
    "records so far are safe: the same command resumes from them"
)


@dataclass(frozen=True)
class Backend:
    """Where trials run: how many at once, on what, and with which resources each (None: in this process).

    scratch: a folder for Ray's own files; None where trials run in this process.
    code: the study's own files, which every worker runs before its first trial; this process has run them.
    """

    slots: int
    device: str
    cpus: float
    gpus: float
    scratch: Path | None = None
    code: Code | None = None

    @property
    def share(self) -> float:
        """Of a device: of a GPU, or of a CPU core."""
        return self.gpus or self.cpus

    def check(self, bank: Bank) -> None:
        """Raise a `ValueError` unless the bank is there, and the same to the bit, wherever trials may run."""
        bank.check()
        if self.scratch:
            from fmim.runner.backends.nodes import check_on_nodes

            check_on_nodes(bank)

    def run(self, trials: TrialSource, out: Path, number: int) -> None:
        """Run all trials that are handed out, at most `number`."""
        settings = RunSettings(out, "cuda" if self.gpus else "cpu", device_share=self.share)
        if self.scratch:
            from fmim.runner.backends.cluster import Resources
            from fmim.runner.backends.ray_backend import run_ray

            resources = Resources(self.cpus, self.gpus)
            run_ray(trials, settings, resources, self.slots, number, self.scratch, self.code)
        else:
            run_inline(trials, settings, threads=max(1, int(self.cpus)))


@contextmanager
def open_backend(
    kind: Literal["ray", "inline"], address: str | None, cpus: float, gpus: float | None, code: Code | None = None
) -> Iterator[Backend]:
    """The backend that was asked for, with its cluster up for the block; `cpus` and `gpus` are those of each trial.

    Raises:
        ValueError: no such resources, or no cluster at that address.
    """
    if kind == "inline":
        gpus = float(torch.cuda.is_available()) if gpus is None else gpus
        if gpus and not torch.cuda.is_available():
            raise ValueError(f"--gpus-per-trial {gpus:g}, but this machine has no GPU: leave it out")
        yield Backend(1, _device_in_words(gpus), cpus, gpus)
        return
    if address:
        _send_token()
    from fmim.runner.backends.cluster import Resources, allot, cluster

    with guarded() as guard, same_handlers(), ExitStack() as stack:
        with same_handlers():  # Ray takes SIGTERM for itself where it starts, and gives it back to nobody where it ends
            stack.enter_context(cluster(address))
        guard.if_killed_say(KILLED)
        resources, slots = allot(Resources(cpus, gpus))
        device, gpus = _device_in_words(resources.gpus or 0.0), resources.gpus or 0.0
        yield Backend(slots, device, resources.cpus, gpus, guard.scratch, code)


def _device_in_words(gpus: float) -> str:
    return f"{gpus:g} GPU each" if gpus else "the CPU (no GPU is used)"


def _send_token() -> None:
    """Have Ray show its token to a cluster at HOST:PORT, if there is one; one that asks for none does not mind.

    `ray start` makes clusters that ask for it, and keeps it in a file; Ray sends it by itself to the cluster that it
    finds on this machine alone, and reads what it is told when it is imported.
    """
    kept = Path(os.environ.get("RAY_AUTH_TOKEN_PATH") or Path.home() / ".ray" / "auth_token")
    if os.environ.get("RAY_AUTH_TOKEN") or kept.is_file():
        os.environ.setdefault("RAY_AUTH_MODE", "token")
