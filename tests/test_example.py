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
    write_json(tmp_path / "robust" / "report" / "summary.json", {"settings": ["a", "b=1"], "sentences": ["X.", "Y."]})
    found = found_in(out, tmp_path / "robust")
    assert (len(found["sentences"]), found["over_settings"]) == (1, ["X."])
    said = with_example(f"before\n{BEGIN}old\n{END}after\n", json.loads(json.dumps(found)))
    assert said == f"before\n{BEGIN}{in_words(found)}{END}after\n"
    assert f"- {found['sentences'][0]}\n" in said
    assert "at 2 settings (a, b=1):\n\n- X.\n" in said
