"""Trials that other studies have results of, by what decides these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fmim.runner.folder.locks import is_moved_aside
from fmim_core.records import StudyFile, study_path, trials_with_result
from fmim_core.trial.spec import RESULTS_VERSION, TrialSpec


@dataclass(frozen=True)
class EarlierTrials:
    """The records that say of themselves that they have a result, by fingerprint.

    studies: the folder of all studies, by which a study's folder is named.
    reuse: whether equal trials share a record at all, those of one study too.
    """

    studies: Path
    records: Mapping[str, Sequence[Path]] = field(default_factory=dict)
    reuse: bool = True

    def may_stand_for(self, spec: TrialSpec) -> bool:
        """Say whether the record of an equal trial may be this one's, too; never where its search may stop it.

        When a search stops a trial depends on the other trials of its arm, so that a whole training is no answer.
        """
        return self.reuse and not spec.rungs

    def of(self, spec: TrialSpec) -> Sequence[Path]:
        """Return the records of other studies that may stand for this trial."""
        return self.records.get(spec.fingerprint, ()) if self.may_stand_for(spec) else ()

    def name(self, record: Path) -> str:
        """Return the folder of the study that a record lies in."""
        return record.parents[1].relative_to(self.studies).as_posix()


NOTHING = EarlierTrials(Path(), reuse=False)
"""For a study whose trials are all trained."""


def earlier_trials(
    studies: Path, data_fingerprint: str, seed: int, but: Path | None = None, reuse: bool = True
) -> EarlierTrials:
    """Return what the studies in a folder, and in folders within it, have results of, on these images with this seed.

    A folder that `--fresh` has moved aside was left on purpose, and one whose study.json cannot be read, or is of other
    results, says nothing: neither counts.

    Args:
        studies: absolute.
        data_fingerprint: of the decoded images.
        but: a study's folder that does not count.
        reuse: whether there is anything to be found.
    """
    if not reuse:
        return EarlierTrials(studies, reuse=False)
    found: dict[str, list[Path]] = {}
    for out in study_folders(studies):
        if out != but and _may_serve(out, data_fingerprint, seed):
            for key, path in trials_with_result(out):
                found.setdefault(key, []).append(path)
    return EarlierTrials(studies, found)


def study_folders(studies: Path) -> Iterator[Path]:
    """Yield folders with a study.json, sorted; one of several studies, as of a whole paper, may lie beside them."""
    for path in sorted([*studies.glob("*/study.json"), *studies.glob("*/*/study.json")]):
        if not any(map(is_moved_aside, path.relative_to(studies).parts)):
            yield path.parent


def _may_serve(out: Path, data_fingerprint: str, seed: int) -> bool:
    try:
        study = StudyFile.read(study_path(out))
    except (ValueError, OSError):  # not of this program, of another version, or damaged: whoever runs it is told
        return False
    return (study.results_version, study.data.fingerprint, study.seed) == (RESULTS_VERSION, data_fingerprint, seed)
