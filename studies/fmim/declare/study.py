"""A question with its arms and presets, as data that prints, hashes and pickles; and a run's changes of a preset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import Field, ValidationError, model_validator

from fmim.declare.arm import Arm
from fmim.declare.presets import PRESETS, Preset, find_preset
from fmim_core.config import Config, InvalidConfig, in_words
from fmim_core.metric_names import METRICS
from fmim_core.records import Code, Name, SelectionFile
from fmim_core.suggestions import did_you_mean
from fmim_spaces.domain import Assignment, Configuration, as_meant, nested

if TYPE_CHECKING:
    from fmim_core.losses.adatriplet import AdaTriplet
    from fmim_core.losses.triplet import Triplet


class Surface(Config):
    """A loss that the report draws as a function of one triplet's (φ_ap, φ_an).

    Args:
        settings: the loss as an arm's settings give it, dotted, e.g. ("loss.kind", "triplet").
    """

    label: str
    settings: tuple[Assignment, ...]
    epsilon: float
    beta: float = 0.0

    def loss(self) -> Triplet | AdaTriplet:
        """Return the loss.

        Raises:
            ValueError: the settings are not those of a loss, or the loss has no surface.
        """
        from fmim_core.losses.surface import SurfaceConfig

        try:
            return SurfaceConfig.model_validate(nested(self.settings)).loss
        except ValidationError as error:
            raise InvalidConfig("surface", self.label, error) from error


EPOCH_METRICS = ("mAP",)
"""Validation metrics that are known during a training; the others are evaluated at its end."""


class Study(Config):
    """A question with its arms, presets and the metric that selects.

    Args:
        search: whether configurations are trained on folds and one of them selected. Without a search, every arm
            has one given configuration, and N_s is 1, as the paper counts its quartile baselines.
        equivalence_margin: replaces the preset's, if given.
        baseline: the arm that every other arm is compared with. comparisons: instead, the pairs of arms (a, b) that are
            compared, as a − b. Without either there are no comparisons.
        claims: further compared pairs, beside the study's question. They are a separate family for
            Holm's correction, so that they cost the question no power, and no arm is varied for them.
        surfaces: losses whose surfaces the report draws; they are computed at the start, into surfaces.json.
        trainer: your own class with `fit` and `embed`, which trains every arm that names no loss.
        code: the text of the file that declares the study, if it is not of the catalogue.
    """

    name: Name
    title: str
    question: str
    arms: Annotated[tuple[Arm, ...], Field(min_length=1)]
    presets: Annotated[tuple[Preset, ...], Field(min_length=1)] = PRESETS
    metric: str = "mAP"
    equivalence_margin: Annotated[float, Field(gt=0, lt=1)] | None = None
    search: bool = True
    baseline: Name | None = None
    comparisons: tuple[tuple[Name, Name], ...] = ()
    claims: tuple[tuple[Name, Name], ...] = ()
    surfaces: tuple[Surface, ...] = ()
    trainer: Any = None
    code: Code | None = None

    @model_validator(mode="before")
    @classmethod
    def _arms_without_a_loss_are_its_trainers(cls, given: Any) -> Any:
        arms = given.get("arms") if isinstance(given, Mapping) and given.get("trainer") is not None else None
        if not isinstance(arms, list | tuple):
            return given
        from fmim_core.training.own import own_trainer

        kind = ("trainer.kind", own_trainer(given["trainer"]).__name__)
        own = (
            arm.model_copy(update={"settings": (kind, *arm.settings)})
            if isinstance(arm, Arm) and not arm.loss_kind
            else arm
            for arm in arms
        )
        return {**given, "arms": tuple(own)}

    @model_validator(mode="after")
    def _names_are_known_and_distinct(self) -> Self:
        if self.metric not in METRICS:
            raise ValueError(f"study {self.name!r}: unknown metric {self.metric!r}; there are {', '.join(METRICS)}")
        for names in ([arm.name for arm in self.arms], [preset.name for preset in self.presets]):
            repeated = [name for name, count in Counter(names).items() if count > 1]
            if repeated:
                raise ValueError(f"study {self.name!r}: {', '.join(repeated)} named more than once")
        if without := [arm.name for arm in self.arms if not arm.loss_kind]:
            raise ValueError(
                f"arm {without[0]!r} has no loss: add one to its settings, e.g. ('loss.kind', 'triplet'), or give the "
                "study a trainer"
            )
        if self.trainer is not None and not any(arm.trainer for arm in self.arms):
            raise ValueError(f"study {self.name!r} has a trainer, but each arm has a loss: leave one out")
        open_arms = [arm.name for arm in self.arms if arm.listed is None or arm.budget > 1]
        if not self.search and open_arms:
            raise ValueError(f"study {self.name!r} searches nothing, but {', '.join(open_arms)} have a choice")
        stopping = [arm.name for arm in self.arms if arm.searcher.stopping_rule is not None]
        if stopping and self.metric not in EPOCH_METRICS:
            raise ValueError(
                f"{', '.join(stopping)} stop trials by validation {' or '.join(EPOCH_METRICS)}, so cannot select by "
                f"{self.metric}"
            )
        return self

    @model_validator(mode="after")
    def _comparisons_are_of_its_arms(self) -> Self:
        names = [arm.name for arm in self.arms]
        if self.baseline is not None and self.comparisons:
            raise ValueError(f"study {self.name!r}: give a baseline or comparisons, not both")
        pairs = self.comparison_pairs
        compared = [*chain(*pairs), self.baseline or names[0]]
        unknown = [name for name in dict.fromkeys(compared) if name not in names]
        if unknown:
            raise ValueError(f"study {self.name!r} compares {', '.join(unknown)}, but its arms are {', '.join(names)}")
        for number, (a, b) in enumerate(pairs):
            if a == b:
                raise ValueError(f"study {self.name!r} compares {a} with itself: name two arms")
            if {a, b} in map(set, pairs[:number]):
                raise ValueError(f"study {self.name!r} compares {a} and {b} more than once: list each pair once")
        return self

    @property
    def comparison_pairs(self) -> tuple[tuple[str, str], ...]:
        """The pairs of arms (a, b) that are compared, as a − b: those of the question, and the claims."""
        return self.question_pairs + self.claims

    @property
    def question_pairs(self) -> tuple[tuple[str, str], ...]:
        """The pairs of arms that the question is about."""
        if self.baseline is None:
            return self.comparisons
        return tuple((arm.name, self.baseline) for arm in self.arms if arm.name != self.baseline)

    def preset(self, name: str) -> Preset:
        """Return the preset of that name.

        Raises:
            ValueError: there is none; the message lists those there are.
        """
        return find_preset(name, self.presets, f"study {self.name!r} has")

    def with_winners(self, selection: SelectionFile) -> Study:
        """Return this study with the configurations that another study selected.

        Raises:
            ValueError: an arm takes nothing from another study, or finds no winner there.
        """
        if not all(arm.selected_from for arm in self.arms):
            raise ValueError(f"study {self.name!r} takes no configurations from another study: leave out --selected")
        return self.model_copy(update={"arms": tuple(arm.with_winner(selection) for arm in self.arms)})

    def corners(self) -> Iterator[tuple[Arm, Configuration]]:
        """Yield every arm's configurations, with ranges at their bounds."""
        return ((arm, configuration) for arm in self.arms for configuration in arm.space.corners())


OF_PRESET = ("folds", "image_size", "phantom", "test_protocol")
"""The fields of the preset itself; every other name is a field of the training."""


def read_changes(given: Iterable[str]) -> tuple[Assignment, ...]:
    """Read `FIELD=VALUE` as assignments, e.g. `epochs=50` or `model.kind=resnet50`.

    Raises:
        ValueError: one has another form, or a field is given twice.
    """
    changes: dict[str, Assignment] = {}
    for text in given:
        path, equals, value = text.partition("=")
        if not equals or not path or not value:
            raise ValueError(f"--set {text}: write FIELD=VALUE, e.g. --set epochs=50 or --set model.kind=resnet50")
        if path in changes:
            raise ValueError(f"--set {path} is given twice (or once as --{path}): leave one of them out")
        changes[path] = (path, as_meant(value))
    return tuple(changes.values())


def with_changes(preset: Preset, changes: Sequence[Assignment]) -> Preset:
    """Return the preset with other values, which it remembers as `changed`.

    Raises:
        ValueError: a field of the preset's own that does not exist, or a value that it does not allow.
    """
    own = [change for change in changes if change[0].partition(".")[0] in OF_PRESET]
    training = [change for change in changes if change not in own]
    fields = preset.model_dump()
    for name, value in nested(own).items():
        fields[name] = fields[name] | value if isinstance(value, dict) else value
    fields["settings"] = (*preset.settings, *training)
    fields["changed"] = tuple(changes)
    try:
        return Preset.model_validate(fields)
    except ValidationError as error:
        raise ValueError(f"--set: {in_words(error)}") from error


def check_changes(study: Study, changes: Sequence[Assignment]) -> None:
    """Check that no change is of a field that an arm sets or searches: such fields define the arm.

    Raises:
        ValueError: one is; the message names the arm.
    """
    for path, value in changes:
        if path.partition(".")[0] not in OF_PRESET and not any(arm.has(path) for arm in study.arms):
            from fmim_core.training.config import SHARED

            hint = did_you_mean(path.partition(".")[0], SHARED)
            raise ValueError(
                f"--set {path}={value} has no effect: the study has no trainer, or its own trainer sets it{hint}"
            )
        for arm in study.arms:
            taken = {name for name, _ in arm.settings} | {parameter.path for parameter in arm.space.parameters}
            if met := [name for name in taken if f"{name}.".startswith(f"{path}.") or path.startswith(f"{name}.")]:
                raise ValueError(
                    f"--set {path}={value}: arm {arm.name!r} of study {study.name!r} sets {met[0]} itself; change the "
                    "study's arms instead"
                )
