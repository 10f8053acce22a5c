"""The dispatcher hands out trials in a good order, whoever runs them, and fixes each arm's winner on the way."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from fmim.declare import Arm
from fmim.plan import Plan
from fmim.plan.workload import Workload
from fmim.runner.backends.backend import TrialObserver
from fmim.runner.reuse.shared_records import SharedRecords
from fmim.runner.search.arm_search import ArmSearch, Proposals
from fmim.runner.search.selection import Outcome, given
from fmim_core.data.bank.bank import Bank
from fmim_core.records import EpochRow, FixedSelection, Record, Selection, SelectionFile, now
from fmim_core.trial.spec import TrialSpec

Search = tuple[int, str]
"""One of the searches: the split into folds that it is on, and the arm."""


class Dispatcher:
    """Hands out the plan minus the records that are there, of all arms at once, so that no slot waits for an arm.

    First come the replicates of arms whose winner is known, then the trials of searches that wait for their own
    results, then those of the others. Among each, the longest come first (`Workload.length`), a search's with the
    longest replicate that may follow them (`ArmSearch.ahead`): what is long and begins last keeps one slot busy while
    the others have nothing left to do. Among equals, arms with the most configurations come first, then the study's
    order. So the next of the trials that are due depends on which these are alone, and is the same in a run that was
    interrupted. No result depends on it: a trial's follows from its own seed, and searches that depend on the order of
    their trials keep it. The searches on other splits go along with the study's own, which comes first among equals. A
    winner is written to selection.json before its first replicate is handed out, and so before the test set is opened;
    that of another split likewise, before the trial that ends it. References read the test set, too: they come last,
    once every search of every arm is over. A trial whose turn comes is not handed out where `shared` has the record of
    an equal one, or waits for it.

    Args:
        done: outcomes of the trials that have a record.
        selected: is told the number of each arm's winner in its space, as soon as it is known.
        shared: the records that trials may take from equal ones; by default, none.
    """

    def __init__(
        self,
        plan: Plan,
        bank: Bank,
        out: Path,
        done: Mapping[str, Outcome],
        observers: Iterable[TrialObserver] = (),
        selected: Callable[[str, int], None] = lambda arm, number: None,
        shared: SharedRecords | None = None,
    ) -> None:
        self._plan, self._bank, self._path = plan, bank, out / "selection.json"
        self._observers, self._selected, self._shared = list(observers), selected, shared or SharedRecords(out)
        self._outcomes = {trial: outcome for trial, outcome in done.items() if outcome.final}
        self._workload, self._test_images = Workload(plan, bank.development()), int(bank.summary["test"]["images"])
        self._ready: list[tuple[int, int, int, str, TrialSpec]] = []  # a heap: the longest, arm's rank, replicate
        self._queued: set[str] = set()  # replicates and references that have been in it
        self._selections: dict[Search, FixedSelection] = {}
        self._before = SelectionFile.find(self._path) or SelectionFile()
        self.handed_out = 0
        proposals = Proposals(out)
        order = sorted(plan.arms, key=lambda arm: -arm.budget)
        self._rank = {arm.name: rank for rank, arm in enumerate(order)}
        self._searches: dict[Search, ArmSearch] = {
            (split, arm.name): ArmSearch(plan, arm, bank, proposals, self._outcomes, self._length, split)
            for split in range(plan.search_splits)
            for arm in (order if plan.study.search else ())
        }
        for split in range(plan.search_splits):
            for arm in plan.arms:
                self._select_if_searched(arm, split)

    @property
    def exhausted(self) -> bool:
        """Return whether no trial is left and none can follow."""
        return not (self._ready or self._shared.waiting) and all(search.over for search in self._searches.values())

    @property
    def complete(self) -> bool:
        """Return whether every arm has a winner, on every split, and every trial a final record."""
        final = all(outcome.final for outcome in self._outcomes.values())
        winners = [selection.number for selection in self._selections.values()]
        return final and self.exhausted and self._all_selected and None not in winners

    @property
    def _all_selected(self) -> bool:
        return len(self._selections) == len(self._plan.arms) * self._plan.search_splits

    def next(self) -> TrialSpec | None:
        """Return the next trial to run; None if there is none now, though more may follow when running ones end."""
        while (spec := self._shared.next_released() or self._next_due() or self._shared.next_forsaken()) is not None:
            record = self._shared.take_over(spec)
            if record is not None:
                self._over(spec, record)
            elif not self._shared.holds_back(spec):
                self.handed_out += 1
                return spec
        return None

    def _next_due(self) -> TrialSpec | None:
        if self._ready:
            return heapq.heappop(self._ready)[-1]
        due = [(s.uses_results, ahead, s) for s in self._searches.values() if (ahead := s.ahead) is not None]
        return max(due, key=lambda entry: entry[:2])[-1].next() if due else None  # the first of equals, by rank

    def started(self, spec: TrialSpec) -> None:
        """Take note that a trial begins."""
        for observer in self._observers:
            observer.started(spec)

    def epoch(self, spec: TrialSpec, row: EpochRow) -> None:
        """Take note of an epoch that a trial has run."""
        for observer in self._observers:
            observer.epoch(spec, row)

    def goes_on(self, spec: TrialSpec, history: Sequence[EpochRow]) -> bool:
        """Say whether a trial with rungs goes on; asked after each of its epochs."""
        by_epoch = [row.number("validation_mAP") for row in history]
        return not self._searches[spec.search_split, spec.arm].stops(spec, by_epoch)

    def finished(self, spec: TrialSpec, record: Record) -> None:
        """Take note that a trial is over, whatever its status."""
        self._shared.add(spec, record)
        self._over(spec, record)
        self._shared.release(spec)

    def _over(self, spec: TrialSpec, record: Record) -> None:
        self._outcomes[spec.id] = Outcome.of(record)
        for observer in self._observers:
            observer.finished(spec, record)
        if spec.stage == "search":
            search = self._searches[spec.search_split, spec.arm]
            search.finished(spec)
            self._select_if_searched(search.arm, spec.search_split)

    def _select_if_searched(self, arm: Arm, split: int) -> None:
        search = self._searches.get((split, arm.name))
        if search is not None and not search.over:
            return
        selection = search.selection() if search else given(next(arm.space.configurations()), self._plan.study.metric)
        self._fix((split, arm.name), selection)
        if not split and selection.number is not None:
            self._selected(arm.name, selection.number)
        for spec in self._replicates(arm):
            self._queue(spec, self._length(spec), self._rank[arm.name])
        if self._all_selected:
            for rank, planned in enumerate(self._plan.references):
                for spec in self._plan.reference(planned, self._bank):
                    self._queue(spec, 0, rank)  # it trains nothing, so that it is shorter than any replicate

    def _fix(self, search: Search, selection: Selection) -> None:
        """Write a winner; it keeps the time at which it was first fixed, and one that it replaces stays in sight."""
        written = {(split, arm): one for split, arms in self._before.by_split.items() for arm, one in arms.items()}
        before, selected_at, previous = written.get(search), now(), tuple[FixedSelection, ...]()
        if before is not None and before.configuration == selection.configuration:
            selected_at, previous = before.selected_at, before.previous
        elif before is not None:
            previous = (*before.previous, before.model_copy(update={"previous": ()}))
        self._selections[search] = FixedSelection(**dict(selection), selected_at=selected_at, previous=previous)
        unplanned = {one: written[one] for one in written if one[0] >= self._plan.search_splits}
        by_split: dict[int, dict[str, FixedSelection]] = {0: {}}
        for (split, arm), one in (self._selections | unplanned).items():
            by_split.setdefault(split, {})[arm] = one
        SelectionFile(arms=by_split.pop(0), other_splits=by_split).write(self._path)

    def _replicates(self, arm: Arm) -> Iterator[TrialSpec]:
        """Yield those of an arm's winner, once it is known, and of other splits' winners, where they are others.

        Along with the winner's replicates come its variations.
        """
        own = self._selections.get((0, arm.name))
        for split in range(self._plan.search_splits if own else 0):
            one = self._selections.get((split, arm.name))
            if one is None or one.number is None or one.configuration is None:
                continue
            if split == 0:
                yield from self._plan.vary(arm, one.number, one.configuration, self._bank)
            if split == 0 or own is None or one.configuration != own.configuration:
                yield from self._plan.replicate(arm, one.number, one.configuration, self._bank, split)

    def _queue(self, spec: TrialSpec, length: int, rank: int) -> None:
        if spec.id not in self._outcomes and spec.id not in self._queued:
            self._queued.add(spec.id)
            heapq.heappush(self._ready, (-length, rank, spec.replicate, spec.id, spec))

    def _length(self, spec: TrialSpec) -> int:
        return self._workload.length(spec.train, spec.fold, self._test_images, spec.search_split)
