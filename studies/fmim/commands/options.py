"""The options of a run, declared once: for the command line, for `fmim.run`, and as what the plan and its run need.

They are checked as far as can be without torch, whose import takes seconds.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from functools import cached_property
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator
from typer import Option

from fmim import catalogue
from fmim.commands.arguments import StudyName, complete_data, complete_preset, warn_of_password
from fmim.declare import Preset, Study
from fmim.declare.study import check_changes, read_changes, with_changes
from fmim.own.study_file import is_study_file, place_of
from fmim.runner.setup import Setup
from fmim.runner.tracking.address import TrackingAddress
from fmim_core.config import Config, InvalidConfig
from fmim_core.data.sets.phantom_config import PHANTOM
from fmim_core.records import SelectionFile
from fmim_spaces.domain import Assignment

if TYPE_CHECKING:
    from fmim.plan import Plan

STUDIES, BANKS = Path("runs"), "banks"
"""The default folder of studies, which also holds their banks and MLflow's database."""


class Options(Config):
    """All that is said of a run; None is the preset's or the study's own.

    A field with a `typer.Option` is an option of the commands that take these.

    Args:
        study: its name, the file that declares it, or itself.

    Raises:
        ValueError: an option of another type or too small, a tracking URI that MLflow does not take, an address without
            Ray, a cohort without phantoms, or a change that is not written FIELD=VALUE.
    """

    model_config = ConfigDict(hide_input_in_errors=True)  # a tracking URI may hold a password

    study: str | Path | Study
    preset: Annotated[str, Option(help="smoke, quick, full or paper.", autocompletion=complete_preset)] = "quick"
    data: Annotated[
        str,
        Option(
            help="A data set's name, or a manifest: a CSV with image, subject, months.", autocompletion=complete_data
        ),
    ] = PHANTOM
    data_root: Annotated[Path | None, Option(help="Folder that --data lies in.")] = None
    out: Annotated[Path | None, Option(help="The study's folder; default runs/STUDY.")] = None
    replicates: Annotated[int | None, Option(min=1, help="Seeds that train each arm's winner anew, to test it.")] = None
    seed: Annotated[int, Option(min=0, help="Seed of everything random.")] = 0
    cohort: Annotated[
        int | None, Option(min=0, help="Seed that draws another cohort of synthetic phantoms; default 0.")
    ] = None
    epochs: Annotated[int | None, Option(min=1, help="Epochs of each training, instead of the preset's.")] = None
    changes: Annotated[
        list[str],
        Option("--set", metavar="FIELD=VALUE", help="Change a field of the preset, e.g. model.kind=resnet50."),
    ] = []  # noqa: RUF012  # pydantic copies it
    search_splits: Annotated[
        int,
        Option(
            min=1,
            help="Splits into folds to search on; the first selects, the others show how much is chance.",
        ),
    ] = 1
    until_decided: Annotated[
        bool, Option("--until-decided", help="Add seeds to compared arms until every comparison is decided.")
    ] = False
    max_seeds: Annotated[
        int | None, Option(min=2, help="Maximum seeds of --until-decided; default: three times the first.")
    ] = None
    backend: Annotated[Literal["ray", "inline"], Option(help="inline: one trial at a time, in this process.")] = "ray"
    address: Annotated[str | None, Option(help="Address of a running Ray cluster, e.g. auto.")] = None
    gpus_per_trial: Annotated[
        float | None, Option(min=0, help="GPUs for each trial; 0.5 lets two share one. Default: 1 if there is a GPU.")
    ] = None
    cpus_per_trial: Annotated[float, Option(min=0.01, help="CPU cores for each trial.")] = 1.0
    banks: Annotated[Path | None, Option(help="Folder of decoded images; default: banks, beside --out.")] = None
    tracking_uri: Annotated[
        str | None,
        Option(
            metavar="URI|@FILE",
            callback=warn_of_password,
            help="MLflow's database or server; default: FMIM_TRACKING_URI, or mlflow.db, beside --out.",
        ),
        Field(repr=False),
    ] = None
    selected: Annotated[Path | None, Option(help="Folder of a study whose selected configurations the arms take.")] = (
        None
    )
    studies: Annotated[
        Path | None,
        Option(help="Folder of all studies, with their banks and MLflow's database; default: the parent of --out."),
    ] = None
    reuse: Annotated[
        bool,
        Option(
            " /--no-reuse",
            help="Train every trial, even if a study in the same folder has trained an equal one.",
            show_default=False,
        ),
    ] = True
    remake_weights: Annotated[
        bool, Option("--remake-weights", help="Train finished trials again whose weights are lost or damaged.")
    ] = False
    fresh: Annotated[bool, Option("--fresh", help="Move an existing folder aside and start over.")] = False

    @model_validator(mode="after")
    def _fit_each_other(self) -> Self:
        for name, field in Options.model_fields.items():
            value, least = getattr(self, name), field.metadata[0].min if field.metadata else None
            if value is not None and least is not None and value < least:
                raise ValueError(f"{name} {value}: give at least {least}")
        TrackingAddress.named(self.tracking_uri)
        if self.backend == "inline" and self.address:
            raise ValueError("--address names a Ray cluster, but --backend inline uses none: leave one of them out")
        if self.max_seeds is not None and not self.until_decided:
            raise ValueError("--max-seeds needs --until-decided: give both, or --replicates for a fixed number")
        if self.cohort is not None and self.data != PHANTOM:
            raise ValueError(f"--cohort draws phantoms, but --data is {self.data}: leave one of them out")
        of_phantoms = [path for path, _ in self._changes if path.startswith("phantom.")]
        if of_phantoms and self.data != PHANTOM:
            raise ValueError(f"--set {of_phantoms[0]} is for phantoms, but --data is {self.data}: leave one out")
        return self

    @cached_property
    def _named(self) -> Study:
        """The study as it is declared; a file is run once."""
        return self.study if isinstance(self.study, Study) else catalogue.find(str(self.study))

    @property
    def _changes(self) -> tuple[Assignment, ...]:
        """Values that are given instead of the preset's values; --epochs is short for one of them."""
        of_epochs = () if self.epochs is None else (f"epochs={self.epochs}",)
        return read_changes((*of_epochs, *self.changes))

    def but(self, **changes: Any) -> Options:
        """Return these options with other values."""
        return Options(**{name: getattr(self, name) for name in Options.model_fields} | changes)

    def check(self) -> None:
        """Look up every name and file.

        Raises:
            ValueError: no such study, preset, selection or data set; the message lists those there are. Or a folder
                that is not the study's.
        """
        from fmim.data.sources import check_data

        self.declared()
        self.setup.check_folders(self._named.name)
        check_data(self.data, self.data_root)

    def declared(self) -> tuple[Study, Preset]:
        """Return the study, at the configurations of the `selected` one if there is one, and its preset as changed.

        Raises:
            ValueError: no such study, preset or selection, or a change that is refused.
        """
        study = self._named
        if selection := self.setup.selection_file("selection.json"):
            study = study.with_winners(SelectionFile.read(selection))
        check_changes(study, self._changes)
        preset = with_changes(study.preset(self.preset), self._changes)
        if self.cohort is not None:
            preset = preset.model_copy(update={"phantom": preset.phantom.model_copy(update={"seed": self.cohort})})
        return study, preset

    def plan(self) -> Plan:
        """Return the plan: study and preset, with what is changed of them.

        Raises:
            ValueError: no such study, preset or selection, or a training that cannot be made.
        """
        from fmim.plan import Plan
        from fmim.plan.looks import Looks

        def made(study: Study, preset: Preset) -> Plan:
            first = preset.replicates if self.replicates is None else self.replicates
            looks = Looks.between(first, self.max_seeds) if self.until_decided else None
            plan = Plan(study, preset, self.seed, self.replicates, search_splits=self.search_splits, looks=looks)
            plan.train_configs()
            return plan

        study, preset = self.declared()
        try:
            return made(study, preset)
        except InvalidConfig as error:
            if preset.changed:
                with suppress(InvalidConfig):
                    made(study, study.preset(preset.name))
                    raise ValueError(f"--set: {error.problem}") from error
            if study.code:
                raise ValueError(f"{place_of(error, study.code)}: {error}") from error
            raise

    @cached_property
    def setup(self) -> Setup:
        """The place and means with which the plan runs."""
        folder = (self.out or STUDIES / self._named.name).absolute()
        studies = self.studies.absolute() if self.studies else folder.parent
        of_file = not isinstance(self.study, Study) and is_study_file(str(self.study))
        same = {one.name: getattr(self, one.name) for one in fields(Setup) if one.name in Options.model_fields}
        return Setup(
            **same
            | {
                "folder": folder,
                "studies": studies,
                "banks": self.banks.absolute() if self.banks else studies / BANKS,
                "code": Path(str(self.study)).resolve().parent if of_file else None,
                "command": self._command,
            }
        )

    @property
    def _command(self) -> str | None:
        """The command that goes on with the study; None for one that is no file and in no catalogue.

        It does not start over. A tracking URI may hold a password: it is left out, and to be given again.
        """
        if isinstance(self.study, Study):
            return None
        parts = ["fmim", "run", str(self.study)]
        parts += [part for change in self.changes for part in ("--set", change)]
        for name in sorted(self.model_fields_set - {"study", "changes", "tracking_uri", "fresh"}):
            value, option = getattr(self, name), name.replace("_", "-")
            if value == Options.model_fields[name].default:
                continue
            parts += (
                [f"--{option}" if value else f"--no-{option}"]
                if isinstance(value, bool)
                else [f"--{option}", str(value)]
            )
        uri = self.tracking_uri or ""
        parts += ["--tracking-uri", uri] if uri.startswith("@") else []
        return shlex.join(parts) + (" --tracking-uri URI" if uri and not uri.startswith("@") else "")


def takes_options(*but: str, **given: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of `Options`, which it gets as one object, before its own.

    Args:
        but: those that it has not.
        given: those that it says itself.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        _, *own = signature(command, eval_str=True).parameters.values()
        shared = [
            Parameter(
                name,
                Parameter.POSITIONAL_OR_KEYWORD,
                default=Parameter.empty if name == "study" else field.default,
                annotation=StudyName if name == "study" else Annotated[field.annotation, *field.metadata],
            )
            for name, field in Options.model_fields.items()
            if name not in (*but, *given)
        ]

        def called(**arguments: Any) -> None:
            of_command = {parameter.name: arguments.pop(parameter.name) for parameter in own}
            command(Options(**given | arguments), **of_command)

        called.__name__, called.__doc__ = command.__name__, command.__doc__
        called.__signature__ = Signature([*shared, *own])  # type: ignore[attr-defined]
        return called

    return decorate
