"""The frames and tables of a loaded study are its records, and its report's numbers."""

from __future__ import annotations

import csv
import io
import math
import shutil
from pathlib import Path

import pandas as pd
import pytest

from fmim_core.metric_names import METRICS
from fmim_core.records import Attempt, Cost, EpochRow, Member, Record, TrialError, read_records, record_path
from fmim_reports.build import tables_of
from fmim_reports.loaded import StudyResults, load
from fmim_reports.writing.tables import to_csv
from tests.support.factories import best, make_out
from tests.support.file_contents import NETWORK, PIXELS, add_references, edit, spoil
from tests.support.query_files import with_queries

ARMS = ["triplet_q1", "triplet_grid", "triplet_automargin"]
PARTS = ("startup_s", "data_s", "train_s", "eval_s", "lost_s", "wall_s", "epochs", "images", "resumed")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete study with references and queries, which no test changes."""
    out = make_out(tmp_path_factory.mktemp("loaded") / "out", arms=ARMS)
    return with_queries(add_references(out, {PIXELS: [0.3], NETWORK: [0.3, 0.32]}))


@pytest.fixture(scope="module")
def results(whole: Path) -> StudyResults:
    return load(str(whole))


@pytest.fixture
def out(whole: Path, tmp_path: Path) -> Path:
    """The same, to be changed."""
    return shutil.copytree(whole, tmp_path / "out")


def trial(results: StudyResults, name: str) -> pd.Series:
    """The row of a trial."""
    return results.trials.set_index("trial").loc[name]


def test_every_trial_has_the_values_of_its_record(results: StudyResults, whole: Path) -> None:
    rows = results.trials.set_index("trial")
    records = list(read_records(whole))
    assert sorted(rows.index) == sorted(record.trial for record in records)
    for record in records:
        row = rows.loc[record.trial]
        for name in ("arm", "stage", "replicate", "search_split", "status", "seed"):
            assert row[name] == getattr(record, name)
        assert row["peak_memory"] == record.peak_memory or record.stage == "reference"
        for split, values in (("validation", record.metrics.validation), ("test", record.metrics.test)):
            found = {name: row[f"{split}_{name}"] for name in METRICS}
            assert found == pytest.approx({name: (values or {}).get(name, math.nan) for name in METRICS}, nan_ok=True)
        assert {name: row[name] for name in PARTS} == {name: getattr(record.cost, name) for name in PARTS}
        assert row["device_seconds"] == record.cost.device_seconds
        assert row["device_share"] == record.cost.device_share
        assert row["record"] == f"{record.trial}.json"
        assert row["started_at"] == pd.Timestamp(record.started_at)
        varied = {name: row[f"configuration_{name}"] for name in ("epsilon", "k_delta")}
        assert {name: value for name, value in varied.items() if pd.notna(value)} == record.configuration


def test_failed_and_missing_trials_are_rows(out: Path) -> None:
    spoil(record_path(out, "triplet_q1.c00.seed0"), "failed")
    spoil(record_path(out, "triplet_q1.c00.seed1"), "diverged")
    record_path(out, "triplet_q1.c00.seed2").unlink()
    edit(record_path(out, "triplet_q1.c00.seed3"), seed=2**62 + 1)
    results = load(out)
    assert trial(results, "triplet_q1.c00.seed3")["seed"] == 2**62 + 1  # all bits, beside one that is missing
    seeds = results.trials[(results.trials["arm"] == "triplet_q1") & (results.trials["stage"] == "replicate")]
    assert seeds["status"].tolist() == ["failed", "diverged", "missing", "completed", "completed"]
    assert seeds["reason"].iloc[0] == "RuntimeError: CUDA out of memory"
    assert seeds["test_mAP"].notna().tolist() == [False, False, False, True, True]
    assert seeds["seed"].notna().tolist() == [True, True, False, True, True]
    assert seeds["train_s"].tolist()[:2] == [10.0, 10.0]  # what it cost stays
    assert pd.isna(seeds["train_s"].iloc[2])
    years = results.years[(results.years["arm"] == "triplet_q1") & (results.years["metric"] == "mAP")]
    assert years.groupby("status")["value"].agg(["size", "count"]).to_dict("index") == {
        "completed": {"size": 12, "count": 12},
        **{status: {"size": 6, "count": 0} for status in ("diverged", "failed", "missing")},
    }
    assert set(results.epochs.loc[results.epochs["trial"] == seeds["trial"].iloc[0], "status"]) == {"failed"}
    assert set(results.queries.loc[results.queries["arm"] == "triplet_q1", "replicate"]) == {3, 4}
    assert results.arms.set_index("arm")["replicates"].to_dict() == {ARMS[0]: 2, ARMS[1]: 5, ARMS[2]: 5}


def test_failed_attempts_stand_beside_what_a_trial_cost_and_each_model_has_its_epochs(out: Path) -> None:
    record = Record.read(record_path(out, "triplet_q1.c00.seed0"))
    cost = Cost(train_s=3.0, wall_s=4.0, energy_j=50.0, device="cpu", device_share=1.0, epochs=2, images=100)
    times = {"started_at": record.started_at, "ended_at": record.ended_at}
    failed = Attempt(status="failed", cost=cost, error=TrialError(kind="OSError"), **times)
    known = record.cost.model_copy(update={"energy_j": 500.0})
    record.changed({"attempts": (failed,), "cost": known}).save(out)
    row = trial(load(out), record.trial)
    assert (row["train_s"], row["wall_s"], row["epochs"], row["images"]) == (10.0, 12.0, 6, 8064)
    assert (row["device_seconds"], row["wasted_s"], row["failed_attempts"]) == (12.0, 3.0, 1)
    assert row["energy_j"] == 500.0
    members = tuple(
        Member(fold=fold, seed=fold, kept_epoch=1, validation=None, history=record.history[: fold + 1])
        for fold in range(2)
    )
    record.changed({"members": members}).save(out)
    epochs = load(out).epochs
    found = epochs[epochs["trial"] == record.trial]
    assert list(zip(found["member"], found["epoch"], strict=True)) == [(0, 1), (1, 1), (1, 2)]


def test_the_means_and_errors_by_year_are_those_of_the_reports_table(results: StudyResults) -> None:
    years = results.years[results.years["metric"] == "mAP"]
    means = years.groupby(["arm", "year"], dropna=False)["value"].agg(["mean", "sem", "count"])
    found = {(arm, "all" if pd.isna(year) else f"year_{year}"): row.tolist() for (arm, year), row in means.iterrows()}
    table = results.table("by_year")
    for row, arm in enumerate([*ARMS, PIXELS, NETWORK]):
        for year in ("year_1", "year_2", "year_4", "year_6", "year_8", "all"):
            expected = [table[f"{year}_{part}"].iloc[row] for part in ("mean", "se", "n")]
            assert found[arm, year] == pytest.approx(expected, nan_ok=True)
    assert set(years["queries"].dropna()) == {40, 38, 30, 22, 16, 146}


def test_epochs_are_those_of_the_histories(results: StudyResults, whole: Path) -> None:
    numbers = [name for name in EpochRow.model_fields if name != "own" and not name.endswith("histogram")]
    rows = results.epochs.set_index("trial")
    for record in read_records(whole):
        for row, epoch in (
            zip(rows.loc[[record.trial]].to_dict("records"), record.history, strict=True) if record.history else ()
        ):
            assert {name: row[name] for name in numbers} == pytest.approx(
                {name: epoch.number(name) for name in numbers}, nan_ok=True
            )
    assert rows["member"].isna().all()


def test_queries_average_to_the_metrics_of_their_trials(results: StudyResults) -> None:
    ap = results.queries.groupby("trial")["ap"].mean()
    tested = results.trials[results.trials["stage"] == "replicate"].set_index("trial")
    assert ap.to_dict() == pytest.approx(tested["test_mAP"].to_dict())
    assert len(results.queries) == 15 * 148
    assert results.queries.groupby("trial")["seed"].first().to_dict() == tested["seed"].to_dict()
    assert results.queries["rank"].isna().sum() == 15 * 2  # without a match
    assert set(results.queries["sex"]) == {"F", "M"}
    assert results.queries["tkr"].isna().all()  # not known of this data set
    one = results.queries[(results.queries["replicate"] == 3) & (results.queries["query"] == "s07_047")].iloc[0]
    assert (one["subject"], one["side"], one["year"], one["age"]) == ("s07", "R", 2, "52")


def test_arms_have_their_selected_configuration(results: StudyResults) -> None:
    rows = results.arms.set_index("arm")
    assert rows["n_s"].to_dict() == {"triplet_q1": 1, "triplet_grid": 4, "triplet_automargin": 2}
    assert rows["label"].to_dict() == {arm.name: arm.label for arm in results.study.arms}
    assert rows.loc["triplet_grid", "configuration_epsilon"] == best("triplet_grid")["epsilon"]
    assert rows.loc["triplet_automargin", "configuration_k_delta"] == 2
    assert rows["configuration_k_delta"].isna().tolist() == [True, True, False]


def test_a_study_without_records_has_the_same_columns_and_types(results: StudyResults, out: Path) -> None:
    shutil.rmtree(out / "records")
    (out / "selection.json").unlink()
    empty = load(out)
    for name in empty.frames:
        described = empty.describe(name)
        assert (described["description"] != "").all()
        for one in (empty, results):
            found = getattr(one, name).dtypes.astype(str)
            assert list(found.items()) == list(zip(described["column"], described["dtype"], strict=True))
    assert set(empty.trials["status"]) == {"missing"}
    assert empty.epochs.empty
    assert empty.arms["selected"].tolist() == [False, False, False]


def test_tables_are_their_csv_files(results: StudyResults) -> None:
    for table in (table for found in tables_of(results.results).values() for table in found):
        frame, header, *written = results.table(table.name), *csv.reader(io.StringIO(to_csv(table)))
        assert [str(column) for column in frame] == header
        cells = frame.to_numpy(dtype=object).ravel().tolist()
        for value, text in zip(cells, (text for row in written for text in row), strict=True):
            if isinstance(value, str):
                assert value == text
            else:
                assert text in ("", "nan") if pd.isna(value) else value == float(text)
    assert results.tables["by_year"] == "mAP by years after baseline"


def test_what_is_not_there_is_named_with_what_there_is(results: StudyResults) -> None:
    for ask, name, meant in (
        (results.table, "by_years", "by_year"),
        (results.plot, "map_by_years", "map_by_year"),
        (results.describe, "trial", "trials"),
    ):
        with pytest.raises(ValueError, match=rf"'{name}'; there are .*Did you mean '{meant}'\?"):
            ask(name)
    with pytest.raises(ValueError, match=r"no study\.json"):
        load("nowhere")


def test_a_study_says_what_it_is_and_how_it_stands(out: Path) -> None:
    record_path(out, "triplet_q1.c00.seed2").unlink()
    results = load(out)
    lines = repr(results).splitlines()
    assert lines[0] == "StudyResults: AutoMargin against grid search (automargin_vs_grid, preset quick)"
    assert "  trials: 38 completed, 1 missing" in lines
    assert any(line.startswith("  state: 14 of 15 test replicates completed: 1 missing.") for line in lines)
    assert "<th>trials</th><td>38 completed, 1 missing</td>" in results._repr_html_()
    assert [problem.where for problem in results.problems] == ["records/triplet_q1.c00.seed2.queries.parquet"]
    assert "- Triplet: AutoMargin scored 0.5 points higher than grid search in mAP" in results.verdict
