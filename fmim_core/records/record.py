"""A record: one file per trial that says everything about it. Records are the truth; everything else is a view."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from fmim_core.records.document import Document, DocumentPart, DottedName, Name, Time
from fmim_core.records.files import Damaged, read_file
from fmim_core.records.parts import (
    ON_FOLDS,
    Absent,
    Attempt,
    Cost,
    EpochRow,
    Member,
    Metrics,
    MetricValues,
    ReusedFrom,
    Stage,
    Status,
    Stopped,
    TrialError,
)

_RESULT = re.compile(rb'\n "status": "(?:completed|diverged)",\n "fingerprint": "([0-9a-f]{64})",\n')


class Record(Document):
    """Everything about one trial: configuration × replicate."""

    trial: DottedName = Field(description="unique in the study, and the record's file name")
    study: Name = Field(description="the study's name")
    preset: Name = Field(description="the preset's name")
    arm: DottedName = Field(description="the arm's name; in the reference stage the reference's")
    configuration: dict[str, Any] = Field(description="the values of the arm's parameters")
    stage: Stage = Field(description="what the trial is for")
    variation: Absent[DottedName] = Field(None, description="the setting that a variation changes, and by what factor")
    replicate: int = Field(ge=0, description="the held-out fold, or else the number of the seed")
    fold: int | None = Field(description="the held-out fold; null if there is none")
    search_split: int = Field(ge=0, description="the split into folds that its search uses; 0 is the study's own")
    seed: int = Field(description="seed of its training")
    status: Status = Field(description="how it ended")
    fingerprint: str = Field(description="equal for trials with equal results")
    metrics: Metrics = Field(Metrics(), description="its results")
    stopped: Stopped | None = Field(None, description="where its search stopped it; null if it did not")
    kept_epoch: int | None = Field(None, description="the epoch of the evaluated model; of a fold ensemble, its first")
    queries_sha256: str | None = Field(
        None,
        description="SHA-256 of TRIAL.queries.parquet beside it, with every test query; null if there is none",
    )
    history: tuple[EpochRow, ...] = Field((), description="its epochs; of a fold ensemble, its first model's")
    members: tuple[Member, ...] = Field((), description="the models of a fold ensemble, by fold; else empty")
    reused_from: ReusedFrom | None = Field(
        None, description="the equal trial whose record it reuses; null if it ran itself"
    )
    cost: Cost = Field(Cost(), description="cost of the attempt that ended in this record")
    attempts: tuple[Attempt, ...] = Field((), description="earlier attempts that failed")
    peak_memory: int | None = Field(None, description="bytes")
    error: TrialError | None = Field(None, description="the error that ended it; null if there was none")
    warnings: tuple[str, ...] = Field((), description="problems that did not end it")
    test_opened_at: str | None = Field(None, description="when the test set was opened, ISO 8601; null if never")
    started_at: Time = Field(description="when it began, ISO 8601")
    ended_at: Time = Field(description="when it ended, ISO 8601")
    environment: dict[str, str] = Field({}, description="machine and versions")
    config: dict[str, Any] = Field(
        {}, description="the whole training configuration; of a reference, the fields that it uses"
    )
    data: dict[str, Any] = Field({}, description="name, release and checksums of the data set, and the bank's")

    @model_validator(mode="after")
    def _completed_with_metrics(self) -> Self:
        if self.status == "completed" and self.measured is None:
            raise ValueError(f"completed without {self.split} metrics")
        return self

    @classmethod
    def read(cls, path: Path, where: str = "") -> Self:
        """Return the record in a file, as of any document, which leaves nothing out: a cost not told is not zero."""
        record = super().read(path, where)
        parts: dict[str, DocumentPart] = {"": record, "cost.": record.cost}
        parts |= {f"attempts.{number}.cost.": attempt.cost for number, attempt in enumerate(record.attempts)}
        for at, part in parts.items():
            fields = type(part).model_fields.items()
            required = [name for name, field in fields if field.exclude_if is None]
            if lacking := [f"{at}{name}" for name in required if name not in part.model_fields_set]:
                raise ValueError(f"{where or path} is malformed: missing: {', '.join(lacking)}")
        return record

    @property
    def final(self) -> bool:
        """True where running the trial again would give the same, while a failed one may be tried again.

        A stopped one is over, too: its search decided, and that stands.
        """
        return self.status != "failed"

    @property
    def has_result(self) -> bool:
        """True where any equal trial would end in the same way, whichever search it belongs to."""
        return self.status in ("completed", "diverged")

    @property
    def split(self) -> Literal["validation", "test"]:
        """The split that its stage measures on."""
        return "validation" if self.stage in ON_FOLDS else "test"

    @property
    def measured(self) -> MetricValues | None:
        """The metrics that its stage measures."""
        return getattr(self.metrics, self.split)

    @property
    def histories(self) -> tuple[tuple[EpochRow, ...], ...]:
        """The history of each model that was trained: of one, or of every member of a fold ensemble."""
        return tuple(member.history for member in self.members) or (self.history,)

    @property
    def computed_on(self) -> str:
        """What rounded its numbers: the GPU, or the processor with its threads, of which older records say `cpu` alone.

        Two records of one seed are equal to the bit where this is the same, and may not be where it is not.
        """
        if self.cost.device != "cpu" or "processor" not in self.environment:
            return self.cost.device
        threads = max(1, int(self.cost.device_share))
        about = f"{self.environment['cpu_capability']}, {threads} thread{'s' * (threads > 1)}"
        return f"{self.environment['processor']} ({about})"

    @property
    def began(self) -> float:
        """When it began, in seconds since 1970."""
        return datetime.fromisoformat(self.started_at).timestamp()

    @property
    def wasted_s(self) -> float:
        """Device-seconds that failed attempts cost on top of the trial's own `cost`."""
        return math.fsum(attempt.cost.device_seconds for attempt in self.attempts)

    def path(self, out: Path) -> Path:
        """Return its place in a study's folder."""
        return record_path(out, self.trial)

    def save(self, out: Path) -> None:
        """Write it to its place in a study's folder."""
        self.write(self.path(out))

    def changed(self, parts: Mapping[str, Any]) -> Record:
        """Return the same record with other parts."""
        return self.model_copy(update=dict(parts))


def trial_name(
    arm: str, number: int, stage: Stage, replicate: int, search_split: int = 0, variation: str | None = None
) -> str:
    """Return a trial's name: short, unique in its study, and a file name, e.g. `triplet_grid.c02.fold1`.

    Args:
        number: of the configuration in the arm's space.
    """
    split, varied = f".split{search_split}" if search_split else "", f".{variation}" if variation else ""
    return f"{arm}.c{number:02d}{split}{varied}.{'fold' if stage in ON_FOLDS else 'seed'}{replicate}"


def record_path(out: Path, trial: str) -> Path:
    """Return the place of a trial's record."""
    return out / "records" / f"{trial}.json"


def record_files(out: Path) -> list[Path]:
    """Return the records in a study's folder, by name; the folder of them where nobody may read it, as reading says."""
    folder = out / "records"
    return [folder] if folder.is_dir() and not os.access(folder, os.R_OK) else sorted(folder.glob("*.json"))


def read_record(out: Path, trial: str) -> Record | None:
    """Return a trial's record, None if there is none.

    Raises:
        ValueError: it cannot be read; names the file and what is wrong with it.
    """
    return Record.find(record_path(out, trial))


def read_records(
    out: Path,
    on_damage: Callable[[Path, ValueError], None] | None = None,
    instead_of: type[ValueError] = Damaged,
) -> Iterator[Record]:
    """Yield all records of a study's folder, by name.

    Raises:
        ValueError: as `read_record`, unless `on_damage` is told `instead_of` an error of that type.
    """
    for path in record_files(out):
        try:
            yield Record.read(path)
        except instead_of as error:
            if on_damage is None:
                raise
            on_damage(path, error)


def trials_with_result(out: Path) -> Iterator[tuple[str, Path]]:
    """Yield fingerprint and file of each record in a study's folder that says of itself that it has a result.

    That is a completed or a diverged trial: run again it would end in the same way. Whether a record is whole and true
    shows when it is read, and few of those found here are.
    """
    for path in record_files(out):
        with suppress(ValueError, OSError):  # no file, or gone meanwhile: whoever runs that study is told
            if found := _RESULT.search(read_file(path)):
                yield found[1].decode(), path
