"""How test values came about is said, and what the published ones beside them are."""

from __future__ import annotations

from pathlib import Path

import pytest

from fmim_core.records import Member, Record
from fmim_reports.build import provenance
from fmim_reports.parts.verdict import cautions, epochs_caution
from fmim_reports.reading import published
from fmim_reports.reading.results import read_results
from fmim_reports.writing.captions import curve_model, protocol_sentence
from fmim_reports.writing.captions import test_models as models_tested
from tests.support.factories import make_out
from tests.support.file_contents import edit


@pytest.mark.parametrize(("protocol", "models", "keep"), [("retrained", 1, "last"), ("fold_ensemble", 5, "best")])
def test_the_report_says_what_a_seed_tests(tmp_path: Path, protocol: str, models: int, keep: str) -> None:
    out = make_out(tmp_path)
    train = {"epochs": 3, "keep": keep}
    edit(out / "study.json", test_protocol=protocol, models_per_replicate=models, train=train)
    results = read_results(out)
    said = protocol_sentence(results)
    assert said in cautions(results)
    assert ("Test protocol", said) in provenance(results)
    assert (f"of {models} models a seed" in said, "of one model a seed" in said) == (models > 1, models == 1)
    assert f"kept at its {'best validation' if keep == 'best' else 'last'} epoch" in said
    assert ("first fold" in curve_model(results)) is (models > 1)
    assert models_tested(results).startswith(f"{models} models a seed" if models > 1 else "one model a seed")


def test_epochs_are_counted_by_model(tmp_path: Path) -> None:
    out = make_out(tmp_path)
    for path in (out / "records").glob("*.json"):
        record = Record.read(path)
        one = Member(fold=0, seed=0, kept_epoch=1, validation=None, history=record.history)
        cost = record.cost.model_copy(update={"epochs": 100})
        record.changed({"members": (one,) * 5, "cost": cost}).save(out)
    assert epochs_caution(read_results(out), "So.") == [
        "Models trained for 20 epochs, the paper's for 100. So.",
    ]


def test_published_values_have_their_footnotes() -> None:
    notes = published.footnotes(["SCT", "Triplet", None, "ArcFace"], ["mAP", "mAP_at_R"])
    assert [note.partition(":")[0] for note in notes] == ["Published SCT", "Published ArcFace", "Published mAP@R"]
    assert published.footnotes(["AdaTriplet", "WAT"]) == []
    assert published.by_year("Triplet", "CMC_1_all_shots", None) is not None
    assert published.by_year("Triplet", "CMC_1", None) is None  # the first hit was not published
