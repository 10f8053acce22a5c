"""study.json: what a study is, on which data and machine, and each time it was executed; and what it selected."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from fmim_core.metric_names import Unit
from fmim_core.records.code import Code
from fmim_core.records.document import Document, DocumentPart
from fmim_core.records.record import TestProtocol

Configuration = dict[str, Any]


class SearcherFacts(DocumentPart):
    """What reports and progress need to know of a searcher, said by itself."""

    uses_results: bool = Field(description="whether its proposals depend on the results of earlier ones")
    screens: bool = Field(description="whether the first fold decides if a configuration is trained on the others")
    ordered: bool = Field(description="whether its configurations cannot be taken in any other order")


class ArmEntry(DocumentPart):
    """An arm as it was declared. Only `name` identifies it; `label`, `loss`, `group` and `search` are for display."""

    name: str
    label: str
    loss: str
    loss_kind: str
    margins_kind: str
    margins_vary: bool = Field(description="whether its margins change during a training")
    group: str = Field(description="what the arm shares with those beside it: its loss, or its backbone")
    search: str = Field(description="how its values are set")
    searcher: dict[str, Any]
    searcher_facts: SearcherFacts
    note: str = Field(description="what another run with the same seed may do otherwise")
    space: dict[str, Any] = Field(description="parameter → values, or low, high and scale of a range")
    configurations: list[Configuration] = Field(description="all of them, if they are known beforehand")
    n_s: int = Field(description="configurations that its search may train")
    replicates: int = Field(description="fresh seeds of its selected configuration")


class ReferenceEntry(DocumentPart):
    """A reference: rows of the report that no training made, beside the arms whose task it shares. It is no arm."""

    name: str = Field(description="what its records have as `arm`; no arm has such a name")
    label: str
    about: str = Field(description="what it does")
    arms: list[str] = Field(description="names of the arms that it stands beside: alike in all that its numbers need")
    replicates: int = Field(description="seeds; 1 where no seed matters")


class SubsetSummary(DocumentPart):
    """One side of the split of a data set."""

    images: int
    subjects: int
    queries: int
    queries_without_match: int
    gallery: int
    by_time: dict[str, int] = Field(
        description="time after baseline in the data set's interval → images; `unknown` of those whose months are"
    )


class DataEntry(DocumentPart):
    """The data set that a study ran on."""

    name: str
    kind: str
    synthetic: bool
    about: str
    release: str
    files: dict[str, Any] = Field(description="checksums of its tables")
    details: dict[str, Any]
    interval: Unit = Field(description="by which queries are grouped after baseline")
    fingerprint: str = Field(description="of the bank's decoded content")
    image_size: int = Field(description="side of the bank's images, pixels")
    images: int
    warnings: list[str]
    development: SubsetSummary
    test: SubsetSummary


class FoldEntry(DocumentPart):
    """Who is where in a fold, and which times after baseline it cannot score though others can."""

    fold: int
    train_subjects: int
    train_images: int
    validation_subjects: int
    validation_images: int
    validation_gallery: int
    validation_queries: int = Field(description="with a match")
    validation_queries_without_match: int
    validation_queries_by_time: dict[str, int] = Field(
        description="time after baseline in the data set's interval → queries with a match, where it is known"
    )
    validation_times_missing: list[int]


class Execution(DocumentPart):
    """One start of the study; what is null follows when it has ended."""

    started_at: str
    slots: int = Field(description="trials at once")
    backend: Literal["ray", "inline"]
    device: str
    tracking_uri: str
    ended_at: str | None = None
    wall_s: float | None = Field(None, description="from the start of the program's work to the end of the last trial")
    trials: int | None = None
    exit_code: int | None = None


class PlannedTrials(DocumentPart):
    """How many trials there are at most."""

    search_trials: int
    replicate_trials: int
    reference_trials: int


class StudyFile(Document):
    """study.json."""

    id: str = Field(description="stays the same when the study is resumed")
    study: str
    title: str
    question: str
    preset: str
    changed: dict[str, Any] = Field({}, description="fields to which the run gave other values than the preset")
    seed: int
    created_at: str
    fingerprint: str
    data: DataEntry
    folds: list[FoldEntry] = Field(description="none where nothing is searched")
    metric: str = Field(description="the metric that selects and that arms are compared by")
    equivalence_margin: float
    search_splits: int = Field(description="splits into folds on which the whole search is run; the first is its own")
    test_protocol: TestProtocol = Field(description="whether a replicate tests one model, or one a fold")
    models_per_replicate: int = Field(description="1, or as many as there are folds")
    code: Code | None = Field(None, description="the study's own files, where it is declared in one of those")
    baseline: str | None = Field(None, description="the arm that all others are compared with")
    comparisons: list[tuple[str, str]] = Field([], description="pairs of arms (a, b) that are compared, as a − b")
    arms: list[ArmEntry]
    references: list[ReferenceEntry] = Field(description="in the order of the report")
    plan: PlannedTrials
    train: dict[str, Any] = Field(description="the training configuration, but for what the arms say")
    environment: dict[str, str]
    executions: list[Execution]

    def arm(self, name: str) -> ArmEntry:
        """The arm of that name."""
        return next(arm for arm in self.arms if arm.name == name)


def study_path(out: Path) -> Path:
    """Where a study's file lies in its folder."""
    return out / "study.json"


class Score(DocumentPart):
    """A configuration's mean validation metric over folds; `excluded` says why it could not be selected."""

    number: int
    configuration: Configuration
    mean: float | None
    n: int
    of: int
    excluded: str | None


class Selection(DocumentPart):
    """An arm's winner (null if no configuration finished all its folds) and the scores of all."""

    number: int | None
    configuration: Configuration | None
    score: float | None
    metric: str
    scores: tuple[Score, ...]


class FixedSelection(Selection):
    """A selection with the time at which it was first fixed, and those that it replaced."""

    selected_at: str
    previous: tuple[FixedSelection, ...] = ()


class SelectionFile(Document):
    """selection.json: by arm."""

    arms: dict[str, FixedSelection] = Field({}, description="by the arm's name")
    other_splits: dict[int, dict[str, FixedSelection]] = Field(
        {}, description="by search split, from 1, and the arm's name; the study's own is 0, under `arms`"
    )

    @property
    def by_split(self) -> dict[int, dict[str, FixedSelection]]:
        """Those of all search splits, from 0, the study's own."""
        return {0: self.arms, **self.other_splits}

    def winner(self, arm: str) -> Mapping[str, Any] | None:
        """The configuration selected for an arm; None while none is."""
        return self.arms[arm].configuration if arm in self.arms else None

    def other_winners(self, arm: str, search_splits: int) -> dict[int, Configuration]:
        """The winners of an arm on other search splits, as far as there are so many, that are not the study's own.

        None of them before the study's own winner is fixed: then each is trained once more, with the seed of its split.
        """
        own = self.winner(arm)
        found = {split: arms[arm].configuration for split, arms in self.other_splits.items() if arm in arms}
        return {
            split: one
            for split, one in found.items()
            if arm in self.arms and split < search_splits and one is not None and one != own
        }


class Proposal(DocumentPart):
    """A configuration that a search proposed, and the results it was based on (null for a failed one)."""

    configuration: Configuration
    values: list[float | None]


class ProposalsFile(Document):
    """proposals.json: by arm, in order."""

    arms: dict[str, list[Proposal]] = Field({}, description="by the arm's name, in order")
    other_splits: dict[int, dict[str, list[Proposal]]] = Field(
        {}, description="by search split, from 1, and the arm's name; the study's own is 0, under `arms`"
    )

    @property
    def by_split(self) -> dict[int, dict[str, list[Proposal]]]:
        """Those of all search splits, from 0, the study's own."""
        return {0: self.arms, **self.other_splits}


class ForecastEntry(DocumentPart):
    """What a whole plan was predicted to take."""

    trials: int
    epochs: int
    images: int
    wall_s: float = Field(description="from the start of the program's work to the end of the last trial")
    device_seconds: float
    peak_memory: float = Field(description="bytes of the trial that needs most")


class CalibrationFile(Document):
    """calibration.json: a prediction, and what it was made of; a report compares it with a run of the same plan."""

    made_at: str
    study: str
    preset: str
    seed: int
    replicates: int = Field(description="of all arms")
    search_splits: int
    epochs: int
    data_fingerprint: str
    backend: str
    device: str
    slots: int
    device_share: float
    forecast: ForecastEntry
    preparation_s: float = Field(description="seconds from the start of the program to the start of the runner")
    calibration: dict[str, Any] = Field(description="what was timed")


def calibration_path(out: Path) -> Path:
    """Where a study's prediction lies in its folder."""
    return out / "calibration.json"
