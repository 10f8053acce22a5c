"""The search of one arm on one split, and proposals.json, which holds what searches have proposed."""

from __future__ import annotations

import tempfile
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from fmim.declare import Arm
from fmim.plan import Plan
from fmim.runner.search.selection import Outcome, score_of, select
from fmim_core.data.bank.bank import Bank
from fmim_core.metric_names import METRICS
from fmim_core.records import Proposal, ProposalsFile, Record, Selection
from fmim_core.trial.spec import TrialSpec
from fmim_spaces.domain import Configuration
from fmim_spaces.searcher import History


def proposals_path(out: Path) -> Path:
    """Return where proposals lie in a study's folder."""
    return out / "proposals.json"


class Proposals:
    """Each arm's configurations in order, by search split, with the results that each was based on.

    Those are its `values`, None for a failed one. They are written before the first of their trials starts, and what is
    written stands: a resumed search continues after it, whatever becomes of the results it was based on.
    """

    def __init__(self, out: Path) -> None:
        self._path = proposals_path(out)
        self._splits = (ProposalsFile.find(self._path) or ProposalsFile()).by_split

    def of(self, arm: str, search_split: int) -> list[Configuration]:
        """Return an arm's configurations so far."""
        return [proposal.configuration for proposal in self._splits.get(search_split, {}).get(arm, [])]

    def add(self, arm: str, search_split: int, configuration: Configuration, values: Sequence[float | None]) -> None:
        """Add one; it counts once `save` has written it."""
        arms = self._splits.setdefault(search_split, {})
        arms.setdefault(arm, []).append(Proposal(configuration=configuration, values=list(values)))

    @property
    def file(self) -> ProposalsFile:
        """Return the content of the file."""
        others = {search_split: arms for search_split, arms in self._splits.items() if search_split}
        return ProposalsFile(arms=self._splits[0], other_splits=others)

    def save(self) -> None:
        """Write the file."""
        self.file.write(self._path)


class ArmSearch:
    """Proposes an arm's configurations and hands out their trials, minus those that have a record.

    `outcomes` are those of the whole study by trial: the final ones from before, and this run's, which the dispatcher
    adds before it calls `finished`. Trials that do not depend on each other come longest first, by the `length` of
    their configuration's first trial; a search that is `ordered` keeps its own order, on which its results depend.
    """

    def __init__(
        self,
        plan: Plan,
        arm: Arm,
        bank: Bank,
        proposals: Proposals,
        outcomes: Mapping[str, Outcome],
        length: Callable[[TrialSpec], int],
        search_split: int = 0,
    ) -> None:
        self.arm, self.search_split = arm, search_split
        self.configurations: list[Configuration] = []
        self.trials: list[list[TrialSpec]] = []  # of each configuration, one a fold
        self._plan, self._bank, self._proposals, self._outcomes = plan, bank, proposals, outcomes
        self._length, self._lengths = length, list[int]()  # of each configuration
        self._queue: deque[TrialSpec] = deque()
        self._due: set[str] = set()  # trials in the queue, and those that run
        self._exhausted = False
        rule, better = arm.searcher.stopping_rule, METRICS[plan.study.metric].higher_is_better
        self._stopping = None if rule is None else rule.start(plan.training_of(arm).validations, better)
        self._reached: Counter[int] = Counter()  # rungs, by configuration
        self.uses_results, self._own_order = arm.searcher.uses_results(arm.space), arm.searcher.ordered(arm.space)
        for configuration in arm.listed or proposals.of(arm.name, search_split):
            self._begin(configuration)
        self._propose()
        if not self._own_order:
            self._queue = deque(sorted(self._queue, key=lambda spec: -self._lengths[spec.number]))

    @property
    def over(self) -> bool:
        """Return whether no trial is left and none can follow."""
        return self._all_proposed and not self._due

    @property
    def ahead(self) -> int | None:
        """The length of its next trial, or of its longest where it keeps its own order, and of a replicate behind it.

        That is as long as its longest configuration so far, which may win. None if there is no trial now.
        """
        if not self._queue:
            return None
        longest = max(self._lengths)
        return longest + (longest if self._own_order else self._lengths[self._queue[0].number])

    def next(self) -> TrialSpec | None:
        """Return the next trial to run; None if there is none now."""
        return self._queue.popleft() if self._queue else None

    def stops(self, spec: TrialSpec, by_epoch: Sequence[float]) -> bool:
        """Tell the stopping rule of the rungs that a trial has reached since it was told last; return what it says.

        Args:
            by_epoch: values of the metric.
        """
        reached = sum(rung <= len(by_epoch) for rung in spec.rungs)
        if self._stopping is None or reached == self._reached[spec.number]:
            return False
        self._reached[spec.number] = reached
        validated = [value for epoch, value in enumerate(by_epoch, start=1) if spec.train.validates(epoch)]
        return self._stopping.stops(spec.number, validated)

    def finished(self, spec: TrialSpec) -> None:
        """Take note that one of its trials is over and has its outcome."""
        self._due.remove(spec.id)
        self._screen(spec)
        self._propose()

    def selection(self) -> Selection:
        """Return the winner, from the trials' outcomes."""
        outcomes = [self._outcomes_of(number) for number in range(len(self.trials))]
        return select(self.configurations, self._plan.preset.folds, outcomes, self._plan.study.metric)

    @property
    def _all_proposed(self) -> bool:
        return self._exhausted or len(self.configurations) >= self.arm.budget

    def _begin(self, configuration: Configuration) -> None:
        """Queue a configuration's trials; the first fold alone where it screens."""
        trials = self._plan.search(self.arm, len(self.trials), configuration, self._bank, self.search_split)
        self.configurations.append(configuration)
        self.trials.append(trials)
        self._lengths.append(self._length(trials[0]))
        screens = self.arm.searcher.screens
        self._queue.extend(self._missing(trials[:1] if screens else trials))
        self._screen(trials[0])

    def _missing(self, trials: Sequence[TrialSpec]) -> list[TrialSpec]:
        missing = [spec for spec in trials if spec.id not in self._outcomes]
        self._due.update(spec.id for spec in missing)
        return missing

    def _screen(self, spec: TrialSpec) -> None:
        """Make the other folds due, and first, if this is the first fold, which screens, and it has come to its end."""
        outcome = self._outcomes.get(spec.id)
        if not self.arm.searcher.screens or spec.fold != 0 or outcome is None:
            return
        self.stops(spec, outcome.by_epoch)
        if outcome.status == "completed":
            self._queue.extendleft(reversed(self._missing(self.trials[spec.number][1:])))

    def _propose(self) -> None:
        """Make all proposals that can be made now; they are on disk before a trial of theirs is handed out."""
        before, better = len(self.configurations), METRICS[self._plan.study.metric].higher_is_better
        draws = self._plan.draws_of(self.arm, self.search_split)
        while not self._all_proposed and (values := self._basis()) is not None:
            history = History(self.arm.space, self.configurations, values, better, draws)
            configuration = self.arm.searcher.propose(history)
            if configuration is None:
                self._exhausted = True
            else:
                self._proposals.add(self.arm.name, self.search_split, configuration, values)
                self._begin(configuration)
        if len(self.configurations) > before:
            self._proposals.save()

    def _basis(self) -> tuple[float | None, ...] | None:
        """Return the results that the next proposal is based on; None while one of them is not there yet."""
        number = len(self.configurations)
        needed = self.arm.searcher.results_needed(number)
        assert 0 <= needed <= number, f"{self.arm.searcher!r} needs {needed} results for proposal {number}"
        if any(spec.id in self._due for trials in self.trials[:needed] for spec in trials):
            return None
        folds, metric = self._plan.preset.folds, self._plan.study.metric
        earlier = enumerate(self.configurations[:needed])
        return tuple(score_of(n, values, folds, self._outcomes_of(n), metric).mean for n, values in earlier)

    def _outcomes_of(self, number: int) -> list[Outcome]:
        return [self._outcomes[spec.id] for spec in self.trials[number] if spec.id in self._outcomes]


def sampled_trials(plan: Plan, records: Iterable[Record]) -> dict[str, Record]:
    """Return the records of trials whose configurations a search of the plan has proposed, by trial."""
    sampled = {arm.name for arm in plan.arms if arm.listed is None}
    return {
        record.trial: record
        for record in (records if sampled else ())
        if record.stage == "search" and record.arm in sampled and record.search_split < plan.search_splits
    }


def proposed_again(plan: Plan, bank: Bank, searched: Mapping[str, Record]) -> ProposalsFile:
    """Search again with the results that there are, in a scratch folder, and return what is proposed.

    A proposal follows from what was proposed before and its results, so that a lost file can be made again.

    Raises:
        ValueError: one of the `sampled_trials` has another configuration than its search proposes from these results.
    """
    outcomes = {trial: Outcome.of(record) for trial, record in searched.items()}
    with tempfile.TemporaryDirectory() as folder:
        proposals = Proposals(Path(folder))
        searches = [
            ArmSearch(plan, arm, bank, proposals, outcomes, lambda spec: 0, split)
            for split in range(plan.search_splits)
            for arm in plan.arms
            if arm.listed is None
        ]
    proposed = {spec.id: spec.configuration for search in searches for trials in search.trials for spec in trials}
    for trial, record in searched.items():
        if record.configuration != proposed.get(trial):
            raise ValueError(f"{trial} has {record.configuration}, the search proposes {proposed.get(trial, 'none')}")
    return proposals.file
