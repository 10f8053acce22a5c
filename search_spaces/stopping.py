"""What a rule that stops trials early is: an abstract base as frozen data, and its state over the trials of an arm."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from search_spaces.domain import Frozen


class StoppingState(ABC):
    """What a rule has seen of the trials of one arm; made by `StoppingRule.start`."""

    @abstractmethod
    def stops(self, number: int, values: Sequence[float]) -> bool:
        """Whether the trial of configuration `number` ends here.

        It is called once after each of the rule's epochs, in the order in which parallel trials reach them. A trial
        that was resumed from a checkpoint may have passed several of them since, and one of an earlier run that is over
        may have passed all: then it is called once, and what it answers for a trial that is over does not count.

        Args:
            values: the study's metric on the validation fold after each epoch so far; not-a-number where undefined.
        """


class StoppingRule(Frozen, ABC):
    """When trials of a search's first fold are stopped; what survives is trained on the other folds."""

    @abstractmethod
    def stopping_epochs(self, epochs: int) -> tuple[int, ...]:
        """After which of so many epochs a trial may be stopped, in rising order; the last of all is none of them."""

    @abstractmethod
    def start(self, epochs: int, higher_is_better: bool) -> StoppingState:
        """The state for the trials of one arm, each of so many epochs, by a metric of which higher is better or not."""

    def outlook(self, configurations: int, epochs: int, folds: int) -> str:
        """What `fmim plan` says of a search of so many configurations, if there is something to expect."""
        return ""
