"""Which trial a free worker takes, by Tune's own controller, and how long a worker may take to start."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from ray import tune
from ray.tune.execution.tune_controller import TuneController
from ray.tune.experiment import Trial as RayTrial

from fmim.runner.backends.ray_driver import WORKER_S, InTurn, StudyTrainable, worker_s
from fmim_core.machine import cores


class Actor(Mock):
    """A worker that is no process."""

    __ray_ready__ = Mock()


class Workers:
    """A controller with five trials: the workers of three start, and those of two wait for their resources."""

    def __init__(self, folder: Path) -> None:
        tune.register_trainable("study", StudyTrainable)
        places = ("experiment_driver_staging_path", "trial_driver_staging_path", "trial_working_directory")
        storage, one = Mock(**dict.fromkeys(places, str(folder))), tune.PlacementGroupFactory([{"CPU": 1.0}])
        self.controller = TuneController(
            scheduler=InTurn(), storage=storage, reuse_actors=True, resource_manager_factory=Mock
        )
        self.trials = [RayTrial("study", storage=storage, placement_group_factory=one) for _ in range(5)]
        for trial in self.trials:
            self.controller.add_trial(trial)
        self.controller._maybe_add_actors()
        self.own = [self.controller._trial_to_actor[trial] for trial in self.trials]
        manager = self.controller._actor_manager
        resources: Any = manager._resource_manager
        resources.has_resources_ready.side_effect = [True, True, True, False]
        resources.acquire_resources.return_value.annotate_remote_entities = lambda classes: [Actor()]
        manager._try_start_actors()

    def up(self, trial: int) -> None:
        """The trial's worker is there, and trains it."""
        self.controller._actor_started(self.own[trial])

    def over(self, trial: int) -> int:
        """The trial is over; return the one that its worker takes."""
        self.controller._schedule_trial_stop(self.trials[trial])
        self.controller._maybe_add_actors()
        (taken,) = self.controller._resetting_trials
        self.controller._on_trial_reset(taken, success=True)
        return self.trials.index(taken)

    @property
    def kept(self) -> list[int]:
        """The trials that have the worker that was asked for on their behalf."""
        now = [self.controller._trial_to_actor.get(trial) for trial in self.trials]
        return [number for number, own in enumerate(self.own) if now[number] is own]


def test_a_free_worker_takes_the_first_trial_whose_own_does_not_start_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TUNE_MAX_PENDING_TRIALS_PG", "5")
    workers = Workers(tmp_path)
    workers.up(0)
    assert workers.over(0) == 3  # Tune by itself takes 1, and stops the worker that starts for it
    assert workers.kept == [1, 2, 4]
    workers.up(2)
    assert workers.over(2) == 4
    assert workers.kept == [1]
    assert workers.over(3) == 1  # nothing else is left


@pytest.mark.parametrize(("load", "times"), [(0.5, 1), (3, 3), (50, 10)])
def test_a_worker_may_take_longer_where_others_use_the_cores(
    load: float, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (load * cores(), 0.0, 0.0))
    assert worker_s() == times * WORKER_S
