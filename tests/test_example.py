"""The README says what the run that is kept found, and no other number of a run."""

from __future__ import annotations

import json
from pathlib import Path

from fmim.catalogue import find
from fmim.plan import Plan
from fmim_core.records import read_json, write_json
from tests.example import BEGIN, END, KEPT, README, found_in, in_words, with_example
from tests.support.factories import make_out
from tests.support.paths import TASKS


def test_the_readme_is_what_the_command_writes() -> None:
    text = README.read_text("utf-8")
    assert text == with_example(text, read_json(KEPT))


def test_the_guide_counts_the_trials_of_presets() -> None:
    study, text = find("automargin_vs_grid"), (TASKS / "running.md").read_text("utf-8")
    for preset in ("smoke", "quick"):
        assert f"| {Plan(study, study.preset(preset), seed=0).trials} trials of " in text


def test_a_run_says_what_its_report_does_and_robust_too(tmp_path: Path) -> None:
    out = make_out(tmp_path / "out", arms=["triplet_automargin", "triplet_grid"])
    robust = {"settings": ["a", "b=1"], "sentences": ["X."], "shown": {"equivalent": 1, "worse": 1}}
    write_json(tmp_path / "robust" / "report" / "summary.json", robust)
    found = found_in(out, tmp_path / "robust")
    (one,) = found["compared"].values()
    assert (one["difference"], one["shown"], one["search"]) == ("+0.50", "inconclusive", "1/2")
    said = with_example(f"before\n{BEGIN}old\n{END}after\n", json.loads(json.dumps(found)))
    assert said == f"before\n{BEGIN}{in_words(found)}{END}after\n"
    assert found["answer"] in said
    assert "at 2 settings" in said
    assert "of 2 comparisons it was equivalent in 1 and worse in 1." in said
    assert len(said.split()) < 150
