"""The studies of the paper: their order, what they share, and where they lie."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fmim import catalogue
from fmim.commands.options import Options
from fmim.commands.paper import PAPER_STUDIES, SELECTION, TAKES_WINNERS, whole_paper
from fmim.commands.several import Several
from fmim.plan import Plan
from fmim.printing import TextConsole
from fmim_core.data.bank.bank import Bank
from fmim_reports.whole_paper.build import ITEMS
from fmim_reports.whole_paper.differences import PUBLISHED_NUMBERS
from tests.support.factories import make_out
from tests.support.file_contents import by_arm, selection_content, write

WINNERS = {  # of the selection's arms, those that baselines take
    "softtriple_grid": {"margin": 0.1},
    "arcface_grid": {"margin_degrees": 28.6},
    "sct_grid": {"lam": 0.5},
    "wat_grid": {"beta": 0.25},
    "contrastive_grid": {"m_neg": 1.0, "m_pos": 0.25},
    "triplet_grid": {"epsilon": 0.5},
    "adatriplet_automargin": {"k_delta": 4, "k_an": 2},
}


def paper_in(root: Path) -> Several:
    return whole_paper(root / "runs" / "paper", Options(study=SELECTION, backend="inline"), TextConsole())


def test_what_takes_winners_comes_after_the_study_that_has_them_and_the_report_has_every_study() -> None:
    names = list(PAPER_STUDIES)
    assert set(names) <= set(catalogue.names())
    assert (names[0], names[-1]) == (SELECTION, TAKES_WINNERS)
    arms = {arm.name for arm in catalogue.find(SELECTION).arms}
    assert {arm.selected_from for arm in catalogue.find(TAKES_WINNERS).arms} <= arms
    assert {item.study for item in ITEMS} == set(names)
    assert set(PUBLISHED_NUMBERS) <= set(names)


def test_each_study_has_a_folder_and_shares_banks_and_mlflow_with_those_beside_the_paper(tmp_path: Path) -> None:
    paper, runs = paper_in(tmp_path), tmp_path / "runs"
    beside = Options(study="baselines", out=runs / "baselines").setup
    for study in paper.members:
        setup = paper.options(study).setup
        assert setup.folder == runs / "paper" / study.name
        assert (setup.banks, str(setup.tracking)) == (beside.banks, str(beside.tracking))
        assert setup.studies == beside.studies == runs


def test_baselines_take_the_winners_once_they_are_all_there(tmp_path: Path) -> None:
    """A selection that was interrupted has some of them: the same command refused to go on."""
    paper = paper_in(tmp_path)
    selection, *_, baselines = paper.members
    assert paper.options(baselines).selected is None
    chosen = {arm: selection_content(values, 0, 0.5) for arm, values in WINNERS.items()}
    folder = tmp_path / "runs" / "paper" / SELECTION
    folder.mkdir(parents=True)
    write(folder / "selection.json", by_arm({arm: chosen[arm] for arm in list(chosen)[:-1]}))
    paper.check()
    assert paper.options(baselines).selected is None
    with pytest.raises(ValueError, match="the selection has no winner for it"):
        paper.options(baselines, its_turn=True)
    write(folder / "selection.json", by_arm(chosen))
    assert paper.options(baselines).selected == folder
    study, _ = paper.options(baselines).declared()
    assert [next(arm.space.configurations()) for arm in study.arms] == list(WINNERS.values())
    assert paper.options(selection).selected is None


def test_a_folder_that_is_a_studys_or_holds_another_one_is_refused(tmp_path: Path) -> None:
    paper = paper_in(tmp_path)
    paper.check()
    make_out(paper.out, folds=2, replicates=1, arms=("triplet_q1",))
    with pytest.raises(ValueError, match="runs/paper is a study's folder: give another one"):
        paper.check()
    shutil.rmtree(paper.out)
    make_out(paper.out / "baselines", folds=2, replicates=1, arms=("triplet_q1",))
    with pytest.raises(ValueError, match="belongs to the study 'automargin_vs_grid', not to 'baselines'"):
        paper.check()


def test_what_the_studies_of_the_paper_share(tiny_bank: Bank) -> None:
    """Trials with the fingerprint of one of an earlier study, as each is trained once."""
    seen: set[str] = set()
    shared: dict[str, dict[str, tuple[int, int]]] = {}
    for name in PAPER_STUDIES:
        study = catalogue.find(name)
        plan = Plan(study, study.preset("quick"), seed=0)
        specs = plan.possible(tiny_bank, lambda arm, search_split: ())
        stages = {stage: [spec for spec in specs if spec.stage == stage] for stage in ("search", "replicate")}
        shared[name] = {
            stage: (sum(spec.fingerprint in seen for spec in found), len(found)) for stage, found in stages.items()
        }
        seen |= {spec.fingerprint for spec in specs}
    assert {name: found["search"] for name, found in shared.items()} == {
        "hyperparameter_selection": (0, 116),
        "automargin_vs_grid": (64, 72),
        "lambda_sweep": (2, 8),
        "margin_sensitivity": (4, 32),
        "training_dynamics": (0, 0),
        "baselines": (0, 0),
    }
    # Replicates of the published values; of arms that nothing compares two of ten seeds are tested.
    assert shared["baselines"]["replicate"] == (38, 70)
