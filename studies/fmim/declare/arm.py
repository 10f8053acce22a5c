"""One named method with its search space, as data that prints, hashes and pickles."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import BeforeValidator, InstanceOf, SerializeAsAny, ValidationError, model_validator

from fmim.declare.presets import Preset, Settings, Variation
from fmim_core.config import Config, InvalidConfig
from fmim_core.records import ArmEntry, Name, SearcherFacts, SelectionFile, VariationEntry
from fmim_spaces.domain import Assignment, Choice, Configuration, Space, nested
from fmim_spaces.searcher import Searcher
from fmim_spaces.searchers import Grid

if TYPE_CHECKING:
    from fmim_core.training.config import TrainConfig


class Arm(Config):
    """One named method with its search space.

    Args:
        settings: training fields that make the method, dotted, e.g. ("loss.kind", "triplet"), or nested, e.g.
            {"loss": {"kind": "triplet"}}. Without a loss the arm is trained by the study's own trainer, whose settings
            are e.g. ("trainer.lr", 0.1).
        search: how its values are set, in words, e.g. "Grid search"; may be left out.
        group: what it shares with related arms, in words; by default the name of its loss.
            Group and search together are the arm's label, which is only for display.
        space: the fields its search varies.
        searcher: how they are searched; by default every configuration of the space.
        selected_from: the arm of another study whose winner can replace the values given here (`--selected`).
    """

    name: Name
    settings: Settings = ()
    search: Annotated[str, BeforeValidator(lambda words: words or "")] = ""
    group: str = ""
    space: Space = Space()
    searcher: SerializeAsAny[InstanceOf[Searcher]] = Grid()
    selected_from: str = ""

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

    def entry(self, replicates: int, variations: Iterable[Variation] = ()) -> ArmEntry:
        """Return the arm, with so many fresh seeds, as study.json holds it.

        Configurations that are not listed here are in proposals.json.
        """
        from fmim_core.margins.base import MARGINS

        return ArmEntry(
            name=self.name,
            label=self.label,
            loss=self.loss,
            loss_kind=self.loss_kind,
            trainer=self.trainer or None,
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
            variations=[VariationEntry(name=one.name, setting=one.setting, factor=one.factor) for one in variations],
        )

    def with_winner(self, selection: SelectionFile) -> Arm:
        """Return this arm at the configuration that another study selected for its arm `selected_from`.

        Raises:
            ValueError: that arm is not there, has no winner, or lacks one of this arm's parameters.
        """
        winner = selection.winner(self.selected_from)
        names = list(self.space.values())
        if winner is None or set(names) - set(winner):
            raise ValueError(
                f"arm {self.name!r} takes {', '.join(names)} from the winner of {self.selected_from!r}, but the "
                f"selection has {dict(winner) if winner else 'no winner'} for it; it has {', '.join(selection.arms)}"
            )
        choices = tuple(
            Choice(path=each.path, called=each.called, values=(winner[each.name],)) for each in self.space.parameters
        )
        return self.model_copy(update={"space": Space(choices=choices), "searcher": Grid()})

    @property
    def loss_kind(self) -> str:
        """Its loss, as configurations name it; or the study's own trainer; blank where it names neither."""
        return self.trainer or str(dict(self.settings).get("loss.kind", ""))

    @property
    def trainer(self) -> str:
        """The study's own trainer, as configurations name it; blank where this package trains it."""
        return str(dict(self.settings).get("trainer.kind", ""))

    def has(self, path: str) -> bool:
        """Return whether its trainings have this dotted field, besides the fields that the arm sets."""
        from fmim_core.training.config import SHARED

        head = path.partition(".")[0]
        return head in SHARED or path == "model.channels" if self.trainer else head != "trainer"

    @property
    def margins_kind(self) -> str:
        """Its margin schedule, as configurations name it; `none` for a loss that has no margins."""
        return str(dict(self.settings).get("margins.kind", "none"))

    @property
    def loss(self) -> str:
        """Its loss in words: the name of the loss's class, or its name in the library.

        Raises:
            ValueError: there is no loss of that kind.
        """
        from fmim_core.losses.base import LOSSES

        return self.trainer or LOSSES.find(self.loss_kind).called(dict(self.settings))

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
        varied: Iterable[Assignment] = (),
    ) -> TrainConfig:
        """Return the training of one configuration under a preset, on images that bring their own settings.

        `varied` settings override all others.

        Raises:
            InvalidConfig: a field that does not exist, or a value that it does not allow.
        """
        from fmim_core.training.config import TrainConfig

        settings = [one for one in (*data_settings, *preset.settings) if self.has(one[0])]
        settings += [("augmentation.crop", preset.image_size)] if self.trainer else []
        settings += [*self.settings, *self.space.assignments(configuration), *varied]
        try:
            return TrainConfig.model_validate(nested(settings))
        except ValidationError as error:
            raise InvalidConfig("arm", self.name, error) from error
