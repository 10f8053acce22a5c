"""A study from Python: what `fmim.run` runs, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

import fmim
from fmim_core.losses.base import LOSSES
from fmim_core.losses.triplet import Triplet
from tests.support.mini_study import MINI
from tests.support.own_files import register_for_a_test

STUDY = fmim.Study(
    name="two_arms",
    title="Two arms",
    question="Which one?",
    presets=(MINI,),
    search=False,
    baseline="fixed",
    arms=(
        fmim.Arm(
            name="fixed",
            settings=(("loss.kind", "triplet"), ("margins.kind", "fixed")),
            space=fmim.point(margins__epsilon=0.25),
        ),
        fmim.Arm(
            name="automargin",
            settings=(("loss.kind", "triplet"), ("margins.kind", "automargin")),
            space=fmim.point(margins__k_delta=2),
        ),
    ),
)


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_a_study_declared_in_python_runs_and_its_results_and_models_are_at_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    results = fmim.run(
        STUDY, {"epochs": 1}, quiet=True, preset="mini", backend="inline", gpus_per_trial=0.0, seed=3, replicates=2
    )
    assert capsys.readouterr().out == ""
    assert dict(results.study.changed) == {"epochs": 1}
    assert results.study.seed == 3
    tested = results.trials.query("stage == 'replicate'")
    assert tested.groupby("arm")["status"].agg(list).to_dict() == {
        "automargin": ["completed", "completed"],
        "fixed": ["completed", "completed"],
    }
    assert fmim.load(tmp_path / "runs" / "two_arms").trials.equals(results.trials)
    model = fmim.load_model(tmp_path / "runs" / "two_arms", "fixed", seed=1)
    queries = model.images("phantom").of_split("test").queries
    assert model.embed(queries).shape == (results.study.data.test.queries, 16)


def test_a_kind_that_no_worker_has_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Mine(Triplet):
        kind: Literal["mine"] = "mine"  # type: ignore[assignment]

    register_for_a_test(LOSSES, Mine, monkeypatch)
    monkeypatch.chdir(tmp_path)
    (arm, *_) = STUDY.arms
    own = arm.model_copy(update={"settings": (("loss.kind", "mine"), *arm.settings[1:])})
    study = STUDY.model_copy(update={"arms": (own,), "baseline": None})
    with pytest.raises(ValueError, match=r"Mine is defined in tests\.studies\.test_use, which workers cannot import"):
        fmim.run(study, preset="mini", backend="inline")
    with pytest.raises(ValueError, match=r"'replicate'; .*replicates.* Did you mean 'replicates'"):
        fmim.run(STUDY, preset="mini", replicate=2)
    with pytest.raises(ValueError, match="replicates 0: give at least 1"):
        fmim.run(STUDY, preset="mini", replicates=0)
    assert list(tmp_path.iterdir()) == []
