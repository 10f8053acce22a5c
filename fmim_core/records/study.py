"""study.json: a study, its code, data and machine, and each start; selection.json and proposals.json."""

from __future__ import annotations

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
        description="relative to the folder of the file that declares the study, with / between folders",
    )
    sha256: str = Field(description="of the file's bytes")
    text: str = Field(description="all that the file holds")

    @classmethod
    def of(cls, path: str, text: str) -> Self:
        """Return the file of that text."""
        return cls(path=path, sha256=sha256_of_text(text), text=text)

    @model_validator(mode="after")
    def _text_is_whole(self) -> Self:
        if self.sha256 != sha256_of_text(self.text):
            raise ValueError(f"the text of {self.path} is not that of its SHA-256")
        return self

    @property
    def module(self) -> str:
        """The name by which Python imports it: `losses/soft.py` is `losses.soft`."""
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


class Code(DocumentPart):
    """The file that declares a study, and the modules of its folder that it imports."""

    files: tuple[CodeFile, ...] = Field(min_length=1, description="the one that declares the study is the first")

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

    @property
    def sha256(self) -> str:
        """Of all files: of each path and SHA-256, in the order of paths."""
        return sha256_of_text("".join(sorted(f"{file.path}\n{file.sha256}\n" for file in self.files)))


Configuration = dict[str, Any]


class SearcherFacts(DocumentPart):
    """Facts that a searcher tells of itself for reports and progress."""

    uses_results: bool = Field(description="whether its proposals depend on the results of earlier ones")
    screens: bool = Field(description="whether the first fold decides if a configuration is trained on the others")
    ordered: bool = Field(description="whether its configurations cannot be taken in any other order")


SEED = "seed"
"""The setting of a variation that changes none, but trains with another seed than the search did."""


class VariationEntry(DocumentPart):
    """A setting of an arm's selected configuration that is multiplied, to see if an answer depends on it."""

    name: DottedName = Field(description="what its records have as `variation`")
    setting: str = Field(description="a field of the training configuration, dotted; `seed`: another one than before")
    factor: float = Field(description="what it is multiplied by; 1 for `seed`")


class ArmEntry(DocumentPart):
    """An arm as it was declared. Only `name` identifies it; `label`, `loss`, `group` and `search` are for display."""

    name: Name = Field(description="unique in the study, and in its records")
    label: str = Field(description="what reports call it")
    loss: str = Field(description="the name of its loss's class")
    loss_kind: str = Field(description="its loss, as configurations name it")
    trainer: Absent[str] = Field(None, description="the class of the study's own that trained it, if not this package")
    margins_kind: str = Field(
        description="its margin schedule, as configurations name it; `none` where the loss has no margins"
    )
    margins_vary: bool = Field(description="whether its margins change during a training")
    group: str = Field(description="what the arm shares with those beside it: its loss, or its backbone")
    search: str = Field(description="how its values are set")
    searcher: dict[str, Any] = Field(description="its search, as it was declared")
    searcher_facts: SearcherFacts = Field(description="what reports need to know of that search")
    note: str = Field(description="what another run with the same seed may do otherwise")
    space: dict[str, Any] = Field(description="parameter → values, or low, high and scale of a range")
    configurations: list[Configuration] = Field(description="all of them, if they are known beforehand")
    n_s: int = Field(description="configurations that its search may train")
    replicates: int = Field(description="fresh seeds of its selected configuration")
    variations: list[VariationEntry] = Field([], description="settings that are changed of its selected configuration")


class ReferenceEntry(DocumentPart):
    """A reference: rows of the report that no training made, beside the arms whose task it shares. It is no arm."""

    name: DottedName = Field(description="what its records have as `arm`; no arm has such a name")
    label: str = Field(description="what reports call it")
    about: str = Field(description="what it does")
    arms: list[str] = Field(description="names of the arms that it stands beside: alike in all that its numbers need")
    replicates: int = Field(description="seeds; 1 where no seed matters")


class SubsetSummary(DocumentPart):
    """One side of the split of a data set."""

    images: int = Field(description="images there are")
    subjects: int = Field(description="subjects there are")
    queries: int = Field(description="images that are searched for: of later visits, or by their role")
    queries_without_match: int = Field(description="those of them whose subject has no other image in the gallery")
    gallery: int = Field(description="images that are searched: of the baseline visit, or by their role")
    by_time: dict[str, int] = Field(description="time after baseline → images; `unknown` where the months are")


class DataEntry(DocumentPart):
    """The data set that a study ran on."""

    name: str = Field(description="the data set's name, or the table's")
    kind: str = Field(description="phantom, manifest, or the kind of a named data set")
    synthetic: bool = Field(description="whether its images are drawn rather than taken of people")
    about: str = Field(description="what it is, in words")
    release: str = Field(description="of its tables; blank where there are none")
    files: dict[str, Any] = Field(description="checksums of its tables")
    details: dict[str, Any] = Field(description="what else its source says of it")
    interval: Unit = Field(description="by which queries are grouped after baseline")
    fingerprint: str = Field(description="of the bank's decoded content")
    image_size: int = Field(description="side of the bank's images, pixels")
    channels: int = Field(1, description="of the bank's images: 1 is grey, 3 colour")
    images: int = Field(description="on both sides of the split")
    warnings: list[str] = Field(description="what is noteworthy about its tables and images")
    development: SubsetSummary = Field(description="the side that is trained on")
    test: SubsetSummary = Field(description="the side that is read once, at the end")

    @property
    def phrase(self) -> str:
        """Its name in captions, which say of drawn images what they are."""
        return "phantom images - synthetic, not radiographs" if self.synthetic else self.name


class FoldEntry(DocumentPart):
    """A fold's subjects and images, and times after baseline that it cannot score though others can."""

    fold: int = Field(description="from 0")
    train_subjects: int = Field(description="subjects trained on")
    train_images: int = Field(description="images trained on")
    validation_subjects: int = Field(description="subjects held out")
    validation_images: int = Field(description="images held out")
    validation_gallery: int = Field(description="held-out images that are searched")
    validation_queries: int = Field(description="held-out queries that have a match")
    validation_queries_without_match: int = Field(description="those that have none")
    validation_queries_by_time: dict[str, int] = Field(
        description="time after baseline in the data set's interval → queries with a match, where it is known"
    )
    validation_times_missing: list[int] = Field(description="times that other folds have queries of")


class Execution(DocumentPart):
    """One start of the study; what is null follows when it has ended."""

    started_at: str = Field(description="when it began, ISO 8601")
    slots: int = Field(description="trials at once")
    backend: Literal["ray", "inline"] = Field(description="what ran the trials")
    device: str = Field(description="the GPU's name, or cpu")
    tracking_uri: str = Field(description="MLflow's database or server, without passwords and tokens")
    ended_at: str | None = Field(None, description="when it ended, ISO 8601")
    wall_s: float | None = Field(None, description="from the start of the program's work to the end of the last trial")
    trials: int | None = Field(None, description="trials that it started")
    exit_code: int | None = Field(None, description="0 done, 1 some trials failed, 130 interrupted")


class PlannedTrials(DocumentPart):
    """The numbers of trials, at most."""

    search_trials: int = Field(description="of the search stage")
    variation_trials: int = Field(0, description="of selected configurations with a setting changed")
    replicate_trials: int = Field(description="of selected configurations")
    reference_trials: int = Field(description="of references")


class StudyFile(Document):
    """study.json."""

    id: str = Field(description="stays the same when the study is resumed")
    study: Name = Field(description="the study's name")
    title: str = Field(description="its title in reports")
    question: str = Field(description="what it asks")
    preset: Name = Field(description="the preset's name")
    changed: dict[str, Any] = Field({}, description="fields to which the run gave other values than the preset")
    seed: int = Field(description="from which all others are derived")
    created_at: str = Field(description="when it was first started, ISO 8601")
    fingerprint: str = Field(description="of the plan: equal for studies with equal trials")
    data: DataEntry = Field(description="the data set")
    folds: list[FoldEntry] = Field(description="none where nothing is searched")
    metric: str = Field(description="the metric that selects and that arms are compared by")
    equivalence_margin: float = Field(description="two arms are on par if their test metrics differ by less than this")
    answers: bool = Field(True, description="whether numbers of this preset say anything about methods")
    search_splits: int = Field(description="splits into folds on which the whole search is run; the first is its own")
    test_protocol: TestProtocol = Field(description="whether a replicate tests one model, or one a fold")
    models_per_replicate: int = Field(description="1, or as many as there are folds")
    results_version: int = Field(description="raised whenever the same configuration gives other numbers")
    code: Code | None = Field(None, description="the study's own files, where it is declared in one of those")
    baseline: str | None = Field(None, description="the arm that all others are compared with")
    comparisons: list[tuple[str, str]] = Field([], description="pairs of arms (a, b) that are compared, as a − b")
    claims: list[tuple[str, str]] = Field([], description="further such pairs, a family of their own for Holm")
    arms: list[ArmEntry] = Field(description="in the order of the declaration")
    references: list[ReferenceEntry] = Field(description="in the order of the report")
    looks: list[int] = Field(
        [], description="numbers of seeds at which it is looked if comparisons are decided; none if the number is fixed"
    )
    plan: PlannedTrials = Field(description="how many trials there are at most")
    train: dict[str, Any] = Field(description="the training configuration, but for what the arms say")
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
