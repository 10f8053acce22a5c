"""Finding a trained model in a study's folder: everything that can be checked without torch, whose import is slow."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fmim.runner.folder.ownership import study_folder
from fmim_core.records import Record, SelectionFile, StudyFile, read_record, study_path, trial_name
from fmim_core.suggestions import did_you_mean


@dataclass(frozen=True)
class Replicate:
    """A completed replicate of an arm's selected configuration, in the folder `out` of its study."""

    out: Path
    study: StudyFile
    record: Record

    @property
    def sentence(self) -> str:
        """Which model similarities are of, and what they are not."""
        study, record = self.study, self.record
        data = "phantom images" if study.data.synthetic else study.data.name
        return (
            f"Similarity is the cosine between embeddings of arm {record.arm} ({study.arm(record.arm).label}), seed "
            f"{record.replicate}, of the study {study.study} ({study.preset}), trained on {data}: it ranks candidates, "
            "and is no probability that two images show the same person."
        )


def find_replicate(out: Path, arm: str, seed: int) -> Replicate:
    """Return the replicate of an arm's selected configuration with that fresh seed, from 0.

    Raises:
        ValueError: not a study's folder, no such arm, an arm that has selected nothing yet, or no completed replicate
            with that seed; the message lists what there is.
    """
    study = StudyFile.read(study_path(study_folder(out)))
    arms = [entry.name for entry in study.arms]
    if arm not in arms:
        raise ValueError(f"{out} has no arm {arm!r}; its arms are {', '.join(arms)}{did_you_mean(arm, arms)}")
    replicates = completed_replicates(out, study, arm)
    if seed not in replicates:
        there = ", ".join(map(str, replicates)) or "none yet"
        raise ValueError(
            f"arm {arm!r} of {out} has no completed replicate with seed {seed}; those with a model: {there}. "
            f"`fmim status {out}` shows how far the study is"
        )
    return Replicate(out, study, replicates[seed])


def completed_replicates(out: Path, study: StudyFile, arm: str) -> dict[int, Record]:
    """Return the completed replicates of the arm's winner, by seed."""
    path = out / "selection.json"
    selected = (SelectionFile.read(path) if path.exists() else SelectionFile()).arms.get(arm)
    if selected is None or selected.number is None:
        return {}
    names = [trial_name(arm, selected.number, "replicate", seed) for seed in range(study.arm(arm).replicates)]
    records = (read_record(out, name) for name in names)
    return {record.replicate: record for record in records if record and record.status == "completed"}
