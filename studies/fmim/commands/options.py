"""What the command line says of a run, and what can be checked of that without torch, whose import takes seconds."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Literal

from fmim import catalogue
from fmim.data.sources import PHANTOM, check_data
from fmim.declare import Preset, Study
from fmim.declare.changes import check_changes, read_changes, with_changes
from fmim.own.study_file import is_study_file
from fmim.runner.folder.ownership import check_folder, nearest_place
from fmim.runner.tracking.address import TrackingAddress
from fmim.runner.tracking.sqlite.database import database_files
from fmim_core.records import SelectionFile
from fmim_spaces.domain import Assignment

STUDIES = Path("runs")
"""Where studies lie if nothing is said, with their banks and MLflow's database beside them."""

NOT_IN_COMMAND = ("study", "changes", "tracking_uri", "fresh")
"""Options that `Options.command` has in another form, or not at all: a study that goes on does not start over."""


@dataclass(frozen=True)
class Options:
    """What the command line says; None is the preset's or the study's own.

    Args:
        study: its name, the file that declares it, or itself.
        studies: the folder of all studies, with their banks and MLflow's database; else the one that the study's folder
            lies in.
        reuse: whether trials that other studies in the same folder have completed are taken over.

    Raises:
        ValueError: a tracking URI that MLflow does not take, an address without Ray, a cohort without phantoms, or a
            change that is not written FIELD=VALUE.
    """

    study: str | Path | Study
    preset: str = "quick"
    data: str = PHANTOM
    data_root: Path | None = None
    out: Path | None = None
    replicates: int | None = None
    seed: int = 0
    cohort: int | None = None
    epochs: int | None = None
    changes: Sequence[str] = ()
    search_splits: int = 1
    backend: Literal["ray", "inline"] = "ray"
    address: str | None = None
    gpus_per_trial: float | None = None
    cpus_per_trial: float = 1.0
    tracking_uri: str | None = field(default=None, repr=False)  # it may hold a password
    fresh: bool = False
    selected: Path | None = None
    banks: Path | None = None
    studies: Path | None = None
    reuse: bool = True

    def __post_init__(self) -> None:
        if self.tracking_uri is not None:
            TrackingAddress.of(self.tracking_uri)
        if self.backend == "inline" and self.address:
            raise ValueError("--address names a Ray cluster, but --backend inline uses none: leave one of them out")
        if self.cohort is not None and self.data != PHANTOM:
            raise ValueError(f"--cohort draws phantoms, but --data is {self.data}: leave one of them out")
        of_phantoms = [path for path, _ in self._changes if path.startswith("phantom.")]
        if of_phantoms and self.data != PHANTOM:
            raise ValueError(f"--set {of_phantoms[0]} is of phantoms, but --data is {self.data}: leave one of them out")

    @cached_property
    def _named(self) -> Study:
        """The study as it is declared; a file is run once."""
        return self.study if isinstance(self.study, Study) else catalogue.find(str(self.study))

    @property
    def _changes(self) -> tuple[Assignment, ...]:
        """What is given instead of the preset's values; --epochs is short for one of them."""
        of_epochs = () if self.epochs is None else (f"epochs={self.epochs}",)
        return read_changes((*of_epochs, *self.changes))

    @property
    def tracking(self) -> TrackingAddress:
        """Where the MLflow mirror goes: the database in the folder of all studies, if nothing else is said."""
        given = self.tracking_uri
        beside = self.studies_folder / self.folder.name
        return TrackingAddress.beside(beside) if given is None else TrackingAddress.of(given)

    @property
    def banks_folder(self) -> Path:
        """Where banks lie: in the folder of all studies, if nothing else is said."""
        return banks_beside(self.studies_folder) if self.banks is None else self.banks.absolute()

    @property
    def command(self) -> str | None:
        """The command that goes on with the study; None for one that is no file and in no catalogue.

        A tracking URI may hold a password: it is left out, and to be given again.
        """
        if isinstance(self.study, Study):
            return None
        given = [(one.name, getattr(self, one.name)) for one in fields(self) if one.name not in NOT_IN_COMMAND]
        defaults = {one.name: one.default for one in fields(self)}
        parts = ["fmim", "run", str(self.study)]
        parts += [part for change in self.changes for part in ("--set", change)]
        for name, value in given:
            if value is False:
                parts.append(f"--no-{name}")
            elif value != defaults[name]:
                parts += [f"--{name.replace('_', '-')}", str(value)]
        return shlex.join(parts) + (" --tracking-uri URI" if self.tracking_uri is not None else "")

    @property
    def starting(self) -> str:
        """What begins first, in words."""
        ray = f", and joining the Ray cluster at {self.address}" if self.address else ", and starting Ray"
        return "loading PyTorch" + (ray if self.backend == "ray" else "")

    def check(self) -> None:
        """Look up every name and file.

        Raises:
            ValueError: no such study, preset, selection or data set; the message lists those there are. Or a folder
                that is not the study's.
        """
        self.declared()
        self.check_folder(self._named.name)
        check_data(self.data, self.data_root)

    def check_folder(self, study: str) -> None:
        """Check that the study's folder is new, empty, or the study's own, and that banks can lie where they are to.

        Raises:
            ValueError: one of them is a file, or the study's folder holds what no study writes, or is another study's.
        """
        mirror = () if self.fresh else database_files(self.tracking, self.folder)
        check_folder(self.folder, study, self.fresh, mirror)
        place = nearest_place(self.banks_folder)
        if not place.is_dir():
            raise ValueError(f"--banks {self.banks_folder}: {place} is a file: give another folder")

    def declared(self) -> tuple[Study, Preset]:
        """The study, at the configurations of the `selected` one if there is one, and its preset as it is changed.

        Raises:
            ValueError: no such study, preset or selection, or a change that is refused.
        """
        study = self._named
        if self.selected is not None:
            study = study.with_winners(SelectionFile.read(selection_file(self.selected, "selection.json")))
        check_changes(study, self._changes)
        preset = with_changes(study.preset(self.preset), self._changes)
        if self.cohort is not None:
            preset = preset.model_copy(update={"phantom": preset.phantom.model_copy(update={"seed": self.cohort})})
        return study, preset

    @property
    def own_folder(self) -> Path | None:
        """The folder of the file that declares the study; None for a study that is declared elsewhere."""
        return (
            None
            if isinstance(self.study, Study) or not is_study_file(str(self.study))
            else Path(self.study).resolve().parent
        )

    @property
    def studies_folder(self) -> Path:
        """The folder of the studies whose completed trials are reused, absolute."""
        return self.folder.parent if self.studies is None else self.studies.absolute()

    @property
    def folder(self) -> Path:
        """The study's folder, absolute."""
        return (self.out or STUDIES / self._named.name).absolute()


def banks_beside(studies: Path) -> Path:
    """Where the banks of the studies in a folder lie."""
    return studies / "banks"


def selection_file(folder: Path, name: str) -> Path:
    """A file of the folder that `--selected` names.

    Raises:
        ValueError: it is not there.
    """
    if not (folder / name).is_file():
        raise ValueError(f"--selected {folder}: there is no {name}; give the folder of a study that has selected")
    return folder / name
