"""Where trials run: on Ray, or one by one in this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch

from fmim.runner.backends.inline import run_inline
from fmim.runner.backends.room import Resources, allot
from fmim.runner.cluster.start import RayStart
from fmim.runner.ending.signals import same_handlers
from fmim.runner.schedule.dispatcher import TrialSource
from fmim_core.data.bank.bank import Bank
from fmim_core.machine import cores
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
    logs: the folder of the logs of a Ray cluster of our own.
    code: the study's own files, which every worker runs before its first trial; this process has run them.
    """

    slots: int
    device: str
    cpus: float
    gpus: float
    scratch: Path | None = None
    logs: Path | None = None
    code: Code | None = None

    @property
    def share(self) -> float:
        """Of a device: of a GPU, or of a CPU core."""
        return self.gpus or self.cpus

    def check(self, bank: Bank) -> None:
        """Raise a `ValueError` unless the bank that was checked here is there, to the bit, wherever trials may run."""
        if self.scratch:
            from fmim.runner.cluster.nodes import check_on_nodes

            check_on_nodes(bank)

    def run(self, trials: TrialSource, out: Path, number: int) -> None:
        """Run all trials that are handed out, at most `number`."""
        settings = RunSettings(out, "cuda" if self.gpus else "cpu", device_share=self.share)
        if self.scratch:
            from fmim.runner.backends.ray_backend import run_ray

            resources = Resources(self.cpus, self.gpus)
            run_ray(trials, settings, resources, self.slots, number, self.scratch, self.logs, self.code)
        else:
            run_inline(trials, settings, threads=max(1, int(self.cpus)))


@contextmanager
def open_backend(start: RayStart | None, asked: Resources, code: Code | None = None) -> Iterator[Backend]:
    """Where trials run, with the cluster up for the block; `asked` are the resources of each trial.

    Raises:
        ValueError: no such resources, no cluster, or its workers cannot run this program.
    """
    if start is None or start.head is not None:  # before Ray is imported, which takes a second
        each = allot(asked, [{"CPU": float(cores()), "GPU": float(torch.cuda.device_count())}])[0].gpus or 0.0
        if start is None:
            yield Backend(1, _device_in_words(each), asked.cpus, each)
            return
    from fmim.runner.backends.ray_backend import run_ray  # noqa: F401  # it takes a second, while the cluster starts
    from fmim.runner.cluster.nodes import check_workers, resources_of_nodes

    with same_handlers(), ExitStack() as stack:
        with same_handlers():  # Ray takes SIGTERM for itself where it starts, and gives it back to nobody where it ends
            logs = stack.enter_context(_cluster(start))
        start.guard.if_killed_say(KILLED)
        resources, slots = allot(asked, resources_of_nodes())
        if start.head is None:  # elsewhere may be another Python, or none of this program
            check_workers(logs)
        device, gpus = _device_in_words(resources.gpus or 0.0), resources.gpus or 0.0
        own_logs = logs if start.head else None
        yield Backend(slots, device, resources.cpus, gpus, start.guard.scratch, own_logs, code)


def _cluster(start: RayStart) -> AbstractContextManager[Path]:
    """Being in the cluster of others that is joined, or else in our own; yields the folder of its logs."""
    from fmim.runner.cluster.connection import joined_cluster, own_cluster

    if start.joining is not None:
        return joined_cluster(start.joining)
    assert start.head is not None
    return own_cluster(start.head)


def _device_in_words(gpus: float) -> str:
    return f"{gpus:g} GPU each" if gpus else "the CPU (no GPU is used)"
