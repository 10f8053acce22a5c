"""Every number of ours beside the published one, with the difference and what may explain it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from scipy.stats import spearmanr

from fmim_core.records import ArmEntry, flat
from fmim_reports.reading import published
from fmim_reports.reading.results import Results
from fmim_reports.studies import contents_of
from fmim_reports.writing.columns import under
from fmim_reports.writing.tables import Column, Table

WITHIN, UNEXPLAINED = "within 2 SE", "unexplained"
STANDARD_ERRORS = 2.0
Row = Mapping[str, Any]
PAPER_DATA = "oai"
PAPER_TEST_PROTOCOL = "fold_ensemble"
PAPER_TRAINING: Mapping[str, Any] = {
    "model.kind": "resnet18",
    "model.weights": "imagenet",
    "model.first_layer": "random",
    "model.embedding_dim": 128,
    "augmentation.crop": 256,
    "batches.subjects_per_batch": 32,
    "batches.images_per_subject": 4,
    "learning_rate": 1e-4,
    "weight_decay": 1e-4,
    "epochs": 100,
    "keep": "best_all_pairs",
}
"""The paper's training, section 4.1 and Suppl. Table 1(a); `first_layer` and `keep` as in its authors' code."""


@dataclass(frozen=True)
class PublishedNumbers:
    """Single numbers of the paper that a study has as well: where they stand, and on what each of the two is."""

    study: str
    label: str
    published_on: str
    ours_on: str


PUBLISHED_NUMBERS = (
    PublishedNumbers("lambda_sweep", "Table 1(a)", "validation folds", "test set"),
    PublishedNumbers("automargin_vs_grid", "Tables 1(b) and 1(c)", "validation folds", "test set"),
    PublishedNumbers("margin_sensitivity", "Fig. 2(a)", "validation folds", "validation folds"),
    PublishedNumbers("hyperparameter_selection", "Suppl. Table 3", "validation folds", "validation folds"),
    PublishedNumbers("baselines", "Suppl. Table 4", "test set", "test set"),
)


def differences(studies: Mapping[str, Results]) -> list[Row]:
    """Return a row for each value of these studies, by name, that has a published one, in the paper's order.

    Values are in percent: `ours` with its `se` over `n` replicates, `published` with its SE as printed, and the
    `difference`; `reasons` are the names of known differences from the paper with what they are.
    """
    found = [numbers for numbers in PUBLISHED_NUMBERS if numbers.study in studies]
    return [row for numbers in found for row in _of_study(studies[numbers.study], numbers)]


def _of_study(results: Results, numbers: PublishedNumbers) -> Iterator[Row]:
    for row in contents_of(results).every_value(results).rows:
        if row["published_mean"] is None or row["mean"] is None or math.isnan(row["mean"]):
            continue
        ours, published = _percent(row["mean"]), _percent(row["published_mean"])
        se, published_se = (None if row.get(key) is None else _percent(row[key]) for key in ("se", "published_se"))
        arm = results.arm(row["arm"].name)
        known = reasons(results, numbers, arm)
        yield {
            **{name: row[name] for name in ("setting", "metric", "time", "n")},
            "item": numbers.label,
            "study": numbers.study,
            "arm": arm.label,
            "reasons": known,
            "ours": ours,
            "se": se,
            "published": published,
            "published_se": published_se,
            "difference": ours - published,
            "explanation": explanation(ours - published, se, published_se, known),
        }


def _percent(fraction: float) -> float:
    """Return it without the digits that multiplying adds."""
    return round(100 * fraction, 9)


def reasons(results: Results, numbers: PublishedNumbers, arm: ArmEntry) -> dict[str, str]:
    """Return the known differences of an arm's values from the paper's by name, with what they are.

    Each may explain a difference, and none says how much of it.
    """
    study, ours, theirs = results.study, numbers.ours_on, numbers.published_on
    here = dict(flat(study.train))
    if "model.weights" in here:  # of these a model says how its first layer is made only where that is drawn
        here.setdefault("model.first_layer", "summed")
    other = [f"{name} {here.get(name, '–')} ({it})" for name, it in PAPER_TRAINING.items() if here.get(name) != it]
    found: dict[str, str] = {}
    if study.data.kind != PAPER_DATA:
        found["other images"] = f"ours are {results.study.data.phrase}; the paper's are knee radiographs of the OAI"
    if other:
        found["other training"] = f"ours, and in brackets the paper's: {', '.join(other)}"
    if ours == "test set" and study.test_protocol != PAPER_TEST_PROTOCOL:
        found["other test protocol"] = (
            "ours tests one model a seed, trained on all development subjects; the paper averages five fold models"
        )
    if ours != theirs:
        found["other subjects"] = f"ours are on the {ours}, the paper's on its {theirs}"
    if notes := published.footnotes([published.loss_name(arm)]):
        found["released code"] = " ".join(notes)
    return found


def explanation(difference: float, se: float | None, published_se: float | None, known: Mapping[str, str]) -> str:
    """Say that a difference is within its uncertainty, or what may explain it, or that nothing does.

    It is within |ours − published| ≤ 2 √(SE² + published SE²), a published SE that is not known being 0; not without
    ours.
    """
    if se is not None and abs(difference) <= STANDARD_ERRORS * math.hypot(se, published_se or 0.0):
        return WITHIN
    return ", ".join(known) or UNEXPLAINED


def differences_table(found: Sequence[Row]) -> Table:
    """Return one row a value."""
    rows = [{**row, "rule": row["item"] != before["item"]} for before, row in pairwise([*found[:1], *found])]
    columns = [
        Column("item", "In the paper"),
        *under("", "text", arm="Arm", setting="Setting", metric="Metric", time="Time after baseline"),
        *under("Ours, %", "number", ours="Mean", se="SE"),
        Column("n", "n", "count", "Ours, %"),
        *under("Published (OAI), %", "number", published="Mean", published_se="SE"),
        Column("difference", "Difference, points", "number"),
        Column("explanation", "What may explain it"),
    ]
    text = (
        "Every number of ours that has a published one. Difference: ours minus published, percentage points. Within "
        "2 SE: at most 2 √(SE² + published SE²), where a published SE that is not printed counts as 0. Else what is "
        "known to be different here, which may explain it and need not; unexplained where nothing is."
    )
    return Table("differences", "Ours beside the published values", text, columns, rows, empty="No value is there yet.")


def agreement_table(found: Sequence[Row]) -> Table:
    """Return one row for each table or figure of the paper with numbers: how many differ by how much, and why."""
    rows = []
    for item in dict.fromkeys(row["item"] for row in found):
        of_item = [row for row in found if row["item"] == item]
        distance = median(abs(row["difference"]) for row in of_item)
        rows.append(
            {"item": item, "study": of_item[0]["study"], "median": distance, "order": order_agreement(of_item)}
            | counted(of_item)
        )
    columns = [
        *under("", "text", item="In the paper", study="Study"),
        *under("", "count", values="Values", within="Within 2 SE", known="Known difference", unexplained="Unexplained"),
        *under("", "number", median="Distance, points", order="Order, ρ"),
    ]
    text = (
        "How far our numbers are from the published ones, and how many of them something known may explain. Where few "
        "seeds or folds make an SE wide, within 2 SE says little. Distance: the median. Order: Spearman's rank "
        "correlation of our mAP over all times with the published one over that table's or figure's rows, 1 where both "
        "have the same order."
    )
    return Table("agreement", "Agreement with the paper", text, columns, rows, empty="No value is there yet.")


def counted(found: Sequence[Row]) -> dict[str, int]:
    """Return how many values there are, are within their uncertainty, have a known difference, and are unexplained."""
    why = Counter(row["explanation"] for row in found)
    known = len(found) - why[WITHIN] - why[UNEXPLAINED]
    return {"values": len(found), "within": why[WITHIN], "known": known, "unexplained": why[UNEXPLAINED]}


def order_agreement(found: Sequence[Row]) -> float | None:
    """Return Spearman's ρ of mAP over all times, ours against published; None of fewer than three or all equal ones."""
    pairs = [(row["ours"], row["published"]) for row in found if (row["metric"], row["time"]) == ("mAP", "all")]
    if len(pairs) < 3 or any(len(set(values)) == 1 for values in zip(*pairs, strict=True)):
        return None
    return float(spearmanr(*zip(*pairs, strict=True)).statistic)


def reason_sentences(found: Sequence[Row]) -> list[str]:
    """Say what each known difference is, once for all studies that it is the same in."""
    told: dict[tuple[str, str], list[str]] = {}
    for row in found:
        for reason in row["reasons"].items():
            told.setdefault(reason, []).append(row["item"])
    return [
        f"{name.capitalize()} ({', '.join(dict.fromkeys(items))}): {about.rstrip('.')}."
        for (name, about), items in told.items()
    ]
