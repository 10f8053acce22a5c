"""proposals.json: the configurations that searches have proposed, written before the first of their trials starts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fmim_core.records import Proposal, ProposalsFile
from fmim_spaces.domain import Configuration


def proposals_path(out: Path) -> Path:
    """Return where proposals lie in a study's folder."""
    return out / "proposals.json"


class Proposals:
    """Each arm's configurations in order, by search split, with the results that each was based on.

    Those are its `values`, None for a failed one. What is written stands: a resumed search continues after it, whatever
    becomes of the results it was based on.
    """

    def __init__(self, out: Path) -> None:
        self._path = proposals_path(out)
        self._splits = (ProposalsFile.read(self._path) if self._path.exists() else ProposalsFile()).by_split

    def of(self, arm: str, search_split: int) -> list[Configuration]:
        """Return an arm's configurations so far."""
        return [proposal.configuration for proposal in self._splits.get(search_split, {}).get(arm, [])]

    def add(self, arm: str, search_split: int, configuration: Configuration, values: Sequence[float | None]) -> None:
        """Add one; it counts once `save` has written it."""
        arms = self._splits.setdefault(search_split, {})
        arms.setdefault(arm, []).append(Proposal(configuration=configuration, values=list(values)))

    def save(self) -> None:
        """Write the file."""
        others = {search_split: arms for search_split, arms in self._splits.items() if search_split}
        ProposalsFile(arms=self._splits[0], other_splits=others).write(self._path)
