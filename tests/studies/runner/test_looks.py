"""`--until-decided`: compared arms get seeds in blocks until their comparison is decided."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fmim.commands.options import Options
from fmim.plan import Plan
from fmim.plan.looks import Looks
from fmim_core.records import StudyFile, read_records, study_path
from tests.support.mini_study import MINI, MINI_STUDY, options_in, run_here, with_epochs

pytestmark = pytest.mark.usefixtures("no_figures")

A, B = "adatriplet_automargin", "triplet_grid"
STUDY = MINI_STUDY.model_copy(update={"baseline": B})


def plan_until_decided(margin: float, most: int = 4) -> Plan:
    preset = with_epochs(MINI, 1).model_copy(update={"equivalence_margin": margin})
    return Plan(STUDY, preset, seed=0, looks=Looks.between(MINI.replicates, most))


def seeds_of(out: Path) -> dict[str, int]:
    found = [record for record in read_records(out) if record.stage == "replicate"]
    return {arm: sum(record.arm == arm for record in found) for arm in (A, B)}


def study_in(out: Path) -> StudyFile:
    return StudyFile.read(study_path(out))


def test_looks_have_blocks_of_half_the_first_seeds_up_to_the_most() -> None:
    assert Looks.between(10, None).seeds == (10, 15, 20, 25, 30)
    assert Looks.between(5, 12).seeds == (5, 8, 11, 12)
    for first, most in ((1, 4), (4, 4)):
        with pytest.raises(ValueError, match="--max-seeds"):
            Looks.between(first, most)
    with pytest.raises(ValueError, match="--until-decided"):
        replace(plan_until_decided(0.01), study=MINI_STUDY)  # which compares nothing
    with pytest.raises(ValueError, match="--max-seeds"):
        Options(study="baselines", max_seeds=20)
    asked = Options(study="automargin_vs_grid", until_decided=True, replicates=4, max_seeds=7).plan()
    assert asked.looks is not None
    assert asked.looks.seeds == (4, 6, 7)
    others = {arm.name: asked.replicates_of(arm) for arm in asked.arms}
    assert set(others.values()) == {4}


def test_it_ends_at_the_first_look_that_decides_everything(tmp_path: Path) -> None:
    setup = options_in(tmp_path)
    assert run_here(plan_until_decided(margin=0.99), setup) == 0
    assert seeds_of(setup.folder) == {A: 2, B: 2}
    assert study_in(setup.folder).looks == [2, 3, 4]
    assert len(study_in(setup.folder).executions) == 1


def test_an_undecided_comparison_gets_seeds_until_the_last_look_and_goes_on_where_it_was(tmp_path: Path) -> None:
    setup, plan = options_in(tmp_path), plan_until_decided(margin=1e-6)
    assert run_here(replace(plan, looks=Looks((2, 3))), setup) == 0
    assert seeds_of(setup.folder) == {A: 3, B: 3}
    written = study_in(setup.folder)
    written.model_copy(update={"looks": [2, 3, 4]}).write(study_path(setup.folder))  # as if it was stopped here
    assert run_here(plan, setup) == 0
    assert seeds_of(setup.folder) == {A: 4, B: 4}
    looked = [execution.trials for execution in study_in(setup.folder).executions]
    assert looked[2:] == [0, 3]  # nothing at the look it had got to, then a seed of each arm and of a reference
    assert {arm.name: arm.replicates for arm in study_in(setup.folder).arms} == {A: 4, B: 4}
    written = study_in(setup.folder)
    claimed = written.model_copy(update={"comparisons": [], "claims": written.comparisons})
    assert Looks((2, 3, 4)).resumed(claimed).now == 4
    for other in (None, Looks((2, 5))):
        with pytest.raises(ValueError, match="--fresh"):
            run_here(replace(plan, looks=other), setup)
    written.model_copy(update={"looks": []}).write(study_path(setup.folder))
    with pytest.raises(ValueError, match="a fixed number of seeds"):
        run_here(plan, setup)
