"""study.json: a study, its code, data and machine, and each start; selection.json and proposals.json."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from fmim_core.fingerprint import sha256_of_text
from fmim_core.metric_names import Unit
from fmim_core.records.document import Document, DocumentPart, DottedName, Name
from fmim_core.records.files import write_bytes
from fmim_core.records.parts import Absent, TestProtocol


class CodeFile(DocumentPart):
    """One file, whole."""

    path: str = Field(
        pattern=r"^\w+(/\w+)*\.py$",
        description="path from the folder of the file that declares the study, with / between folders",
    )
    sha256: str = Field(description="SHA-256 of the file")
    text: str = Field(description="content of the file")

    @classmethod
    def of(cls, path: str, text: str) -> Self:
        """Return the file of that text."""
        return cls(path=path, sha256=sha256_of_text(text), text=text)

    @model_validator(mode="after")
    def _text_is_whole(self) -> Self:
        if self.sha256 != sha256_of_text(self.text):
            raise ValueError(f"the text of {self.path} is not that of its SHA-256")
        return self


class Code(DocumentPart):
    """The file that declares a study, and the modules of its folder that it imports, early or late."""

    files: tuple[CodeFile, ...] = Field(min_length=1, description="the files; the first declares the study")
    folder: Absent[str] = Field(
        None, description="the folder that they came from, where they read data, relative to that of the study"
    )

    @property
    def main(self) -> CodeFile:
        """The file that declares the study."""
        return self.files[0]

    def write(self, folder: Path) -> None:
        """Write the files to a folder, those that it does not have as they are here."""
        for file in self.files:
            path, content = folder / file.path, file.text.encode()
            if not path.is_file() or path.read_bytes() != content:
                write_bytes(path, content)

    def seen_from(self, out: Path) -> Code:
        """Return them with their folder relative to that of a study."""
        return self.model_copy(update={"folder": self.folder and os.path.relpath(self.folder, out)})

    @property
    def sha256(self) -> str:
        """Of all files: of each path and SHA-256, in the order of paths."""
        return sha256_of_text("".join(sorted(f"{file.path}\n{file.sha256}\n" for file in self.files)))


Configuration = dict[str, Any]


class SearcherFacts(DocumentPart):
    """Facts that a searcher tells of itself for reports and progress."""

    uses_results: bool = Field(description="whether its proposals depend on the results of earlier ones")
    screens: bool = Field(description="whether the first fold decides if a configuration is trained on the others")
    ordered: bool = Field(description="whether the order of its configurations matters")


SEED = "seed"
"""The setting of a variation that changes only the seed."""


class VariationEntry(DocumentPart):
    """A setting of an arm's selected configuration that is multiplied, to see if a result depends on it."""

    name: DottedName = Field(description="the value of `variation` in its records")
    setting: str = Field(description="a field of the training configuration, dotted; `seed` for another seed")
    factor: float = Field(description="the factor; 1 for `seed`")


class ArmEntry(DocumentPart):
    """An arm as it was declared. Only `name` identifies it; `label`, `loss`, `group` and `search` are for display."""

    name: Name = Field(description="its unique name in the study and its records")
    label: str = Field(description="its name in reports")
    loss: str = Field(description="the name of its loss's class")
    loss_kind: str = Field(description="its loss, as configurations name it")
    trainer: Absent[str] = Field(None, description="the study's own trainer class, if it has one")
    margins_kind: str = Field(
        description="its margin schedule, as configurations name it; `none` where the loss has no margins"
    )
    margins_vary: bool = Field(description="whether its margins change during training")
    group: str = Field(description="what related arms share: their loss, or their backbone")
    search: str = Field(description="how its values are set")
    searcher: dict[str, Any] = Field(description="its search, as it was declared")
    searcher_facts: SearcherFacts = Field(description="facts about its search, for reports")
    note: str = Field(description="what may differ in another run with the same seed")
    space: dict[str, Any] = Field(description="parameter → its values, or low, high and scale of a range")
    configurations: list[Configuration] = Field(description="all configurations, if they are known beforehand")
    n_s: int = Field(description="number of configurations that its search may train")
    replicates: int = Field(description="number of fresh seeds of its selected configuration")
    variations: list[VariationEntry] = Field([], description="changes to its selected configuration")


class ReferenceEntry(DocumentPart):
    """A reference: an untrained baseline in the report, beside the arms with the same task. It is not an arm."""

    name: DottedName = Field(description="the value of `arm` in its records; no arm has such a name")
    label: str = Field(description="its name in reports")
    about: str = Field(description="a description")
    arms: list[str] = Field(description="names of the arms that it is compared with; they agree in all that it uses")
    replicates: int = Field(description="number of seeds; 1 if no seed matters")


class SubsetSummary(DocumentPart):
    """One side of the split of a data set."""

    images: int = Field(description="number of images")
    subjects: int = Field(description="number of subjects")
    queries: int = Field(description="number of queries: images of later visits, or by role")
    queries_without_match: int = Field(description="queries without another image of their subject in the gallery")
    gallery: int = Field(description="number of gallery images: of the baseline visit, or by role")
    by_time: dict[str, int] = Field(description="time after baseline → images; `unknown` if it is unknown")


class DataEntry(DocumentPart):
    """The data set that a study ran on."""

    name: str = Field(description="the data set's name, or the table's")
    kind: str = Field(description="phantom, manifest, or the kind of a named data set")
    synthetic: bool = Field(description="whether its images are synthetic")
    about: str = Field(description="a description")
    release: str = Field(description="release of its tables; blank if there are none")
    files: dict[str, Any] = Field(description="checksums of its tables")
    details: dict[str, Any] = Field(description="further facts from its source")
    interval: Unit = Field(description="the unit of time by which queries are grouped")
    fingerprint: str = Field(description="fingerprint of the bank's decoded content")
    image_size: int = Field(description="side of the bank's images, pixels")
    channels: int = Field(1, description="channels of the bank's images: 1 is grey, 3 colour")
    images: int = Field(description="number of images on both sides of the split")
    warnings: list[str] = Field(description="warnings about its tables and images")
    development: SubsetSummary = Field(description="the side for training and validation")
    test: SubsetSummary = Field(description="the side that is only read at the end")

    @property
    def phrase(self) -> str:
        """Its name in captions, which say if images are synthetic."""
        return "phantom images - synthetic, not radiographs" if self.synthetic else self.name


class FoldEntry(DocumentPart):
    """A fold's subjects and images, and the times after baseline that only other folds can score."""

    fold: int = Field(description="from 0")
    train_subjects: int = Field(description="training subjects")
    train_images: int = Field(description="training images")
    validation_subjects: int = Field(description="validation subjects")
    validation_images: int = Field(description="validation images")
    validation_gallery: int = Field(description="validation images in the gallery")
    validation_queries: int = Field(description="validation queries with a match")
    validation_queries_without_match: int = Field(description="validation queries without a match")
    validation_queries_by_time: dict[str, int] = Field(
        description="time after baseline in the data set's interval, if known → queries with a match"
    )
    validation_times_missing: list[int] = Field(description="times after baseline with queries only in other folds")


class Execution(DocumentPart):
    """One start of the study; fields are null until it ends."""

    started_at: str = Field(description="when it began, ISO 8601")
    slots: int = Field(description="number of parallel trials")
    backend: Literal["ray", "inline"] = Field(description="the backend that ran the trials")
    device: str = Field(description="the GPU's name, or cpu")
    tracking_uri: str = Field(description="MLflow's database or server, without passwords and tokens")
    ended_at: str | None = Field(None, description="when it ended, ISO 8601")
    wall_s: float | None = Field(None, description="seconds from the start of the program to the last trial's end")
    trials: int | None = Field(None, description="number of trials that it started")
    exit_code: int | None = Field(None, description="0 done, 1 some trials failed, 130 interrupted")


class PlannedTrials(DocumentPart):
    """The maximum numbers of trials."""

    search_trials: int = Field(description="trials of the search")
    variation_trials: int = Field(0, description="trials of selected configurations with a setting changed")
    replicate_trials: int = Field(description="trials of selected configurations with fresh seeds")
    reference_trials: int = Field(description="trials of references")


class StudyFile(Document):
    """study.json."""

    id: str = Field(description="stays the same when the study is resumed")
    study: Name = Field(description="the study's name")
    title: str = Field(description="its title in reports")
    question: str = Field(description="its question")
    preset: Name = Field(description="the preset's name")
    changed: dict[str, Any] = Field({}, description="fields that the run set, instead of the preset")
    seed: int = Field(description="the seed that all others are derived from")
    created_at: str = Field(description="when it was first started, ISO 8601")
    fingerprint: str = Field(description="fingerprint of the plan: equal for studies with equal trials")
    data: DataEntry = Field(description="the data set")
    folds: list[FoldEntry] = Field(description="the folds; empty without a search")
    metric: str = Field(description="the metric that selects and that arms are compared by")
    equivalence_margin: float = Field(description="two arms are on par if their test metrics differ by less than this")
    answers: bool = Field(True, description="whether numbers of this preset say anything about methods")
    search_splits: int = Field(description="number of splits into folds that the search is repeated on")
    test_protocol: TestProtocol = Field(description="whether a replicate tests one model, or one per fold")
    models_per_replicate: int = Field(description="1, or the number of folds")
    results_version: int = Field(description="raised whenever the same configuration gives other numbers")
    code: Code | None = Field(None, description="the user's files that declare the study, if any")
    baseline: str | None = Field(None, description="the arm that all others are compared with")
    comparisons: list[tuple[str, str]] = Field([], description="pairs of arms (a, b) that are compared, as a − b")
    claims: list[tuple[str, str]] = Field([], description="further such pairs, a separate family for Holm")
    arms: list[ArmEntry] = Field(description="the arms, in the order of the declaration")
    references: list[ReferenceEntry] = Field(description="the references, in the order of the report")
    looks: list[int] = Field(
        [], description="numbers of seeds at which comparisons are checked; empty if the number is fixed"
    )
    plan: PlannedTrials = Field(description="the maximum numbers of trials")
    train: dict[str, Any] = Field(description="the training configuration without the arms' settings")
    environment: dict[str, str] = Field(description="machine and versions")
    executions: list[Execution] = Field(description="every start of the study, in order")

    def share_of_look(self, seeds: int) -> float:
        """Return the share of the error rate that a look at so many seeds may spend: that of its new seeds in all."""
        before = max((look for look in self.looks if look < seeds), default=0)
        return (seeds - before) / self.looks[-1] if self.looks else 1.0

    def arm(self, name: str) -> ArmEntry:
        """Return the arm of that name."""
        return next(arm for arm in self.arms if arm.name == name)


def study_path(out: Path) -> Path:
    """Return the place of a study's file in its folder."""
    return out / "study.json"
