"""A study's folder: one study's alone, where anything else is refused, and models are found without torch."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from fmim.runner.folder.locks import LOCK, is_foreign_lock
from fmim.runner.folder.trust import check_code
from fmim_core.records import (
    CalibrationFile,
    Damaged,
    Document,
    ProposalsFile,
    Record,
    SelectionFile,
    StudyFile,
    check_place,
    forbidden,
    read_record,
    read_records,
    study_path,
    trial_name,
)
from fmim_core.suggestions import did_you_mean, did_you_mean_path

DOCUMENTS: dict[str, type[Document]] = {
    "study.json": StudyFile,
    "selection.json": SelectionFile,
    "proposals.json": ProposalsFile,
    "calibration.json": CalibrationFile,
}
WITHOUT = {
    "study.json": "the study resumes from its records, as a new study in MLflow",
    "selection.json": "winners are selected again from the records, but the time of selection is lost",
}
"""The effect of removing a document that records a decision; a damaged one is never rebuilt unasked."""
FILES = (*DOCUMENTS, "progress.json", "surfaces.json", LOCK)
FOLDERS = ("code", "records", "checkpoints", "report", "samples")
SYSTEM_FILES = (".DS_Store", "Thumbs.db", "desktop.ini")  # which file managers leave in any folder
NAMED = 3  # foreign files in a message


def check_folder(out: Path, study: str, fresh: bool = False, mirror: Collection[str] = ()) -> None:
    """Check that a study's folder is new, empty, or the study's own, before anything is written.

    Args:
        fresh: whether it is to be moved aside: then it may be another study's, but no less a study's alone.
        mirror: names of the MLflow mirror's files, if they lie in it.

    Raises:
        ValueError: it or what it would lie in is a file or cannot be written to; or it holds what no study writes,
            belongs to another study, or has a document that is damaged and cannot be made again.
    """
    check_place(out)
    if not out.exists():
        return
    for path in (out / LOCK, *(out / name for name in FOLDERS), *out.glob("report/*/")):
        if os.path.lexists(path) and not os.access(path, os.R_OK | os.W_OK):
            raise forbidden(path, "written to")
    if not fresh:
        _check_decisions(out)
    foreign = sorted(_foreign(out, mirror))
    if foreign:
        more = f" and {len(foreign) - NAMED} more" if len(foreign) > NAMED else ""
        raise ValueError(
            f"--out {out} must be empty or of this study alone. Give another folder: it has other files, "
            f"{', '.join(foreign[:NAMED])}{more}"
        )
    owners = () if fresh else (_read(out / name) for name in ("study.json", "calibration.json"))
    for document in owners:
        if isinstance(document, StudyFile | CalibrationFile) and document.study != study:
            raise ValueError(
                f"{out} belongs to the study {document.study!r}, not to {study!r}: give another --out, or --fresh to "
                "move it aside and start over"
            )


def _check_decisions(out: Path) -> None:
    """Raise a `ValueError` where a document that says what was decided is damaged, or of another version."""
    for name, without in WITHOUT.items():
        try:
            DOCUMENTS[name].find(out / name)
        except Damaged as damaged:
            to_do = f"put a copy back, or move it out of the folder: without it, {without}"
            raise ValueError(f"{damaged}. To resume, {to_do}") from damaged


def _read(path: Path) -> Document | None:
    """Return one of the study's documents; None where it is not there, or damaged."""
    try:
        return DOCUMENTS[path.name].find(path)
    except Damaged:
        return None


def _foreign(out: Path, mirror: Collection[str]) -> Iterator[str]:
    """Yield what no study writes: other names, folders for files, files for folders, and files without a study."""
    of_a_study = _is_of_a_study(out)
    for path in out.iterdir():
        name = path.name.partition(".damaged-")[0]
        half_written = name.startswith(".nfs") or (name.startswith(".") and name.endswith(".part"))
        if name in (*SYSTEM_FILES, *mirror) or half_written:  # a network drive's, or left by a killed process
            continue
        if name == LOCK:
            ours = path.is_file() and not is_foreign_lock(path)
        elif name in FILES:
            ours = path.is_file() and of_a_study
        else:
            ours = name in FOLDERS and path.is_dir() and (of_a_study or not any(path.iterdir()))
        if not ours:
            yield path.name


def _is_of_a_study(out: Path) -> bool:
    """Return whether a study has written into the folder: one of its documents, or of its records, can be read."""
    documents = (_read(out / name) for name in DOCUMENTS)
    records = read_records(out, lambda path, damaged: None)
    try:
        return any(one is not None for one in chain(documents, records))
    except ValueError:  # of another version
        return True


def study_folder(out: Path) -> Path:
    """Return the folder, if it is a study's.

    Raises:
        ValueError: it has no study.json; names those that are like it, or lie in it.
    """
    if os.path.lexists(study_path(out)):
        return out
    if not out.is_dir():
        hint = did_you_mean_path(out) or ". Give the folder of a study, e.g. runs/automargin_vs_grid"
        raise ValueError(f"no such folder: {out}{hint}")
    within = sorted(str(path.parent) for path in islice(out.glob("*/study.json"), NAMED))
    which = f"; there are {', '.join(within)}" if within else ", e.g. runs/automargin_vs_grid"
    raise ValueError(f"{out} is not a study's folder: it has no study.json. Give the folder of a study{which}")


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
            "but is not a probability that two images show the same person."
        )


def find_replicate(out: Path, arm: str, seed: int, trust_code: bool = False) -> Replicate:
    """Return the replicate of an arm's selected configuration with that fresh seed, from 0, to load its model.

    Raises:
        ValueError: not a study's folder, no such arm, an arm that has selected nothing yet, or no completed replicate
            with that seed; the message lists what there is. Or the model needs somebody else's code, as `check_code`.
    """
    study = StudyFile.read(study_path(study_folder(out)))
    check_code(out, study, trust_code)
    arms = [entry.name for entry in study.arms]
    if arm not in arms:
        raise ValueError(f"{out} has no arm {arm!r}; its arms are {', '.join(arms)}{did_you_mean(arm, arms)}")
    replicates = completed_replicates(out, study, arm)
    if seed not in replicates:
        there = ", ".join(map(str, replicates)) or "none yet"
        raise ValueError(
            f"arm {arm!r} of {out} has no completed replicate with seed {seed}; seeds with a model: {there}. "
            f"`fmim status {out}` shows the progress of the study"
        )
    return Replicate(out, study, replicates[seed])


def completed_replicates(out: Path, study: StudyFile, arm: str) -> dict[int, Record]:
    """Return the completed replicates of the arm's winner, by seed."""
    selected = (SelectionFile.find(out / "selection.json") or SelectionFile()).arms.get(arm)
    if selected is None or selected.number is None:
        return {}
    names = [trial_name(arm, selected.number, "replicate", seed) for seed in range(study.arm(arm).replicates)]
    records = (read_record(out, name) for name in names)
    return {record.replicate: record for record in records if record and record.status == "completed"}
