"""Which trials other studies have completed, by what decides their results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fmim.options import Options
from fmim.plan import Plan
from fmim.runner.ownership import is_moved_aside
from fmim_core.data.bank.bank import Bank
from fmim_core.records import StudyFile, completed_trials, study_path
from fmim_core.trial.spec import RESULTS_VERSION, TrialSpec


@dataclass(frozen=True)
class EarlierTrials:
    """The records that say of themselves that they are completed, by fingerprint.

    studies: the folder of all studies, by which a study's folder is named.
    """

    studies: Path
    records: Mapping[str, Sequence[Path]] = field(default_factory=dict)

    def of(self, spec: TrialSpec) -> Sequence[Path]:
        """The records that may stand for this trial; none where its search may stop it.

        When a search stops a trial depends on the other trials of its arm, so that a whole training is no answer.
        """
        return () if spec.rungs else self.records.get(spec.fingerprint, ())

    def name(self, record: Path) -> str:
        """The folder of the study that a record lies in."""
        return record.parents[1].relative_to(self.studies).as_posix()

    def without(self, out: Path) -> EarlierTrials:
        """Those of other folders than this one."""
        others = {key: [path for path in paths if path.parents[1] != out] for key, paths in self.records.items()}
        return EarlierTrials(self.studies, others)


def earlier_of(options: Options, plan: Plan, bank: Bank) -> EarlierTrials:
    """The completed trials of all studies beside this one, and its own; none where nothing is to be reused."""
    if not options.reuse:
        return EarlierTrials(options.studies_folder)
    return earlier_trials(options.studies_folder, bank.fingerprint, plan.seed)


def earlier_trials(studies: Path, data_fingerprint: str, seed: int) -> EarlierTrials:
    """What the studies in a folder, and in folders within it, have completed on these images with this seed.

    A folder that `--fresh` has moved aside was left on purpose, and one whose study.json cannot be read, or is of other
    results, says nothing: neither counts.

    Args:
        studies: absolute.
        data_fingerprint: of the decoded images.
    """
    found: dict[str, list[Path]] = {}
    for out in study_folders(studies):
        if _may_serve(out, data_fingerprint, seed):
            for key, path in completed_trials(out):
                found.setdefault(key, []).append(path)
    return EarlierTrials(studies, found)


def study_folders(studies: Path) -> Iterator[Path]:
    """Folders with a study.json, sorted; a folder of several studies, as of a whole paper, may lie beside them."""
    found: Iterable[Path] = (path for pattern in ("*/study.json", "*/*/study.json") for path in studies.glob(pattern))
    for path in sorted(found):
        if not any(map(is_moved_aside, path.relative_to(studies).parts)):
            yield path.parent


def _may_serve(out: Path, data_fingerprint: str, seed: int) -> bool:
    try:
        study = StudyFile.read(study_path(out))
    except (ValueError, OSError):  # not of this program, of another version, or damaged: whoever runs it is told
        return False
    return (study.results_version, study.data.fingerprint, study.seed) == (RESULTS_VERSION, data_fingerprint, seed)
