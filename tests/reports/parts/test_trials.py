"""A predicted cost beside what was measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from fmim_core.records import SCHEMA, json_text
from fmim_reports.parts.trials import prediction_table, status_table
from fmim_reports.reading.results import read_results
from tests.support.factories import CALIBRATION
from tests.support.file_contents import record, write
from tests.support.reports import rows


def test_a_prediction_is_compared_with_what_was_measured(out: Path) -> None:
    write(out / "calibration.json", CALIBRATION)
    table = prediction_table(read_results(out))
    found = {row["what"]: row for row in rows(table)}
    assert float(found["Wall time"]["error"]) == pytest.approx(20.0)
    assert {float(found[name]["error"]) for name in ("Trials", "Epochs", "Training images", "Device-seconds")} == {0.0}
    assert float(found["Peak memory of a trial"]["error"]) == pytest.approx(20.0)
    assert "16 min 40 s for 2 trials at once on the CPU (no GPU is used), measured 20 min 0 s (+20 %)" in table.notes[0]
    write(out / "calibration.json", CALIBRATION | {"slots": 4})
    assert prediction_table(read_results(out)).notes[1] == "The run had 2 trials at once."


def test_a_run_that_is_not_over_is_not_compared(out: Path) -> None:
    write(out / "calibration.json", CALIBRATION)
    record(out, "triplet_grid.c00.fold0").unlink()
    table = prediction_table(read_results(out))
    assert {row["measured"] for row in rows(table)} == {""}
    assert "not all of it has run yet" in table.notes[0]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "No prediction: fmim plan automargin_vs_grid --calibrate"),
        ("{", "calibration.json is not readable JSON"),
        (json_text(CALIBRATION | {"schema": 1}), f"calibration.json has schema 1, this version reads {SCHEMA}"),
        (json_text(CALIBRATION | {"epochs": "many"}), "calibration.json is malformed: epochs: Input should be"),
        (json_text(CALIBRATION | {"preset": "smoke", "seed": 1}), "preset smoke, not quick; seed 1, not 0"),
        (json_text(CALIBRATION | {"data_fingerprint": "x"}), "of another plan (other data)"),
    ],
)
def test_without_a_prediction_of_this_plan_the_report_says_so(out: Path, content: str | None, said: str) -> None:
    if content is not None:
        (out / "calibration.json").write_text(content)
    table = prediction_table(read_results(out))
    assert (len(table.rows), said in table.empty) == (0, True)


def test_replicates_of_an_arm_without_a_winner_are_planned_and_missing(out: Path) -> None:
    (out / "selection.json").unlink()
    found = {row["arm"]: row for row in rows(status_table(read_results(out))) if row["stage"] == "replicate"}
    assert (found["triplet_grid"]["planned"], found["triplet_grid"]["missing"]) == ("5", "5")
