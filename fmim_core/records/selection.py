"""selection.json and proposals.json: what each arm's search proposed and selected, on each split into folds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from pydantic import Field

from fmim_core.records.document import Document, DocumentPart
from fmim_core.records.study import Configuration


class Score(DocumentPart):
    """A configuration's mean validation metric over folds; `excluded` says why it could not be selected."""

    number: int = Field(description="the configuration's number in its arm, from 0")
    configuration: Configuration = Field(description="the values of the arm's parameters")
    mean: float | None = Field(description="mean over folds; null if it could not be selected")
    n: int = Field(description="number of folds with a value")
    of: int = Field(description="number of folds")
    excluded: str | None = Field(description="why it could not be selected; null if it could")


class Selection(DocumentPart):
    """An arm's winner (null if no configuration finished all its folds) and the scores of all configurations."""

    number: int | None = Field(description="the winner's number in its arm, from 0")
    configuration: Configuration | None = Field(description="the winner's values")
    score: float | None = Field(description="the winner's mean over folds")
    metric: str = Field(description="the metric that selects")
    scores: tuple[Score, ...] = Field(description="scores of all configurations, with the winner's")


class FixedSelection(Selection):
    """A selection with the time at which it was first fixed, and those that it replaced."""

    selected_at: str = Field(description="when it was fixed, ISO 8601")
    previous: tuple[FixedSelection, ...] = Field((), description="selections that it replaced, the latest last")


_T = TypeVar("_T")


class BySplit(Document, Generic[_T]):
    """The outcome of each arm's search, on each split into folds."""

    arms: dict[str, _T] = Field({}, description="outcomes by the arm's name")
    other_splits: dict[int, dict[str, _T]] = Field(
        {}, description="outcomes by search split, from 1, and arm; split 0 is the study's own, under `arms`"
    )

    @property
    def by_split(self) -> dict[int, dict[str, _T]]:
        """Those of all search splits, from 0, the study's own."""
        return {0: self.arms, **self.other_splits}


class SelectionFile(BySplit[FixedSelection]):
    """selection.json: by arm."""

    def winner(self, arm: str) -> Mapping[str, Any] | None:
        """Return the configuration selected for an arm; None while none is."""
        return self.arms[arm].configuration if arm in self.arms else None

    def other_winners(self, arm: str, search_splits: int) -> dict[int, Configuration]:
        """Return an arm's winners on other search splits, as far as there are so many, that are not the study's own.

        None before the study's own is fixed. Each is trained once more, with the seed of its split.
        """
        if arm not in self.arms:
            return {}
        own, splits = self.winner(arm), self.other_splits.items()
        found = {split: arms[arm].configuration for split, arms in splits if arm in arms and split < search_splits}
        return {split: one for split, one in found.items() if one is not None and one != own}


class Proposal(DocumentPart):
    """A configuration that a search proposed, and the results that it is based on (null for a failed one)."""

    configuration: Configuration = Field(description="the values of the arm's parameters")
    values: list[float | None] = Field(description="the results that it is based on, in the order of configurations")


class ProposalsFile(BySplit[list[Proposal]]):
    """proposals.json: by arm, in order."""
