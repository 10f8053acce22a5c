"""Reports from synthetic OUT folders whose numbers are known by formula (see `factories`)."""

from __future__ import annotations

import ast
import csv
import json
import math
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import reports
from fmim_core.records import SCHEMA
from reports.build import build_report, status_lines
from reports.parts.verdict import verdict_of_comparisons
from reports.reading.cost import utilisation_of
from reports.reading.results import key_of, read_results
from reports.reading.summary import arm_summaries
from reports.stats import MeanSE, smallest_difference, smallest_margin
from reports.writing.formats import configuration_text, decimal, mean_se_text, points, to_html, to_md, to_tex
from tests.support.factories import N_S, SPACES, best, configurations, level, make_out, write_record
from tests.support.file_contents import YEARS, by_arm, edit, spoil, write

COLUMNS = (
    "arm,loss,group,search,n_s,trials,epochs,device_seconds,"
    "validation_mAP_mean,validation_mAP_se,validation_n,test_mAP_mean,test_mAP_se,test_n"
)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return make_out(tmp_path / "out")


def table(out: Path, name: str) -> list[dict[str, str]]:
    with (out / "report" / "tables" / f"{name}.csv").open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def record(out: Path, name: str) -> Path:
    return out / "records" / f"{name}.json"


def test_search_cost_is_one_row_per_arm_with_known_values(out: Path) -> None:
    build_report(out)
    header = (out / "report/tables/search_cost.csv").read_text(encoding="utf-8").splitlines()[0]
    assert header == COLUMNS
    rows = table(out, "search_cost")
    assert [row["arm"] for row in rows] == list(SPACES)
    assert [int(row["n_s"]) for row in rows] == list(N_S) == [1, 1, 4, 4, 2, 1, 1, 16, 4]
    for row, n_s in zip(rows, N_S, strict=True):
        assert (int(row["trials"]), int(row["epochs"])) == (3 * n_s, 18 * n_s)
        assert float(row["device_seconds"]) == 36.0 * n_s
        expected = level(row["arm"], best(row["arm"]))
        assert float(row["validation_mAP_mean"]) == pytest.approx(expected)
        assert float(row["validation_mAP_se"]) == pytest.approx(0.01 / math.sqrt(3))
        assert float(row["test_mAP_mean"]) == pytest.approx(expected - 0.05)
        assert float(row["test_mAP_se"]) == pytest.approx(0.0070711, abs=1e-7)
        assert (row["validation_n"], row["test_n"]) == ("3", "5")


def test_tables_show_ours_beside_the_published(out: Path) -> None:
    build_report(out)
    triplet = {row["search"]: row for row in table(out, "triplet_arms")}
    assert list(triplet) == ["Q1", "Q2", "WAT", "Grid search", "AutoMargin"]
    assert [row["published_mAP_percent"] for row in triplet.values()] == [
        "27.3",
        "87.7",
        "96.5",
        "96.6",
        "96.6",
    ]
    assert triplet["AutoMargin"]["published_CMC_1_percent"] == "93.7"
    assert triplet["AutoMargin"]["configuration"] == "K_Δ = 2"
    adatriplet = {row["search"]: row for row in table(out, "adatriplet_arms")}
    assert list(adatriplet) == ["Q1", "Q2", "Grid search", "AutoMargin"]
    assert adatriplet["Grid search"]["published_mAP_percent"] == "97.0"
    assert float(adatriplet["Grid search"]["test_CMC_1_mean"]) == pytest.approx(0.80 - 0.05 - 0.08)
    grid = table(out, "grid_vs_automargin")
    assert len(grid) == 16 + 1 + 4 + 1
    assert grid[10]["configuration"] == "ε = 0.5, β = 0.5"
    assert grid[10]["published_oai_percent"] == "97.02"
    assert float(grid[16]["published_oai_percent"]) == pytest.approx(96.01, abs=0.005)
    assert float(grid[21]["published_cxr_percent_se"]) == pytest.approx(0.70, abs=0.005)
    values = [level("adatriplet_grid", c) for c in configurations("adatriplet_grid")]
    assert float(grid[16]["validation_mAP_mean"]) == pytest.approx(sum(values) / 16)


def test_verdict_says_numbers_data_and_what_is_not_shown(out: Path) -> None:
    said = verdict_of_comparisons(read_results(out))
    assert said.lead.startswith("On phantom images - synthetic, not radiographs (test set: 40 subjects, 146 queries)")
    assert "the mAP of a random ranking is 5.00 %" in said.lead
    assert said.findings[1] == (
        "AdaTriplet: AutoMargin against grid search: neither is shown to be better, nor the two to be equivalent. Test "
        "mAP: AutoMargin 75.50 ± 0.71 % (n = 5 seeds), grid search 75.00 ± 0.71 % (n = 5 seeds). Paired by seed, "
        "AutoMargin minus grid search is +0.50 percentage points, 95 % CI −2.67 to +3.67 (p = 0.684, n = 5 pairs). In "
        "its search AutoMargin trained N_s = 4, grid search N_s = 16; grid search took 4.00 times the device-seconds "
        "of AutoMargin (576.0 against 144.0)."
    )
    cautions = " ".join(said.cautions)
    assert "no evidence of equivalence" in cautions
    assert "the minimum detectable difference is 4.29 percentage points (power 80 %)." in cautions
    assert "only 40 subjects" in cautions
    assert "2 of 146 test queries have no match" in cautions


def test_paired_differences_say_how_large_they_are_and_what_could_be_found(out: Path) -> None:
    build_report(out)
    row = table(out, "paired_differences")[1]
    sd = float(row["se"]) * math.sqrt(5)
    correction = math.sqrt(2 / math.pi)  # Hedges' of 4 degrees of freedom
    assert float(row["g"]) == pytest.approx(0.005 / sd * correction)
    assert float(row["smallest_difference"]) == pytest.approx(smallest_difference(sd, 5).value)
    assert float(row["smallest_margin"]) == pytest.approx(smallest_margin(sd, 5).value)


@pytest.mark.parametrize(
    ("shift", "answer"),
    [
        ([0.05, 0.06, 0.05, 0.06, 0.05], "AutoMargin scored better"),
        ([-0.05, -0.06, -0.05, -0.06, -0.05], "AutoMargin scored worse"),
        ([0.001, -0.001, 0.0, 0.001, -0.001], "equivalent within ±1 percentage point"),
        (
            [0.003, 0.004, 0.003, 0.004, 0.003],
            "equivalent within ±1 percentage point, though AutoMargin scored better",
        ),
        ([0.1, -0.1, 0.0, 0.1, -0.1], "neither is shown to be better, nor the two to be equivalent"),
        ([0.1] * 5, "no answer yet"),
    ],
)
def test_the_answer_in_words_follows_the_interval_and_the_equivalence_test(
    out: Path, shift: list[float], answer: str
) -> None:
    for seed, step in enumerate(shift):
        edit(
            record(out, f"triplet_automargin.c00.seed{seed}"),
            metrics={"validation": None, "test": {"mAP": 0.7 + step}},
        )
        edit(record(out, f"triplet_grid.c02.seed{seed}"), metrics={"validation": None, "test": {"mAP": 0.7}})
    said = verdict_of_comparisons(read_results(out)).findings[0]
    assert said.startswith(f"Triplet: AutoMargin against grid search: {answer}. Test mAP")


def test_failed_diverged_and_missing_trials_are_shown_and_not_averaged(out: Path) -> None:
    spoil(record(out, "triplet_automargin.c00.seed3"), "failed", "out of memory")
    spoil(record(out, "triplet_grid.c02.fold0"), "diverged", "loss is not a number in epoch 3")
    record(out, "triplet_q1.c00.fold2").unlink()
    page = build_report(out).read_text(encoding="utf-8")
    rows = {row["arm"]: row for row in table(out, "search_cost")}
    assert rows["triplet_automargin"]["test_n"] == "4"
    # Seeds −0.02 … 0.02 backwards, without seed 3, which has 0: the mean of the rest is 0, their SE is larger.
    assert float(rows["triplet_automargin"]["test_mAP_mean"]) == pytest.approx(0.735)
    assert float(rows["triplet_grid"]["validation_mAP_mean"]) == pytest.approx(0.78 + 0.005)
    assert rows["triplet_grid"]["trials"] == "12"  # a diverged trial counts with its cost
    assert rows["triplet_q1"]["trials"] == "2"
    lost = {row["where"]: (row["what"], row["reason"]) for row in table(out, "not_counted")}
    assert lost["triplet_automargin, K_Δ = 2, seed 3"] == ("failed", "RuntimeError: out of memory")
    assert lost["triplet_grid, ε = 0.5, fold 0"][0] == "diverged"
    assert lost["triplet_q1, –, fold 2"][0] == "missing"
    assert "n = 4 of 5" in page
    assert "100 of 102 search trials completed: 1 diverged, 1 missing." in page
    assert "44 of 45 test replicates completed: 1 failed." in page


def test_one_seed_has_no_se_and_no_interval(tmp_path: Path) -> None:
    out = make_out(tmp_path / "out", replicates=1)
    build_report(out)
    row = table(out, "search_cost")[4]
    assert (row["test_mAP_se"], row["test_n"]) == ("", "1")
    assert "± n/a (n = 1)" in (out / "report/tables/triplet_arms.md").read_text(encoding="utf-8")
    assert "fewer than two pairs (1)" in table(out, "paired_differences")[0]["note"]


def test_no_records_still_make_a_report(out: Path) -> None:
    shutil.rmtree(out / "records")
    (out / "selection.json").unlink()
    edit(out / "study.json", executions=[])
    page = build_report(out).read_text(encoding="utf-8")
    assert "0 of 102 search trials completed: 102 missing." in page
    assert "0 of 45 test replicates completed: 45 missing." in page
    assert "figure not drawn: no arm has a completed test replicate yet" in page
    assert [row["n_s"] for row in table(out, "search_cost")] == ["0"] * 9


def test_files_that_do_not_count_are_named(out: Path) -> None:
    records = out / "records"
    (records / "broken.json").write_text("{", encoding="utf-8")
    (records / "notes.txt").write_text("hello", encoding="utf-8")
    shutil.copy(record(out, "triplet_q1.c00.fold0"), records / "a_copy.json")
    superseded = write_record(out, "adatriplet_grid", 3, "replicate", 0)
    edit(record(out, "triplet_q2.c00.fold0"), study="another")
    edit(record(out, "triplet_q2.c00.fold1"), arm="nobody")
    edit(record(out, "triplet_q2.c00.fold2"), metrics={"validation": {"mAP": "high"}, "test": None})
    edit(record(out, "triplet_q2.c00.seed0"), schema=1)
    results = read_results(out)
    why = {problem.where.removeprefix("records/"): problem.why for problem in results.problems}
    assert why.keys() == {
        "broken.json",
        "notes.txt",
        "a_copy.json",
        superseded.name,
        *(f"triplet_q2.c00.fold{fold}.json" for fold in range(3)),
        "triplet_q2.c00.seed0.json",
    }
    assert why["broken.json"].startswith("the record is not readable JSON (Expecting property name")
    assert why["a_copy.json"] == "duplicate of triplet_q1.c00.fold0.json: not counted"
    assert why[superseded.name].startswith("superseded: {'epsilon': 0.1, 'beta': 0.75} is not the selected")
    assert why["triplet_q2.c00.fold0.json"].startswith("of another study")
    assert why["triplet_q2.c00.fold1.json"] == "not in the plan: arm 'nobody' is unknown"
    assert why["triplet_q2.c00.fold2.json"] == (
        "the record is malformed: metrics.validation.mAP: Input should be a valid number, unable to parse string as a "
        "number (given 'high')"
    )
    assert why["triplet_q2.c00.seed0.json"].startswith(f"the record has schema 1, this version reads {SCHEMA}: use")
    page = build_report(out).read_text(encoding="utf-8")
    assert all(name in page for name in why)
    assert [row["test_n"] for row in table(out, "search_cost")] == ["5", "4", "5", "5", "5", "5", "5", "5", "5"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"trial": 7}, "trial: Input should be a valid string (given '7')"),
        ({"configuration": []}, "configuration: Input should be a valid dictionary (given '[]')"),
        ({"stage": "test"}, "stage: Input should be 'search' or 'replicate' (given 'test')"),
        ({"status": "done"}, "status: Input should be 'completed', 'stopped', 'diverged' or 'failed' (given 'done')"),
        ({"history": [{"loss": 0.5}]}, "history.0.epoch: is missing"),
        ({"replicate": 0.5}, "replicate: Input should be a valid integer"),
        (
            {"metrics": {"validation": None, "test": None}},
            "the whole: Value error, completed without validation metrics",
        ),
        ({"metrics": {"validation": {"mAP/4": 0.5}}}, "metrics.validation: Value error, metric key 'mAP/4'"),
        ({"verdict": "good"}, "verdict: is unknown"),
    ],
)
def test_a_malformed_record_does_not_count_and_says_why(out: Path, changes: dict[str, Any], said: str) -> None:
    path = edit(record(out, "triplet_q1.c00.fold0"), **changes)
    (problem,) = read_results(out).problems
    assert problem.where == f"records/{path.name}"
    assert problem.why.startswith(f"the record is malformed: {said}")


def test_a_record_that_leaves_something_out_does_not_count(out: Path) -> None:
    path = record(out, "triplet_q1.c00.fold0")
    content = json.loads(path.read_text(encoding="utf-8"))
    for lacking, said in (
        ("study", "study: is missing"),
        ("cost", "missing: cost"),
        ("history", "missing: history"),
    ):
        write(path, {name: value for name, value in content.items() if name != lacking})
        assert [problem.why for problem in read_results(out).problems] == [f"the record is malformed: {said}"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "the file is not readable JSON"),
        ("[]", f"the file has schema none (list), this version reads {SCHEMA}"),
        ('{"triplet_q1": {}}', f"the file has schema None, this version reads {SCHEMA}"),
        (json.dumps(by_arm({"triplet_q1": {}})), "the file is malformed: arms.triplet_q1"),
    ],
)
def test_a_damaged_selection_or_proposals_file_is_a_problem(out: Path, content: str, said: str) -> None:
    for name, otherwise in (
        ("selection.json", "no configuration counts as selected"),
        ("proposals.json", "no proposed configuration counts"),
    ):
        (out / name).write_text(content, encoding="utf-8")
        why = {problem.where: problem.why for problem in read_results(out).problems}
        assert why[name].startswith(f"{otherwise}: {said}")
    assert "No configuration selected, so no test result" in build_report(out).read_text(encoding="utf-8")


def test_not_a_number_stays_visible(out: Path) -> None:
    path = record(out, "triplet_q1.c00.seed0")
    metrics = json.loads(path.read_text(encoding="utf-8"))["metrics"]
    metrics["test"]["mAP"] = math.nan
    edit(path, metrics=metrics)
    build_report(out)
    assert table(out, "search_cost")[0]["test_mAP_mean"] == "nan"
    assert "NaN ± NaN (n = 5)" in (out / "report/tables/search_cost.md").read_text(encoding="utf-8")
    assert any("triplet_q1.c00.seed0" in line for line in status_lines(read_results(out)))


def test_a_cost_that_was_not_recorded_is_not_zero(out: Path) -> None:
    spoil(edit(record(out, "triplet_q1.c00.fold0"), cost=None), "failed")
    build_report(out)
    row = table(out, "search_cost")[0]
    assert (row["trials"], float(row["device_seconds"])) == ("2", 24.0)
    lost = {row["where"]: row["reason"] for row in table(out, "not_counted")}
    assert lost["records/triplet_q1.c00.fold0.json"].startswith("the record is malformed: cost: Input should be")


def test_stale_selection_is_reported(out: Path) -> None:
    selection = json.loads((out / "selection.json").read_text(encoding="utf-8"))
    selection["arms"]["triplet_q1"]["score"] = 0.5
    write(out / "selection.json", selection)
    assert status_lines(read_results(out)) == [
        "Triplet + Q1: selected with a score of 0.500000, its records now give 0.420000."
    ]


def test_a_moved_folder_still_reads_and_a_second_build_writes_the_same_bytes(out: Path, tmp_path: Path) -> None:
    build_report(out)
    first = {path.relative_to(out): path.read_bytes() for path in sorted((out / "report").rglob("*")) if path.is_file()}
    moved = tmp_path / "elsewhere" / "run"
    shutil.copytree(out, moved)
    shutil.rmtree(out)
    build_report(moved)
    second = {p.relative_to(moved): p.read_bytes() for p in sorted((moved / "report").rglob("*")) if p.is_file()}
    assert first == second
    assert str(tmp_path) not in (moved / "report/index.html").read_text(encoding="utf-8")


def test_building_keeps_what_it_did_not_write(out: Path) -> None:
    (out / "report").mkdir()
    note = out / "report" / "my_notes.md"
    note.write_text("mine", encoding="utf-8")
    build_report(out)
    assert note.read_text(encoding="utf-8") == "mine"
    assert not list((out / "report").rglob(".*"))


class Page(HTMLParser):
    """Collects what a check of the page needs: links and loads, ids, and tables without a caption."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.ids: list[str] = []
        self.tags: list[str] = []
        self.svg: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        self.loads += [str(given[name]) for name in ("src", "href", "xlink:href", "srcset") if name in given]
        self.ids += [str(given["id"])] if "id" in given else []
        if tag == "svg":
            self.svg.append(given)


def test_page_is_self_contained_and_accessible(out: Path) -> None:
    text = build_report(out).read_text(encoding="utf-8")
    page = Page()
    page.feed(text)
    assert not [load for load in page.loads if re.match(r"(https?:)?//", load)]
    assert not re.search(r"@import|url\(\s*['\"]?https?:", text)
    assert '<html lang="en">' in text
    assert "prefers-color-scheme: dark" in text
    assert page.tags.count("table") == page.tags.count("caption")
    assert len(page.svg) == 7
    assert all(svg["role"] == "img" and svg["aria-label"] for svg in page.svg)
    ids = [one for one in page.ids if not re.search(r"-DejaVu", one)]
    assert len(ids) == len(set(ids))
    inside = [load for load in page.loads if not load.startswith(("#", "data:"))]
    assert inside
    assert all((out / "report" / load).exists() for load in inside)


def test_every_caption_says_the_images_are_synthetic(out: Path) -> None:
    text = build_report(out).read_text(encoding="utf-8")
    captions = re.findall(r"<caption>.*?</caption>|<figcaption>.*?</figcaption>", text, flags=re.DOTALL)
    assert len(captions) > 15
    assert all("phantom images - synthetic, not radiographs" in caption for caption in captions)
    for path in (out / "report/tables").glob("*.tex"):
        assert "synthetic, not radiographs" in path.read_text(encoding="utf-8")


def test_real_data_are_not_called_synthetic(tmp_path: Path) -> None:
    text = build_report(make_out(tmp_path / "out", synthetic=False)).read_text(encoding="utf-8")
    assert "On oai (test set" in text
    assert "phantom" not in text
    assert 'class="badge">Data: oai' in text


def test_a_study_without_a_file_has_a_report(out: Path) -> None:
    edit(out / "study.json", study="ablation")
    for path in (out / "records").iterdir():
        edit(path, study="ablation")
    text = build_report(out).read_text(encoding="utf-8")
    assert "AdaTriplet + AutoMargin" in text
    assert "75.50 ± 0.71" in text.replace("\u00a0", " ")
    assert {"search_cost.csv", "test_metrics.tex"} <= {p.name for p in (out / "report/tables").iterdir()}


def test_latex_is_balanced_escaped_and_plain(out: Path) -> None:
    spoil(record(out, "triplet_grid.c00.fold0"), "failed", r"100 % of {x}_y & #1 \ ~ ^ $ <é>")
    build_report(out)
    for path in sorted((out / "report/tables").glob("*.tex")):
        text = path.read_text(encoding="utf-8")
        body = text.split("\n", 1)[1]  # the first line is a comment
        assert re.findall(r"\\begin\{(\w+\*?)\}", body)[::-1] == re.findall(r"\\end\{(\w+\*?)\}", body)
        bare = re.sub(r"\\[\\&%$#_{}]", "", body)
        assert bare.count("{") == bare.count("}")
        assert bare.count("$") % 2 == 0
        assert not re.search(r"[%#]", bare)
        assert not re.search(r"[εβΔλ±×−–√]", body)
        columns = re.sub(r"p\{.*?\}", "p", body.split(r"\begin{tabular}{", 1)[1].split("\n", 1)[0])
        width = len(columns.removesuffix("}"))
        rows = [line for line in body.splitlines() if line.endswith(r"\\") and "multicolumn" not in line]
        assert {len(re.findall(r"(?<!\\)&", line)) for line in rows} <= {width - 1}


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex here")
def test_latex_compiles_with_booktabs_alone(out: Path, tmp_path: Path) -> None:
    build_report(out)
    tables = sorted(path for path in (out / "report/tables").glob("*.tex") if path.stem != "trials")
    inputs = "\n".join(rf"\input{{{path.as_posix()}}}\clearpage" for path in tables)
    source = rf"\documentclass{{article}}\usepackage{{booktabs}}\begin{{document}}{inputs}\end{{document}}"
    (tmp_path / "all.tex").write_text(source, encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]


def test_numbers_and_names_are_written_as_agreed() -> None:
    assert [decimal(85.495, 2), decimal(-0.005, 2), decimal(1234.5, 1), decimal(math.nan, 2)] == [
        "85.50",
        "−0.01",
        "1,234.5",
        "NaN",
    ]
    assert (points(0.003), points(-0.0267), points(None)) == ("+0.30", "−2.67", "n/a")
    assert mean_se_text(MeanSE(0.72, 0.0070711, 5, 0.0158)) == "72.00 ± 0.71"
    assert configuration_text({"k_delta": 2, "k_an": 4}) == "K_Δ = 2, K_an = 4"
    assert to_html("N_s < 2 & K_an") == "<i>N</i><sub>s</sub>\u00a0&lt;\u00a02 &amp; <i>K</i><sub>an</sub>"
    assert to_tex("K_Δ = 2 & 5 %_x") == r"$K_{\Delta}$ = 2 \& 5 \%\_x"
    assert to_md("a|b<c>") == r"a\|b\<c\>"
    assert key_of({"a": 1, "b": 2.0}) == key_of({"b": 2, "a": 1.0})


def test_utilisation_is_busy_time_over_slots_times_wall(out: Path) -> None:
    results = read_results(out)
    use = utilisation_of(results.study.executions, results.trials)
    assert use.busy_s == pytest.approx(147 * 11.5)
    assert use.share == pytest.approx(147 * 11.5 / 2400)
    assert math.isnan(utilisation_of([], results.trials).share)


def test_every_arm_reads_from_its_own_records(out: Path) -> None:
    results = read_results(out)
    assert len(results.trials) == 147
    assert {trial.status for trial in results.trials} == {"completed"}
    assert {arm.name: arm.configuration for arm in arm_summaries(results)} == {arm: best(arm) for arm in SPACES}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "holds no study.json"),
        ("{", "is not readable JSON"),
        ('{"schema": 9}', f"has schema 9, this version reads {SCHEMA}"),
        (f'{{"schema": {SCHEMA}}}', "is malformed: id: is missing; study: is missing"),
    ],
)
def test_a_folder_that_is_no_run_says_so(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "study.json").write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        build_report(tmp_path)


def test_reports_import_nothing_heavy() -> None:
    allowed = {"fmim_core.metric_names", "fmim_core.records"}  # and what the latter holds
    for path in Path(str(reports.__file__)).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                assert name.split(".")[0] not in {
                    "torch",
                    "ray",
                    "mlflow",
                    "optuna",
                    "studies",
                    "search_spaces",
                }
                assert not name.startswith("fmim_core") or ".".join(name.split(".")[:2]) in allowed
                assert name != "matplotlib.pyplot"


def test_an_arm_below_chance_is_named_with_the_usual_reason(out: Path) -> None:
    assert not any("Worse than a random ranking" in said for said in verdict_of_comparisons(read_results(out)).cautions)
    for seed in range(5):
        path = record(out, f"triplet_q1.c00.seed{seed}")
        metrics = json.loads(path.read_text())["metrics"]
        edit(path, metrics={**metrics, "test": {**metrics["test"], "mAP": 0.01}})
    said = next(said for said in verdict_of_comparisons(read_results(out)).cautions if "Worse than" in said)
    assert said.startswith("Worse than a random ranking: Triplet + Q1. Among equal similarities")


def test_the_tidy_file_has_every_arm_metric_and_year_beside_the_published_values(out: Path) -> None:
    build_report(out)
    rows = table(out, "automargin_vs_grid")
    assert list(rows[0]) == [
        "arm",
        "setting",
        "metric",
        "year",
        "mean",
        "se",
        "n",
        "published_mean",
        "published_se",
    ]
    assert len(rows) == 9 * 3 * (len(YEARS) + 1)
    found = {(row["arm"], row["metric"], row["year"]): row for row in rows}
    grid = found["triplet_grid", "mAP", "all"]
    assert (grid["setting"], grid["n"], grid["published_mean"]) == ("ε = 0.5", "5", "0.966")
    assert found["adatriplet_automargin", "CMC_1", "all"]["published_mean"] == "0.947"
    assert found["triplet_grid", "mAP", "1"]["published_mean"] == ""
