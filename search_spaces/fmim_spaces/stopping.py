"""A rule that stops trials early: an abstract base as frozen data, and its state over the trials of an arm."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from fmim_core.config import Config


class StoppingState(ABC):
    """Everything that a rule has seen of the trials of one arm; made by `StoppingRule.start`."""

    @abstractmethod
    def stops(self, number: int, values: Sequence[float]) -> bool:
        """Return whether the trial of configuration `number` ends here.

        It is called once at each of the rule's points, in the order in which parallel trials reach them. A trial that
        was resumed from a checkpoint may have passed several of them since, and one of an earlier run that is over may
        have passed all: then it is called once, and what it answers for a trial that is over does not count.

        Args:
            values: the study's metric on the validation fold at each validation so far; not-a-number where undefined.
        """


class StoppingRule(Config, ABC):
    """A rule that stops trials of a search's first fold; surviving configurations are trained on the other folds.

    A rule counts validations, which follow every `TrainConfig.validate_every` epochs.
    """

    @abstractmethod
    def stopping_points(self, validations: int) -> tuple[int, ...]:
        """Return after which of so many validations a trial may be stopped, in rising order; never the last."""

    @abstractmethod
    def start(self, validations: int, higher_is_better: bool) -> StoppingState:
        """Return the state for the trials of one arm, each validated so often; higher may be better or not."""

    def outlook(self, validations: int, folds: int) -> str:
        """Return what `fmim plan` says of a search by this rule, if there is something to expect."""
        return ""
