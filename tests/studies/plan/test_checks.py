"""What stops a plan before it starts: a data set too small for it, and epochs that nothing validates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fmim import catalogue
from fmim.declare.study import with_changes
from fmim.plan import Plan
from fmim.plan.checks import check_subject_counts, check_trainings, fewest_subjects
from fmim.plan.workload import Workload
from fmim_core.data.bank.bank import Bank
from fmim_core.data.image_set import ImageSet
from tests.support.mini_study import MINI, MINI_STUDY, ensemble_plan, mini_plan


def images(longitudinal: int, single: int = 0) -> ImageSet:
    """Subjects with images at months 0 and 12, and subjects with one at month 0."""
    subjects = [f"s{n}" for n in range(longitudinal) for _ in range(2)] + [f"t{n}" for n in range(single)]
    months = [0.0, 12.0] * longitudinal + [0.0] * single
    index = pd.DataFrame({"row": range(len(subjects)), "subject": subjects, "side": "", "months": months})
    return ImageSet.of(index, np.empty((0, 8, 8), np.uint8))


def plan(preset: str, study: str = "automargin_vs_grid") -> Plan:
    found = catalogue.find(study)
    return Plan(found, found.preset(preset), 0, 1)


@pytest.mark.parametrize(
    ("preset", "longitudinal", "single", "message"),
    [
        (
            "smoke",
            6,
            0,
            r"each batch needs 8.*\n.* has 6 subjects, 6 of them with .* has 2 folds\. .* smoke needs 16, 2 of",
        ),
        ("smoke", 1, 40, r"only 1 of 41.*\n.* has 41 subjects, 1 of them with .* too few for every preset.* 2 of them"),
        ("full", 16, 0, r"each batch needs 32.*\n.* has 16 subjects, .*They are enough for preset smoke\.$"),
        (
            "paper",
            4,
            60,
            r"5 folds need .* only 4 of 64 .*\n.* has 64 subjects, 4 of them with .*for preset smoke, quick\.$",
        ),
    ],
)
def test_too_few_are_told_with_what_to_do(preset: str, longitudinal: int, single: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_subject_counts(plan(preset), images(longitudinal, single))


@pytest.mark.parametrize("preset", ["smoke", "quick", "full"])
@pytest.mark.parametrize("study", ["automargin_vs_grid", "baselines"])
def test_the_number_that_is_named_is_enough_and_no_less_is(preset: str, study: str) -> None:
    planned = plan(preset, study)
    needed = fewest_subjects(planned)
    check_subject_counts(planned, images(needed))
    with pytest.raises(ValueError, match="each batch needs"):
        check_subject_counts(planned, images(needed - 1))


def test_a_best_epoch_is_refused_where_nothing_validates(tiny_bank: Bank) -> None:
    plan = mini_plan()
    kept = MINI.model_copy(update={"settings": (*MINI.settings, ("keep", "best"))})
    with pytest.raises(ValueError, match="keeps the best validation epoch, but preset mini retrains on"):
        check_trainings(replace(plan, preset=kept), tiny_bank.development())
    for allowed in (ensemble_plan(replace(plan, preset=kept)), replace(plan, preset=kept, replicates=0)):
        assert len(check_trainings(allowed, tiny_bank.development())) == 2


def test_the_folds_of_an_ensemble_are_checked_without_a_search(tiny_bank: Bank) -> None:
    arms = MINI_STUDY.arms[:1]
    study = MINI_STUDY.model_copy(update={"search": False, "arms": arms})
    crowded = MINI.model_copy(update={"settings": (*MINI.settings, ("batches.subjects_per_batch", 8))})
    retrained = replace(mini_plan(), study=study, preset=crowded)
    assert check_trainings(retrained, tiny_bank.development()) == []
    with pytest.raises(ValueError, match="subjects"):
        check_trainings(ensemble_plan(retrained), tiny_bank.development())


@pytest.mark.parametrize(("study", "trained"), [("baselines", 7 * 5 * 5), ("lambda_sweep", 4 * 5 + 4 * 5 * 5)])
def test_the_folds_of_tested_models_are_no_search(study: str, trained: int) -> None:
    """In the preset `paper` a seed trains a model for each of five folds, for 100 epochs each."""
    planned = replace(plan("paper", study), replicates=None)
    work = Workload(planned, images(200)).total
    assert (work.trials, work.epochs) == (planned.trials, trained * 100)


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        ([("lr_schedule.kind", "constant"), ("lr_schedule.warmup_start", 0.1)], "lr_schedule.warmup_start = 0.1"),
        ([("loss_lr_factor", 3.0)], "loss_lr_factor = 3"),
    ],
)
def test_a_setting_without_effect_in_any_training_is_refused(
    changes: list[tuple[str, object]], refused: str, tiny_bank: Bank
) -> None:
    planned = mini_plan()
    useless = replace(planned, preset=with_changes(planned.preset, changes))
    with pytest.raises(ValueError, match=refused):
        check_trainings(useless, tiny_bank.development())
