"""What a search has proposed."""

from __future__ import annotations

from pathlib import Path

from fmim_core.records import Proposal, ProposalsFile


def proposals(out: Path) -> dict[str, list[Proposal]]:
    """By the name of the arm, in the order of their numbers."""
    return ProposalsFile.read(out / "proposals.json").arms
