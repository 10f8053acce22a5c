"""The trials of a study that share a record: one of them is trained, or none, and the others take its record."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path

import torch

from fmim.runner.reuse.equal_trials import NOTHING, EarlierTrials
from fmim_core.records import (
    THIS_STUDY,
    Damaged,
    Record,
    ReusedFrom,
    link_or_copy,
    now,
    queries_path,
    read_json,
    read_queries,
    record_path,
    trials_with_result,
    words_of,
)
from fmim_core.trial.checkpoint import checkpoint_path, kept_weights, read_checkpoint
from fmim_core.trial.spec import TrialSpec

OF_THE_STUDY = (
    "trial", "study", "preset", "arm", "configuration", "stage", "variation", "search_split", "config", "data",
)  # fmt: skip
"""The fields that name a record's trial and study; trials of one fingerprint agree in all other settings."""


def read_usable(path: Path, spec: TrialSpec, on_gpu: bool) -> Record:
    """Return the record in a file, if it can stand for the trial as if it had run here, with all its files whole.

    Raises:
        ValueError: it cannot; says why.
        OSError: a file cannot be read.
    """
    record = Record.read(path)
    if record.fingerprint != spec.fingerprint or not record.has_result:
        raise ValueError(f"{path} contradicts its first lines")
    trained = "the CPU" if record.cost.device == "cpu" else record.cost.device
    if (record.cost.device != "cpu") != on_gpu:
        raise ValueError(f"trained on {trained}, which rounds differently from {'a GPU' if on_gpu else 'the CPU'}")
    if record.environment.get("torch") != torch.__version__:
        raise ValueError(f"trained with torch {record.environment.get('torch')}, not {torch.__version__}")
    out = path.parents[1]
    if record.queries_sha256 is not None:
        read_queries(queries_path(out, record.trial), record.queries_sha256)
    if spec.keeps_model and record.status == "completed":
        kept_weights(out, record)
    return record


def write_copy(path: Path, record: Record, spec: TrialSpec, out: Path, folder: str | None) -> Record:
    """Write a usable record of an equal trial as this trial's own, after the files that belong to it; returns it.

    Args:
        path: where the record lies.
        folder: how the record calls the folder of its study; None if it is this one.
    """
    theirs, origin = path.parents[1], _origin(path, record, folder)
    if record.queries_sha256 is not None:
        link_or_copy(queries_path(theirs, record.trial), queries_path(out, spec.id))
    if spec.keeps_model and record.status == "completed":
        link_or_copy(checkpoint_path(theirs, record.trial), checkpoint_path(out, spec.id))
    taken = record.changed(
        {name: value for name, value in dict(spec.record(record.started_at)).items() if name in OF_THE_STUDY}
        | {"reused_from": origin}
    )
    taken.save(out)
    return taken


def _origin(path: Path, record: Record, folder: str | None) -> ReusedFrom:
    """Return where the trial ran: where its record lies, or where that was taken from."""
    before = record.reused_from
    if before is not None:
        changes = {"taken_over_at": now()} | ({"folder": folder} if before.folder is None else {})
        return before.model_copy(update=changes)
    sha256 = read_json(path)["sha256"]
    return ReusedFrom(folder=folder, study=record.study, trial=record.trial, sha256=sha256, taken_over_at=now())


class SharedRecords:
    """The records that trials share: each takes that of an equal one, of this study if it has one, else of another.

    It is asked when a trial's turn comes, so that no replicate takes a record before its arm's winner is fixed. Of
    equal trials in this study one is trained; the others wait until it is over, while whatever else is due runs. If it
    leaves no result, the next of them is trained. Trials that an earlier execution has begun go on, and equal ones wait
    for these: they are due, or else (where the plan has changed) nobody waits for them once nothing else is due.

    Args:
        earlier: what other studies have results of.
        on_gpu: whether trials train on GPUs here.
        tell: takes the reason for which the trials of a study are trained anew, once.
        over: trials that are over: none of them goes on.
    """

    def __init__(
        self,
        out: Path,
        earlier: EarlierTrials = NOTHING,
        on_gpu: bool = False,
        tell: Callable[[str], None] = lambda why: None,
        over: Collection[str] = (),
    ) -> None:
        self._out, self._earlier, self._on_gpu, self._tell = out, earlier, on_gpu, tell
        self._own = dict(trials_with_result(out)) if earlier.reuse else {}
        self._begun = dict(self._with_checkpoint(over)) if earlier.reuse else {}
        self._running: dict[str, str] = {}  # of trials that others may wait for, the names by fingerprint
        self._waiting: dict[str, list[TrialSpec]] = {}  # by fingerprint
        self._released: deque[TrialSpec] = deque()  # those that have waited
        self._told: set[tuple[str, str]] = set()
        self.reused: Counter[str] = Counter()  # trials, by where they ran

    @property
    def waiting(self) -> bool:
        """Return whether a trial waits for an equal one, or has done so and is yet to be looked at again."""
        return bool(self._waiting or self._released)

    def next_released(self) -> TrialSpec | None:
        """Return the next of those that have waited, if there is one."""
        return self._released.popleft() if self._released else None

    def next_forsaken(self) -> TrialSpec | None:
        """Return a trial that waits for one that nobody runs, if there is one."""
        for fingerprint in [one for one in self._waiting if one not in self._running]:
            del self._begun[fingerprint]
            self._released.extend(self._waiting.pop(fingerprint))
        return self.next_released()

    def take_over(self, spec: TrialSpec) -> Record | None:
        """Write the record of an equal trial as this trial's own and return it; None if none can stand for it.

        A trial that has begun here takes none: what it cost would be in no record.
        """
        if not self._earlier.may_stand_for(spec):
            return None
        if any(path(self._out, spec.id).exists() for path in (record_path, checkpoint_path)):
            return None
        for path, folder in self._found(spec):
            where = folder or THIS_STUDY
            try:
                taken = write_copy(path, read_usable(path, spec, self._on_gpu), spec, self._out, folder)
            except (ValueError, OSError) as why:
                told = where, str(getattr(why, "strerror", why))  # of a folder that is gone once, not of each file
                if told not in self._told:
                    self._told.add(told)
                    self._tell(f"results of {where} are not reused: {words_of(why)}")
                continue
            self.reused[taken.reused_from.where if taken.reused_from else where] += 1
            return taken
        return None

    def holds_back(self, spec: TrialSpec) -> bool:
        """Let a trial wait if an equal one runs, or is to go on; else it runs from now on, and others wait for it."""
        if not self._earlier.may_stand_for(spec):
            return False
        fingerprint = spec.fingerprint
        if fingerprint in self._running or self._begun.get(fingerprint, spec.id) != spec.id:
            self._waiting.setdefault(fingerprint, []).append(spec)
            return True
        self._begun.pop(fingerprint, None)
        self._running[fingerprint] = spec.id
        return False

    def add(self, spec: TrialSpec, record: Record) -> None:
        """Let the record of a trial that was trained here stand for others from now on, if it has a result."""
        if record.has_result and self._earlier.reuse:
            self._own[spec.fingerprint] = record.path(self._out)

    def release(self, spec: TrialSpec) -> None:
        """Let those that wait for this trial have their turn: it is over."""
        if self._running and self._running.get(spec.fingerprint) == spec.id:
            del self._running[spec.fingerprint]
            self._released.extend(self._waiting.pop(spec.fingerprint, ()))

    def _with_checkpoint(self, over: Collection[str]) -> Iterator[tuple[str, str]]:
        for path in sorted(self._out.glob("checkpoints/*.pt")):
            with suppress(Damaged):  # the trial itself says so when it is trained anew
                if path.stem not in over and (content := read_checkpoint(path, torch.device("cpu"))) is not None:
                    yield content["fingerprint"], path.stem

    def _found(self, spec: TrialSpec) -> Iterator[tuple[Path, str | None]]:
        """Yield records that may stand for the trial, with the folders of their studies; None is this one."""
        if (own := self._own.get(spec.fingerprint)) is not None:
            yield own, None
        for path in self._earlier.of(spec):
            yield path, self._earlier.name(path)
