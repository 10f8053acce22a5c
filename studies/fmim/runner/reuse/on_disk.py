"""The records of equal trials as they lie on disk, in this study's folder and in those of others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path

import torch

from fmim.runner.reuse.earlier import EarlierTrials
from fmim.runner.reuse.taking_over import take_over, usable
from fmim_core.records import THIS_STUDY, Damaged, Record, record_path, trials_with_result
from fmim_core.trial.checkpoint import checkpoint_path, read_checkpoint
from fmim_core.trial.spec import TrialSpec


class RecordsOnDisk:
    """Takes over the record of an equal trial: of this study if it has one, else of another.

    Args:
        earlier: what other studies have results of.
        on_gpu: whether trials train on GPUs here.
        tell: takes the reason for which the trials of a study are trained anew, once.
    """

    def __init__(self, earlier: EarlierTrials, out: Path, on_gpu: bool, tell: Callable[[str], None]) -> None:
        self._earlier, self._out, self._on_gpu, self._tell = earlier, out, on_gpu, tell
        self._own = dict(trials_with_result(out)) if earlier.reuse else {}
        self._told: set[tuple[str, str]] = set()
        self.reused: Counter[str] = Counter()  # trials, by where they ran

    @property
    def sentence(self) -> str:
        """How many trials were reused from where."""
        folders = ", ".join(f"{folder} ({number})" for folder, number in sorted(self.reused.items()))
        return f"{self.reused.total()} trials reused from {folders}"

    def may_stand_for(self, spec: TrialSpec) -> bool:
        """Whether the record of an equal trial may be this one's, too."""
        return self._earlier.may_stand_for(spec)

    def take_over(self, spec: TrialSpec) -> Record | None:
        """The record of an equal trial, written as this trial's own; None if none can stand for it.

        A trial that has begun here is not taken over: what it cost would be in no record.
        """
        if any(path(self._out, spec.id).exists() for path in (record_path, checkpoint_path)):
            return None
        for path, folder in self._found(spec):
            where = folder or THIS_STUDY
            try:
                record = usable(path, spec, self._on_gpu)
            except (ValueError, OSError) as why:
                self._tell_once(where, str(why))
                continue
            taken = take_over(path, record, spec, self._out, folder)
            self.reused[taken.reused_from.where if taken.reused_from else where] += 1
            return taken
        return None

    def finished(self, spec: TrialSpec, record: Record) -> None:
        """From now on this trial's record can stand for others, if it has a result."""
        if record.has_result and self._earlier.reuse:
            self._own[spec.fingerprint] = record.path(self._out)

    def begun(self, over: Collection[str]) -> dict[str, str]:
        """The trials, by fingerprint, that have a checkpoint here to go on from; those in `over` have not."""
        found: dict[str, str] = {}
        files = sorted(self._out.glob("checkpoints/*.pt")) if self._earlier.reuse else ()
        for path in files:
            with suppress(Damaged):  # the trial itself says so when it is trained anew
                if path.stem not in over and (content := read_checkpoint(path, torch.device("cpu"))) is not None:
                    found[content["fingerprint"]] = path.stem
        return found

    def _found(self, spec: TrialSpec) -> Iterator[tuple[Path, str | None]]:
        """Records that may stand for the trial, with the folders of their studies; None is this one."""
        if (own := self._own.get(spec.fingerprint)) is not None:
            yield own, None
        for path in self._earlier.of(spec):
            yield path, self._earlier.name(path)

    def _tell_once(self, where: str, why: str) -> None:
        if (where, why) not in self._told:
            self._told.add((where, why))
            self._tell(f"not reused from {where}: {why}")
