"""Proposals whose file is damaged, made again: a proposal follows from what was proposed before and its results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from fmim.declare import Arm
from fmim.plan import Plan
from fmim.runner.search.selection import Outcome, score
from fmim_core.metric_names import METRICS
from fmim_core.records import Proposal, ProposalsFile, Record
from fmim_spaces.domain import Configuration
from fmim_spaces.searcher import History


def proposed_again(plan: Plan, records: Iterable[Record]) -> ProposalsFile:
    """The proposals of all searches, as far as there are records of them.

    Raises:
        ValueError: a record has another configuration than its search proposes from the results that there are now.
    """
    of_searches: dict[tuple[int, str], dict[int, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        if record.stage == "search":
            of_searches[record.search_split, record.arm][_number(record)].append(record)
    by_split = {
        split: {arm.name: _of_search(plan, arm, split, of_searches[split, arm.name]) for arm in plan.arms}
        for split in range(plan.search_splits)
    }
    found = {split: {arm: some for arm, some in arms.items() if some} for split, arms in by_split.items()}
    return ProposalsFile(arms=found.pop(0), other_splits=found)


def _number(record: Record) -> int:
    """The number of a record's configuration in its arm, which its name has."""
    return int(record.trial.removeprefix(f"{record.arm}.c").partition(".")[0])


def _of_search(plan: Plan, arm: Arm, split: int, records: dict[int, list[Record]]) -> list[Proposal]:
    """One search's proposals up to the last that has a record; none where all are listed beforehand."""
    if arm.listed is not None or not records:
        return []
    draws, better = plan.draws_of(arm, split), METRICS[plan.study.metric].higher_is_better
    proposals, configurations = list[Proposal](), list[Configuration]()
    for number in range(max(records) + 1):
        needed = range(arm.searcher.results_needed(number))
        values = [_value(plan, earlier, configurations[earlier], records.get(earlier, [])) for earlier in needed]
        configuration = arm.searcher.propose(History(arm.space, configurations, values, better, draws))
        for record in records.get(number, []):
            if record.configuration != configuration:
                raise ValueError(f"{record.trial} has {record.configuration}, proposed would be {configuration}")
        if configuration is None:
            raise ValueError(f"the search of {arm.name} proposes only {number} configurations now")
        proposals.append(Proposal(configuration=configuration, values=values))
        configurations.append(configuration)
    return proposals


def _value(plan: Plan, number: int, configuration: Configuration, records: Iterable[Record]) -> float | None:
    outcomes = [Outcome.of(record) for record in records]
    return score(number, configuration, plan.preset.folds, outcomes, plan.study.metric).mean
