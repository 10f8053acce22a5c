"""What a study is made of: arms, presets and the study itself, as data that prints, hashes and pickles.

Declaring imports no torch, so that `fmim list`, `--help` and a misspelt name are answered at once; what the settings
say is checked when the study is planned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field, InstanceOf, NonNegativeInt, PositiveInt, SerializeAsAny, ValidationError, model_validator

from fmim.declare.surface import Surface
from fmim_core.config import Config, Refused
from fmim_core.data.sets.phantom_config import PhantomConfig
from fmim_core.metric_names import METRICS
from fmim_core.records import ArmEntry, Code, Name, SearcherFacts, SelectionFile, TestProtocol
from fmim_core.suggestions import did_you_mean
from fmim_spaces.domain import Assignment, Choice, Configuration, Space, nested
from fmim_spaces.searcher import Searcher
from fmim_spaces.searchers import Grid

EPOCH_METRICS = ("mAP",)
"""Of validation, what is known during a training; the others are evaluated at its end."""

if TYPE_CHECKING:
    from fmim_core.training.config import TrainConfig


class Arm(Config):
    """One named method with its search space.

    Args:
        settings: training fields that make the method, dotted, e.g. ("loss.kind", "triplet"), which must be there.
        search: how its values are set, in words, e.g. "Grid search"; nothing where there is nothing to say.
        group: what it shares with the arms it stands beside, in words; the name of its loss if nothing else is said.
            Group and search together are the arm's label, for display alone: nothing is decided by them.
        space: the fields its search varies.
        searcher: how they are searched; every configuration of the space if nothing else is said.
        selected_from: the arm of another study whose winner can replace the values given here (`--selected`).
    """

    name: Name
    settings: tuple[Assignment, ...]
    search: str = ""
    group: str = ""
    space: Space = Space()
    searcher: SerializeAsAny[InstanceOf[Searcher]] = Grid()
    selected_from: str = ""

    @model_validator(mode="after")
    def _settings_name_a_loss(self) -> Self:
        if "loss.kind" not in dict(self.settings):
            raise ValueError(f"arm {self.name!r}: its settings name no loss; add one, e.g. ('loss.kind', 'triplet')")
        return self

    @model_validator(mode="after")
    def _searcher_fits_the_space(self) -> Self:
        try:
            self.searcher.check(self.space)
        except ValueError as error:
            raise ValueError(f"arm {self.name!r}: {error}") from error
        return self

    @property
    def budget(self) -> int:
        """Configurations its search may train."""
        return self.searcher.budget(self.space)

    @property
    def listed(self) -> list[Configuration] | None:
        """Its configurations, where they are known before anything runs."""
        return self.searcher.listed(self.space)

    def rungs(self, train: TrainConfig) -> tuple[int, ...]:
        """Return the epochs after which its search may stop a training: validations that its stopping rule names."""
        return tuple(train.validate_every * k for k in self.searcher.stopping_points(train.validations))

    def entry(self, replicates: int) -> ArmEntry:
        """The arm, with so many fresh seeds, as study.json holds it.

        Configurations that are not listed here are in proposals.json.
        """
        from fmim_core.margins.base import MARGINS

        return ArmEntry(
            name=self.name,
            label=self.label,
            loss=self.loss,
            loss_kind=self.loss_kind,
            margins_kind=self.margins_kind,
            margins_vary=MARGINS.find(self.margins_kind).vary,
            group=self.group or self.loss,
            search=self.search,
            searcher=self.searcher.model_dump(mode="json"),
            searcher_facts=SearcherFacts(
                uses_results=self.searcher.uses_results(self.space),
                screens=self.searcher.screens,
                ordered=self.searcher.ordered(self.space),
            ),
            note=self.searcher.note,
            space=self.space.values(),
            configurations=self.listed or [],
            n_s=self.budget,
            replicates=replicates,
        )

    def with_winner(self, selection: SelectionFile) -> Arm:
        """This arm at the configuration that another study selected for its arm `selected_from`.

        Raises:
            ValueError: that arm is not there, has no winner, or lacks one of this arm's parameters.
        """
        winner = selection.winner(self.selected_from)
        names = list(self.space.values())
        if winner is None or set(names) - set(winner):
            raise ValueError(
                f"arm {self.name!r} takes {', '.join(names)} from the winner of {self.selected_from!r}, but the "
                f"selection holds {dict(winner) if winner else 'no winner'} for it; it has {', '.join(selection.arms)}"
            )
        choices = tuple(Choice(path=each.path, values=(winner[each.name],)) for each in self.space.parameters)
        return self.model_copy(update={"space": Space(choices=choices), "searcher": Grid()})

    @property
    def loss_kind(self) -> str:
        """Its loss, as configurations name it."""
        return str(dict(self.settings)["loss.kind"])

    @property
    def margins_kind(self) -> str:
        """Its margin schedule, as configurations name it; `none` for a loss that has no margins."""
        return str(dict(self.settings).get("margins.kind", "none"))

    @property
    def loss(self) -> str:
        """Its loss in words: the name of the loss's class.

        Raises:
            ValueError: there is no loss of that kind.
        """
        from fmim_core.losses.base import LOSSES

        return LOSSES.find(self.loss_kind).__name__

    @property
    def label(self) -> str:
        """The arm in words."""
        group, search = self.group or self.loss, self.search
        search = search.lower() if search[1:].islower() else search
        return f"{group} + {search}" if search else group

    def train_config(
        self,
        preset: Preset,
        configuration: Configuration,
        data_settings: Iterable[Assignment] = (),
    ) -> TrainConfig:
        """The training of one configuration under a preset, on images that come with settings of their own.

        Raises:
            Refused: a field that does not exist, or a value that it does not allow.
        """
        from fmim_core.training.config import TrainConfig

        settings = [*data_settings, *preset.settings, *self.settings, *self.space.assignments(configuration)]
        try:
            return TrainConfig.model_validate(nested(settings))
        except ValidationError as error:
            raise Refused("arm", self.name, error) from error


class Preset(Config):
    """How big a study is: images, training, folds and replicates.

    Args:
        settings: training fields, dotted.
        image_size: side of the bank's images, px.
        phantom: the embedded cohort, used where no other data set is named.
        folds: of the search stage.
        replicates: fresh seeds of the selected configuration of each arm that the study compares with another.
        other_replicates: those of the arms that no comparison names; as many if nothing else is said.
        test_protocol: what each of these seeds trains and tests: one model `retrained` on all development subjects, or
            a `fold_ensemble`, as the paper's authors do: a model for each fold, whose distances are averaged.
        changed: what a run gave instead of the preset's own values (`--set`), for reports; they stand above as well.
    """

    name: Name
    about: str
    settings: tuple[Assignment, ...]
    image_size: PositiveInt
    phantom: PhantomConfig
    folds: Annotated[int, Field(ge=2)]
    replicates: NonNegativeInt
    other_replicates: NonNegativeInt | None = None
    test_protocol: TestProtocol = "retrained"
    changed: tuple[Assignment, ...] = ()


class Study(Config):
    """A question with its arms, presets and the metric that selects.

    Args:
        search: whether configurations are trained on folds and one of them selected. Without a search every arm
            has one configuration, given beforehand; N_s is 1 then, as the paper counts its quartile baselines.
        equivalence_margin: two arms are on par if their test metrics differ by less than this; fixed before the run, so
            that nobody chooses it to suit a result.
        baseline: the arm that every other one is compared with. comparisons: or else the pairs of arms (a, b) that are
            compared, as a − b. Neither: no comparisons.
        surfaces: losses whose surfaces the report draws; they are computed at the start, into surfaces.json.
        code: of a study that is declared in a file of its own, what it was when it was read.
    """

    name: Name
    title: str
    question: str
    arms: Annotated[tuple[Arm, ...], Field(min_length=1)]
    presets: Annotated[tuple[Preset, ...], Field(min_length=1)]
    metric: str = "mAP"
    equivalence_margin: Annotated[float, Field(gt=0, lt=1)] = 0.01
    search: bool = True
    baseline: Name | None = None
    comparisons: tuple[tuple[Name, Name], ...] = ()
    surfaces: tuple[Surface, ...] = ()
    code: Code | None = None

    @model_validator(mode="after")
    def _names_are_known_and_distinct(self) -> Self:
        if self.metric not in METRICS:
            raise ValueError(f"study {self.name!r}: unknown metric {self.metric!r}; there are {', '.join(METRICS)}")
        for names in ([arm.name for arm in self.arms], [preset.name for preset in self.presets]):
            repeated = [name for name, count in Counter(names).items() if count > 1]
            if repeated:
                raise ValueError(f"study {self.name!r}: {', '.join(repeated)} named more than once")
        open_arms = [arm.name for arm in self.arms if arm.listed is None or arm.budget > 1]
        if not self.search and open_arms:
            raise ValueError(f"study {self.name!r} has no search, but {', '.join(open_arms)} leave a choice")
        stopping = [arm.name for arm in self.arms if arm.searcher.stopping_rule is not None]
        if stopping and self.metric not in EPOCH_METRICS:
            raise ValueError(
                f"{', '.join(stopping)} stop trials by validation {' or '.join(EPOCH_METRICS)}: they cannot select by "
                f"{self.metric}"
            )
        return self

    @model_validator(mode="after")
    def _comparisons_are_of_its_arms(self) -> Self:
        names = [arm.name for arm in self.arms]
        if self.baseline is not None and self.comparisons:
            raise ValueError(f"study {self.name!r}: give a baseline or comparisons, not both")
        compared = [name for pair in self.comparisons for name in pair] + [self.baseline or names[0]]
        unknown = [name for name in dict.fromkeys(compared) if name not in names]
        if unknown:
            raise ValueError(f"study {self.name!r} compares {', '.join(unknown)}, but its arms are {', '.join(names)}")
        for number, (a, b) in enumerate(self.comparisons):
            if a == b:
                raise ValueError(f"study {self.name!r} compares {a} with itself: name two arms")
            if {a, b} in map(set, self.comparisons[:number]):
                raise ValueError(f"study {self.name!r} compares {a} and {b} more than once: name each pair once")
        return self

    @property
    def comparison_pairs(self) -> tuple[tuple[str, str], ...]:
        """The pairs of arms (a, b) that are compared, as a − b."""
        if self.baseline is None:
            return self.comparisons
        return tuple((arm.name, self.baseline) for arm in self.arms if arm.name != self.baseline)

    def replicates(self, arm: Arm, preset: Preset) -> int:
        """Fresh seeds of an arm's winner under a preset."""
        others = preset.replicates if preset.other_replicates is None else preset.other_replicates
        return preset.replicates if arm.name in chain(*self.comparison_pairs) else others

    def preset(self, name: str) -> Preset:
        """The preset of that name.

        Raises:
            ValueError: there is none; the message lists those there are.
        """
        known = {preset.name: preset for preset in self.presets}
        if name not in known:
            raise ValueError(
                f"unknown preset {name!r}; study {self.name!r} has {', '.join(known)}{did_you_mean(name, known)}"
            )
        return known[name]

    def with_winners(self, selection: SelectionFile) -> Study:
        """This study at the configurations that another study selected.

        Raises:
            ValueError: an arm takes nothing from another study, or finds no winner there.
        """
        if not all(arm.selected_from for arm in self.arms):
            raise ValueError(f"study {self.name!r} does not take its configurations from another: leave out --selected")
        return self.model_copy(update={"arms": tuple(arm.with_winner(selection) for arm in self.arms)})

    def corners(self) -> Iterator[tuple[Arm, Configuration]]:
        """Every arm's configurations, with ranges at their bounds."""
        return ((arm, configuration) for arm in self.arms for configuration in arm.space.corners())
