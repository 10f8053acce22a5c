"""Checks of a plan that decode no image."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fmim.data.sources import find_data_set
from fmim.own.study_file import located
from fmim.plan import Plan
from fmim.plan.checks import check_trainings, data_warnings, fold_warnings
from fmim.runner.setup import Setup
from fmim_core.data.bank.building import development_index
from fmim_core.data.image_set import ImageSet
from fmim_core.data.source import Source
from fmim_core.records import FoldEntry


@dataclass(frozen=True)
class CheckedPlan:
    """A plan that can run: its data set, the development images' index, and the sizes of the folds."""

    plan: Plan
    source: Source
    development: ImageSet
    folds: list[FoldEntry]

    @property
    def warnings(self) -> list[str]:
        """Oddities of the data that one should know of."""
        return data_warnings(self.source.description) + fold_warnings(self.folds, self.development.interval)


def check_plan(plan: Plan, setup: Setup) -> CheckedPlan:
    """Check the data set, its subjects, and one batch of every training.

    Raises:
        ValueError: whatever would stop a trial.
    """
    source = find_data_set(setup.data, setup.data_root, plan.preset, plan.seed).source()
    plan = replace(plan, data_settings=tuple(source.description.settings.items()))
    development = development_index(source, plan.preset.image_size)
    with located(setup.code):
        return CheckedPlan(plan, source, development, check_trainings(plan, development))
