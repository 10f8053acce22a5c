"""Every number of ours beside the published one, with the difference and what may explain it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median
from typing import Any

from scipy.stats import spearmanr

from fmim_core.records import ArmEntry, flat
from fmim_reports.parts.tidy import ON
from fmim_reports.reading import published
from fmim_reports.reading.results import Results
from fmim_reports.stats import MeanSE, Uncertainty, welch
from fmim_reports.studies import contents_of
from fmim_reports.writing.columns import folded, under
from fmim_reports.writing.tables import Column, Table

AGREES, UNCERTAIN, UNEXPLAINED = "agrees", "too uncertain to tell", "differs, unexplained"
KNOWN = "differs, perhaps for a known reason"
NOT_CLAIMED, OTHER_IMAGES = "not claimed: other images", "other images"
BOUND = 2.0  # percentage points within which the whole 95 % interval of a difference lies where a value agrees
Row = Mapping[str, Any]
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
    "optimizer.kind": "adam",
    "lr_schedule.kind": "constant",
    "epochs": 100,
    "keep": "best_all_pairs",
}
"""The paper's training, section 4.1 and Suppl. Table 1(a); `first_layer` and `keep` as in its authors' code."""


PUBLISHED_NUMBERS: Mapping[str, Mapping[str, str]] = {
    "lambda_sweep": {"OAI": "Table 1(a)"},
    "automargin_vs_grid": {"OAI": "Tables 1(b) and 1(c)"},
    "margin_sensitivity": {"OAI": "Fig. 2(a)"},
    "hyperparameter_selection": {name: f"Suppl. Table 3 ({name})" for name in ("OAI", "CXR")},
    "baselines": {"OAI": "Suppl. Table 4", "CXR": "Suppl. Table 5"},
}
"""Where the single numbers of the paper stand that a study has as well, by the paper's data set."""


def differences(studies: Mapping[str, Results]) -> list[Row]:
    """Return a row for each value of these studies, by name, that has a published one, in the paper's order.

    Both are measured `on` the same: validation folds or the test set. Values are in percent: `ours` with its `se` over
    `n` replicates, `published` with its SE as printed, and the `difference` with its 95 % interval from `low` to
    `high`; `reasons` are the names of known differences from the paper with what they are.
    """
    return [row for study in PUBLISHED_NUMBERS if study in studies for row in _of_study(studies[study], study)]


def _of_study(results: Results, study: str) -> Iterator[Row]:
    items, data = PUBLISHED_NUMBERS[study], published.paper_data(results)
    data = data if data.name in items else published.OAI
    for row in contents_of(results).every_value(results).rows:
        if row["published_mean"] is None or row["mean"] is None or math.isnan(row["mean"]):
            continue
        ours = MeanSE(_percent(row["mean"]), _percent(row["se"]), row["n"], None)
        theirs = MeanSE(_percent(row["published_mean"]), _percent(row.get("published_se")), published.REPLICATES, None)
        arm = results.arm(row["arm"].name)
        known, found = reasons(results, data, arm, row["on"]), interval(ours, theirs)
        yield (
            {name: row[name] for name in ("setting", "metric", "time", "on", "n")}
            | {"item": items[data.name], "study": study, "arm": arm.label, "reasons": known, "known": ", ".join(known)}
            | {"ours": ours.mean, "se": ours.se, "published": theirs.mean, "published_se": theirs.se}
            | {"difference": ours.mean - theirs.mean, "low": found.low, "high": found.high}
            | {"agreement": agreement(found, known)}
        )


def _percent(fraction: Any) -> Any:
    """Return it without the digits that multiplying adds; None stays None."""
    return None if fraction is None else round(100 * fraction, 9)


def interval(ours: MeanSE, theirs: MeanSE) -> Uncertainty:
    """Return the 95 % t interval of ours less the published mean; None without an SE of ours, or with one of 0.

    Where no SE is printed, the published replicates are taken to vary as ours do, by one sd s with n − 1 degrees of
    freedom: se² = s² (1/n + 1/n_published).
    """
    if not ours.se:
        return Uncertainty()
    if theirs.se is None:
        ours = replace(ours, se=ours.se * math.sqrt(1 + ours.n / theirs.n))
    return welch(ours, theirs)


def reasons(results: Results, data: published.PaperData, arm: ArmEntry, on: str) -> dict[str, str]:
    """Return the known differences of an arm's values from the paper's by name, with what they are.

    Each may explain a difference, and none says how much of it.
    """
    study, on_test = results.study, on == ON["seed"]
    here = {"optimizer.kind": "adam", "lr_schedule.kind": "constant"} | dict(flat(study.train))  # written if others
    if "model.weights" in here:  # of these a model says how its first layer is made only where that is drawn
        here.setdefault("model.first_layer", "summed")
    other = [f"{name} {here.get(name, '–')} ({it})" for name, it in PAPER_TRAINING.items() if here.get(name) != it]
    found: dict[str, str] = {}
    if study.data.kind != data.kind:
        found[OTHER_IMAGES] = f"ours are {study.data.phrase}; the paper's are {data.images}"
    if other:
        found["other training"] = f"ours, and in brackets the paper's: {', '.join(other)}"
    if on_test and study.test_protocol != "fold_ensemble":
        found["other test protocol"] = (
            "ours tests one model per seed, trained on all development subjects; the paper averages five fold models"
        )
    if len(study.folds) not in (0, published.REPLICATES) and not on_test:
        found["number of folds"] = f"ours are {len(study.folds)}, the paper's {published.REPLICATES}"
    if notes := published.footnotes([published.loss_name(arm)]):
        found["released code"] = " ".join(notes)
    return found


def agreement(found: Uncertainty, known: Mapping[str, str]) -> str:
    """Say whether a value agrees with the published one, by the interval of the difference, in points.

    It agrees where the whole interval is within ±`BOUND`, so that a wide one never does; it differs where the interval
    excludes 0; else, and without an interval, nobody can tell. Of other images neither is claimed.
    """
    if OTHER_IMAGES in known:
        return NOT_CLAIMED
    if found.low is None or found.high is None:
        return UNCERTAIN
    if found.low >= -BOUND and found.high <= BOUND:
        return AGREES
    if found.low <= 0 <= found.high:
        return UNCERTAIN
    return KNOWN if known else UNEXPLAINED


def differences_table(found: Sequence[Row]) -> Table:
    """Return one row a value."""
    rows = [{**row, "rule": row["item"] != before["item"]} for before, row in pairwise([*found[:1], *found])]
    columns = [
        *under("", "text", item="In the paper", arm="Arm", metric="Metric", time="Time after baseline", on="On"),
        *under("Mean, %", "number", ours="Ours", published="Published"),
        *under("Difference, points", "number", difference="Mean", low="95 % from", high="to"),
        Column("agreement", "Agreement"),
        *folded(
            *under("", "text", setting="Setting", known="Known to be different here"),
            *under("SE, %", "number", se="Ours", published_se="Published"),
            Column("n", "n", "count"),
        ),
    ]
    text = (
        "Every number of ours that has a published one, both of validation folds or of the test set. Difference: ours "
        f"minus published, with Welch's 95 % t interval. It agrees where the whole interval is within ±{BOUND:g} "
        "points, and differs where the interval excludes 0; else it is too uncertain to tell."
    )
    how = (
        "Where no SE is printed, the published folds are taken to vary as ours. With one replicate a difference is too "
        "uncertain to tell. One interval in twenty misses by chance, and of folds more, since they share training "
        "subjects. On other images than the paper's neither agreement nor a difference is claimed. A known difference "
        "may explain the distance and need not."
    )
    title, empty = "Ours beside the published values", "No value is there yet."
    return Table("differences", title, text, columns, rows, empty=empty, how=how)


def agreement_table(found: Sequence[Row]) -> Table:
    """Return one row for each table or figure of the paper with numbers: how many agree, and how far others are."""
    rows = []
    for item in dict.fromkeys(row["item"] for row in found):
        of_item = [row for row in found if row["item"] == item]
        distance = median(abs(row["difference"]) for row in of_item)
        of = {name: of_item[0][name] for name in ("item", "study", "on")}
        rows.append({**of, "median": distance, "order": order_agreement(of_item)} | counted(of_item))
    columns = [
        *under("", "text", item="In the paper", study="Study", on="On"),
        *under("", "count", values="Values", agree="Agree", uncertain="Too uncertain"),
        *under("Differ", "count", known="Known reason", unexplained="Unexplained"),
        *under("", "count", not_claimed="Not claimed"),
        *under("", "number", median="Distance, points", order="Order, ρ"),
    ]
    text = (
        f"How many of our numbers agree with the published ones within ±{BOUND:g} points, by the whole 95 % interval "
        "of the difference; how many are too uncertain to tell, or differ; and of how many no agreement is claimed, "
        "since the images are others."
    )
    how = (
        f"{published.TABLE_1A} Distance: the median. Order: Spearman's rank correlation of our mAP over all times with "
        "the published one over that table's or figure's rows, 1 where both have the same order."
    )
    return Table("agreement", "Agreement with the paper", text, columns, rows, empty="No value is there yet.", how=how)


def counted(found: Sequence[Row]) -> dict[str, int]:
    """Return how many values there are, and how many of each kind of agreement."""
    why = Counter(row["agreement"] for row in found)
    kinds = {"agree": AGREES, "uncertain": UNCERTAIN, "known": KNOWN, "unexplained": UNEXPLAINED}
    return {"values": len(found), "not_claimed": why[NOT_CLAIMED]} | {name: why[kind] for name, kind in kinds.items()}


def answer(found: Sequence[Row], images: str) -> str:
    """Say in a sentence or two how many numbers agree; on other images, that no agreement is claimed."""
    if not found:
        return "No number that the paper has is there yet."
    same = [row for row in found if row["agreement"] != NOT_CLAIMED]
    if not same:
        return f"No agreement with the paper is claimed, because our images differ ({images})."
    return (
        "Of {values} numbers that the paper has for the same images, {agree} agree with ours within ±{bound:g} "
        "points, {uncertain} are too uncertain to tell, {known} differ, perhaps for a known reason, and "
        "{unexplained} differ without an explanation."
    ).format(**counted(same), bound=BOUND)


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
