"""What a report says: its verdict, captions and test protocol, and that its page stands by itself."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from scipy.stats import ttest_1samp

from fmim_core.records import Member, Record
from fmim_reports.build import build_report, provenance
from fmim_reports.parts.arms import arms_table, leads_caution
from fmim_reports.parts.verdict import cautions, epochs_caution, verdict_of_comparisons
from fmim_reports.reading import published
from fmim_reports.reading.results import read_results
from fmim_reports.writing.captions import OTHER_DEVICE, curve_model, protocol_sentence
from fmim_reports.writing.captions import test_models as models_tested
from tests.support.factories import make_out
from tests.support.file_contents import edit, edit_cost, record
from tests.support.reports import elements


def test_verdict_says_numbers_data_and_what_is_not_shown(out: Path) -> None:
    said = verdict_of_comparisons(read_results(out))
    assert said.answer.startswith("On these synthetic images, AutoMargin is inconclusive against grid search")
    assert "40 subjects, 146 queries" in said.lead
    assert "random ranking has an mAP of 5.00 %" in said.lead
    assert said.findings[1] == (
        "AdaTriplet: AutoMargin scored 0.5 points higher than grid search in mAP (95 % CI −2.7 to +3.7): inconclusive, "
        "with 1/4 of the search epochs."
    )
    heading, facts = said.details[1]
    assert heading == "AdaTriplet: AutoMargin against grid search"
    numbers = {
        "Test mAP": ("75.50 ± 0.71 % (n = 5", "75.00 ± 0.71 % (n = 5"),
        "Mean difference": ("+0.50 points, 95 % CI −2.67 to +3.67",),
        "Test of the difference": ("p = 0.684; p = 1.000 by Holm over 2", "3.67"),
        "Equivalence": ("±1 point", "p = 0.342; p = 0.684 by Holm over 2"),
        "Power": ("5 seeds detect a 4.3-point difference 80 %", "equivalent 1 % of"),
    }
    assert list(dict(facts)) == list(numbers)
    assert [part for name, parts in numbers.items() for part in parts if part not in dict(facts)[name]] == []
    cautions = " ".join(said.cautions)
    assert "only 40 subjects" in cautions
    assert "2 of 146 test queries have no match" in cautions


def test_page_is_self_contained_and_accessible(reported: Path) -> None:
    text = (reported / "report" / "index.html").read_text(encoding="utf-8")
    found = elements(text)
    tags = [tag for tag, _ in found]
    loads = [given[name] for _, given in found for name in ("src", "href", "xlink:href", "srcset") if name in given]
    assert not [load for load in loads if re.match(r"(https?:)?//", load)]
    assert not re.search(r"@import|url\(\s*['\"]?https?:", text)
    assert '<html lang="en">' in text
    assert "prefers-color-scheme: dark" in text
    assert tags.count("table") == tags.count("caption")
    assert [bool(given["role"] == "img" and given["aria-label"]) for tag, given in found if tag == "svg"] == [True] * 12
    ids = [given["id"] for _, given in found if "id" in given and not re.search(r"-DejaVu", given["id"])]
    assert len(ids) == len(set(ids))
    inside = [load for load in loads if not load.startswith(("#", "data:"))]
    assert inside
    assert all((reported / "report" / load).exists() for load in inside)


def test_files_say_that_the_images_are_synthetic_and_the_page_says_it_once(reported: Path) -> None:
    text = (reported / "report" / "index.html").read_text(encoding="utf-8")
    text = re.sub(r"<(template|svg|title)\b.*?</\1>", "", text, flags=re.DOTALL)
    captions = re.findall(r"<caption.*?</caption>|<figcaption>.*?</figcaption>", text, flags=re.DOTALL)
    assert len(captions) > 15
    assert not [caption for caption in captions if "synthetic" in caption]
    assert text.count('<li class="synthetic">') == 1
    for path in (*(reported / "report/tables").glob("*.tex"), *(reported / "report/tables").glob("*.md")):
        assert "synthetic, not radiographs" in path.read_text(encoding="utf-8")


def test_real_data_are_not_called_synthetic(tmp_path: Path) -> None:
    out = make_out(tmp_path / "out", synthetic=False, arms=("triplet_grid", "triplet_automargin"))
    text = build_report(out).read_text(encoding="utf-8")
    assert "On oai, AutoMargin" in text
    assert "phantom" not in text
    assert "<li>Data: oai</li>" in text


def test_an_arm_below_chance_is_named_and_called_collapsed_where_nothing_tells_images_apart(out: Path) -> None:
    def said(words: str) -> list[str]:
        return [line for line in verdict_of_comparisons(read_results(out)).cautions if words in line]

    assert said("Worse than a random ranking") == said("Collapsed") == []
    for seed in range(5):
        path = record(out, f"triplet_q1.c00.seed{seed}")
        metrics = json.loads(path.read_text())["metrics"]
        edit(path, metrics={**metrics, "test": {**metrics["test"], "mAP": 0.01}})
    assert said("Worse than a random ranking") == ["Worse than a random ranking: Triplet + Q1."]
    for seed in range(4):
        path = record(out, f"triplet_q1.c00.seed{seed}")
        edit(path, history=[row | {"delta_mean": 1e-7} for row in json.loads(path.read_text())["history"]])
    (collapsed,) = said("Collapsed")
    assert "Triplet + Q1 (4 of 5 seeds)" in collapsed
    assert said("Worse than a random ranking: ") == []
    assert collapsed in arms_table(read_results(out)).all_notes
    edit(out / "study.json", comparisons=[["triplet_q1", "triplet_q2"]])
    assert "Q1 has collapsed" in verdict_of_comparisons(read_results(out)).findings[0]


@pytest.mark.parametrize(("gains", "noise"), [((0.01, 0.03, -0.01), True), ((0.02, 0.021, 0.019), False)])
def test_a_lead_over_the_second_configuration_that_is_noise_is_named(
    out: Path, gains: tuple[float, ...], noise: bool
) -> None:
    for fold, gain in enumerate(gains):
        for number, value in ((0, 0.8), (1, 0.8 - gain)):
            path = record(out, f"triplet_automargin.c{number:02d}.fold{fold}")
            metrics = json.loads(path.read_text())["metrics"]
            edit(path, metrics={**metrics, "validation": {**metrics["validation"], "mAP": value}})
    (said,) = leads_caution(read_results(out)) or [""]
    assert bool(ttest_1samp(gains, 0).pvalue > 0.05) is noise
    assert (f"Triplet + AutoMargin (+{100 * sum(gains) / 3:.1f} points)" in said) is noise
    assert "Triplet + Q1" not in said  # it had one configuration


def test_the_report_names_the_devices_and_says_if_they_differ(out: Path) -> None:
    def said() -> tuple[str, list[str]]:
        results = read_results(out)
        return dict(provenance(results))["Devices"], [line for line in cautions(results) if " kinds of device" in line]

    assert said() == (f"cpu. {OTHER_DEVICE}.", [])
    paths = sorted((out / "records").glob("triplet_q?.c00.seed?.json"))
    for path in paths[1:]:
        edit(path, environment={"processor": "Fast CPU", "cpu_capability": "AVX2"})
    assert said() == (f"Fast CPU (AVX2, 1 thread), cpu. {OTHER_DEVICE}.", [])  # nobody knows what the others ran on
    edit_cost(paths[1], device_share=2.5)
    edit_cost(paths[0], device="H200")
    devices, (caution,) = said()
    assert devices.startswith("Fast CPU (AVX2, 1 thread), Fast CPU (AVX2, 2 threads), H200, cpu. ")
    assert f": {len(paths) - 2} on Fast CPU (AVX2, 1 thread), 1 on " in caution


@pytest.mark.parametrize(("protocol", "models", "keep"), [("retrained", 1, "last"), ("fold_ensemble", 5, "best")])
def test_the_report_says_what_a_seed_tests(tmp_path: Path, protocol: str, models: int, keep: str) -> None:
    out = make_out(tmp_path)
    train = json.loads((out / "study.json").read_text())["train"] | {"epochs": 3, "keep": keep}
    edit(out / "study.json", test_protocol=protocol, models_per_replicate=models, train=train)
    results = read_results(out)
    said = protocol_sentence(results)
    assert said in cautions(results)
    assert ("Test protocol", said) in provenance(results)
    assert (f"tests {models} models" in said, "tests one model" in said) == (models > 1, models == 1)
    assert f"kept at its {'best validation' if keep == 'best' else 'last'} epoch" in said
    assert ("first fold" in curve_model(results)) is (models > 1)
    assert models_tested(results).startswith(f"{models} models per seed" if models > 1 else "one model per seed")


def test_epochs_are_counted_by_model(tmp_path: Path) -> None:
    out = make_out(tmp_path)
    for path in (out / "records").glob("*.json"):
        record = Record.read(path)
        one = Member(fold=0, seed=0, kept_epoch=1, validation=None, history=record.history)
        cost = record.cost.model_copy(update={"epochs": 100})
        record.changed({"members": (one,) * 5, "cost": cost}).save(out)
    assert epochs_caution(read_results(out), "So.") == [
        "Models trained for 20 epochs; the paper's trained for 100. So."
    ]


def test_published_values_have_their_footnotes() -> None:
    notes = published.footnotes(["SCT", "Triplet", None, "ArcFace"], ["mAP", "mAP_at_R"])
    assert [note.partition(":")[0] for note in notes] == ["Published SCT", "Published ArcFace", "Published mAP@R"]
    assert published.footnotes(["AdaTriplet", "WAT"]) == []
    assert published.by_year("Triplet", "CMC_1_all_shots", None, "OAI") is not None
    assert published.by_year("Triplet", "CMC_1", None, "OAI") is None  # the first hit was not published
