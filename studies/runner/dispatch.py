"""The dispatcher hands out trials in a good order, whoever runs them, and fixes each arm's winner on the way."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from fmim_core.data.bank import Bank
from fmim_core.records import FINAL, Record, now, read_json, write_json
from fmim_core.trainer import Row
from fmim_core.trial import TrialSpec
from studies.declare import Arm
from studies.plan import Plan
from studies.selection import Selection, given, select


class Observer(Protocol):
    """Someone who watches trials: the progress display, the tracker."""

    def started(self, spec: TrialSpec) -> None:
        """A trial begins."""

    def epoch(self, spec: TrialSpec, row: Row) -> None:
        """A trial has run an epoch."""

    def finished(self, spec: TrialSpec, record: Record) -> None:
        """A trial is over, whatever its status."""


class Dispatcher:
    """Hands out the plan minus the records that are there.

    Arms with the most search trials come first, since they take longest; an arm's replicates go before other arms'
    search trials as soon as its winner is known, so no slot waits for a stage to end. A winner is written to
    selection.json before its first replicate is handed out, and so before the test set is opened.
    """

    def __init__(
        self, plan: Plan, bank: Bank, out: Path, records: Mapping[str, Record], observers: Iterable[Observer] = ()
    ) -> None:
        self._plan, self._bank, self._out = plan, bank, out
        self._observers = list(observers)
        self._records = {trial: record for trial, record in records.items() if record["status"] in FINAL}
        self._searching: dict[str, set[str]] = {}
        self._ready: deque[TrialSpec] = deque()
        self._queue: deque[TrialSpec] = deque()
        self.selections: dict[str, Selection] = {}
        path = out / "selection.json"
        self._before: dict[str, Any] = read_json(path) if path.exists() else {}
        self.handed_out = 0
        for arm in sorted(plan.arms, key=lambda arm: -arm.space.size):
            trials = plan.search(arm, bank)
            missing = [spec for spec in trials if spec.id not in self._records]
            self._searching[arm.name] = {spec.id for spec in missing}
            self._queue.extend(missing)
        for arm in plan.arms:
            self._select_if_searched(arm)

    def next(self) -> TrialSpec | None:
        """The next trial to run; None if there is none now, though more may follow when running ones end."""
        queue = self._ready or self._queue
        if not queue:
            return None
        self.handed_out += 1
        return queue.popleft()

    @property
    def exhausted(self) -> bool:
        """Whether no trial is left and none can follow."""
        return not self._ready and not self._queue and not any(self._searching.values())

    @property
    def complete(self) -> bool:
        """Whether every arm has a winner and every trial a final record."""
        final = all(record["status"] in FINAL for record in self._records.values())
        winners = [self.selections[arm.name].number for arm in self._plan.arms if arm.name in self.selections]
        return final and self.exhausted and len(winners) == len(self._plan.arms) and None not in winners

    def started(self, spec: TrialSpec) -> None:
        """To be called when a trial begins."""
        for observer in self._observers:
            observer.started(spec)

    def epoch(self, spec: TrialSpec, row: Row) -> None:
        """To be called with each epoch's row."""
        for observer in self._observers:
            observer.epoch(spec, row)

    def finished(self, spec: TrialSpec, record: Record) -> None:
        """To be called with a trial's record, whatever its status."""
        self._records[spec.id] = record
        for observer in self._observers:
            observer.finished(spec, record)
        if spec.stage == "search":
            self._searching[spec.arm].discard(spec.id)
            self._select_if_searched(next(arm for arm in self._plan.arms if arm.name == spec.arm))

    def _select_if_searched(self, arm: Arm) -> None:
        if self._searching[arm.name]:
            return
        selection = self._selection(arm)
        self.selections[arm.name] = selection
        self._write_selections()
        if selection.number is not None:
            replicates = self._plan.replicate(arm, selection.number, self._bank)
            self._ready.extend(spec for spec in replicates if spec.id not in self._records)

    def _selection(self, arm: Arm) -> Selection:
        configurations, metric = list(arm.space.configurations()), self._plan.study.metric
        if not self._plan.study.search:
            return given(configurations[0], metric)
        records = [self._records[spec.id] for spec in self._plan.search(arm, self._bank)]
        return select(configurations, self._plan.preset.folds, records, metric)

    def _write_selections(self) -> None:
        """A winner keeps the time at which it was first fixed; one that replaces another keeps that one in sight."""
        content: dict[str, Any] = {}
        for name, selection in self.selections.items():
            before = self._before.get(name)
            entry = selection.to_json() | {"selected_at": now(), "previous": []}
            if before is not None and before["configuration"] == selection.configuration:
                entry |= {key: before[key] for key in ("selected_at", "previous")}
            elif before is not None:
                entry["previous"] = [*before.pop("previous"), before]
            content[name] = entry
        write_json(self._out / "selection.json", content)
        self._before |= content
