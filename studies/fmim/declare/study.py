"""A question with its arms and presets, as data that prints, hashes and pickles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Annotated, Self

from pydantic import Field, model_validator

from fmim.declare.arm import Arm
from fmim.declare.presets import Preset, find_preset
from fmim.declare.surface import Surface
from fmim_core.config import Config
from fmim_core.metric_names import METRICS
from fmim_core.records import Code, Name, SelectionFile
from fmim_spaces.domain import Configuration

EPOCH_METRICS = ("mAP",)
"""Of validation, what is known during a training; the others are evaluated at its end."""


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
        """Count the fresh seeds of an arm's winner under a preset."""
        others = preset.replicates if preset.other_replicates is None else preset.other_replicates
        return preset.replicates if arm.name in chain(*self.comparison_pairs) else others

    def preset(self, name: str) -> Preset:
        """Return the preset of that name.

        Raises:
            ValueError: there is none; the message lists those there are.
        """
        return find_preset(name, self.presets, f"study {self.name!r} has")

    def with_winners(self, selection: SelectionFile) -> Study:
        """Return this study at the configurations that another study selected.

        Raises:
            ValueError: an arm takes nothing from another study, or finds no winner there.
        """
        if not all(arm.selected_from for arm in self.arms):
            raise ValueError(f"study {self.name!r} does not take its configurations from another: leave out --selected")
        return self.model_copy(update={"arms": tuple(arm.with_winner(selection) for arm in self.arms)})

    def corners(self) -> Iterator[tuple[Arm, Configuration]]:
        """Yield every arm's configurations, with ranges at their bounds."""
        return ((arm, configuration) for arm in self.arms for configuration in arm.space.corners())
