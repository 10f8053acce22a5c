"""Proposals whose file is damaged, made again: a proposal follows from what was proposed before and its results."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

from fmim.plan import Plan
from fmim.runner.search.arm_search import ArmSearch
from fmim.runner.search.proposals import Proposals, proposals_path
from fmim.runner.search.selection import Outcome
from fmim_core.data.bank.bank import Bank
from fmim_core.records import ProposalsFile, Record


def proposed_again(plan: Plan, bank: Bank, records: Iterable[Record]) -> ProposalsFile:
    """Search again with the results that there are, in a scratch folder, and return what is proposed.

    Raises:
        ValueError: a record has another configuration than its search proposes from the results that there are now.
    """
    sampled = {arm.name for arm in plan.arms if arm.listed is None}
    searched = {
        record.trial: record
        for record in records
        if record.stage == "search" and record.arm in sampled and record.search_split < plan.search_splits
    }
    outcomes = {trial: Outcome.of(record) for trial, record in searched.items()}
    with tempfile.TemporaryDirectory() as folder:
        proposals = Proposals(Path(folder))
        searches = [
            ArmSearch(plan, arm, bank, proposals, outcomes, lambda spec: 0, split)
            for split in range(plan.search_splits)
            for arm in plan.arms
            if arm.name in sampled
        ]
        path = proposals_path(Path(folder))
        made = ProposalsFile.read(path) if path.exists() else ProposalsFile()
    proposed = {spec.id: spec.configuration for search in searches for trials in search.trials for spec in trials}
    for trial, record in searched.items():
        if record.configuration != proposed.get(trial):
            raise ValueError(f"{trial} has {record.configuration}, proposed would be {proposed.get(trial, 'nothing')}")
    return made
