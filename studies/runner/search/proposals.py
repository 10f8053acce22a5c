"""proposals.json: the configurations that searches have proposed, written before the first of their trials starts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fmim_core.records import Proposal, ProposalsFile
from search_spaces.domain import Configuration


class Proposals:
    """Each arm's configurations in order, with the results that each was based on (`values`, None for a failed one).

    What is written stands: a resumed search continues after it, whatever becomes of the results it was based on.
    """

    def __init__(self, out: Path) -> None:
        self._path = out / "proposals.json"
        self._arms = ProposalsFile.read(self._path).arms if self._path.exists() else {}

    def of(self, arm: str) -> list[Configuration]:
        """An arm's configurations so far."""
        return [proposal.configuration for proposal in self._arms.get(arm, [])]

    def add(self, arm: str, configuration: Configuration, values: Sequence[float | None]) -> None:
        """Add one; it counts once `save` has written it."""
        self._arms.setdefault(arm, []).append(Proposal(configuration=configuration, values=list(values)))

    def save(self) -> None:
        """Write the file."""
        ProposalsFile(arms=self._arms).write(self._path)
