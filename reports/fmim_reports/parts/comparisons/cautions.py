"""What the comparisons of a study hold for, and what they do not show."""

from __future__ import annotations

from collections.abc import Sequence

from fmim_reports.parts.comparisons.comparison import Comparison, comparisons
from fmim_reports.parts.comparisons.pipelines import FEWEST_SPLITS, PIPELINES, headlines
from fmim_reports.reading.results import Results
from fmim_reports.writing.formats import listed, points


def moves_caution(found: Sequence[Comparison]) -> str:
    """Name the differences that longer training changes by more than the margin; empty if there are none."""
    moving = {one.heading: one.longer for one in found if one.moves and one.longer}
    changes = listed(f"{name} ({points(change, 1)} points)" for name, (_, change) in moving.items())
    factors = listed(dict.fromkeys(f"{variation.factor:g}" for variation, _ in moving.values()), "or")
    why = f"Training {factors} times as long changes these differences by more than the margin of equivalence"
    return f"{why}, so they have no verdict: {changes}." if moving else ""


def scope_caution(results: Results) -> list[str]:
    """Say for what differences hold, and what no interval covers; nothing without comparisons."""
    if not (found := headlines(results)):
        return []
    if found[0].claim is PIPELINES:
        return [
            "The differences hold for whole pipelines: a new search on another split of these subjects, and its winner "
            "with another seed. No interval covers other development subjects."
        ]
    if not results.selects:
        return ["The differences hold for these configurations."]
    later = f" Reports compare whole pipelines once {FEWEST_SPLITS} search splits are finished." * (
        results.study.search_splits >= FEWEST_SPLITS
    )
    return [
        "The differences hold for the selected configurations. Another search may select others; no interval covers "
        f"that.{later}"
    ]


def _looks_note(results: Results) -> str:
    """Say at how many seeds the study looked, what that saved, and what it means for the tests."""
    if not (looks := results.study.looks):
        return ""
    found = comparisons(results)
    seeds = max(one.planned for one in found)
    missing = any(trial.status == "missing" for trial in results.trials if trial.stage == "replicate")
    saved = looks[-1] - seeds
    ended = f"It stopped at {seeds} seeds, {saved} before the last look." if saved else f"It used all {seeds} seeds."
    ended = f"It has {seeds} seeds so far." if missing or (saved and any(one.undecided for one in found)) else ended
    return (
        f"The study adds seeds until every comparison is decided. It looks at {listed(map(str, looks))} seeds, as "
        f"planned beforehand. {ended} p values are divided by each look's share of the seeds, so at most 5 % of "
        "studies show something that is not there; intervals are not corrected for looking."
    )


def comparison_cautions(results: Results) -> list[str]:
    """Say how differences are corrected and what they do not show."""
    found = headlines(results)
    sentences = ["Inconclusive is no evidence of equivalence."] * any(one.p for one in found)
    if len(found) > 1:
        claims = len(results.study.claims)
        other = f", {claims} other differences" * bool(claims)
        sentences.append(
            f"p values are Holm-corrected, separately for the {len(found) - claims} differences of the question{other} "
            "and the equivalence tests; intervals are not."
        )
    return [*sentences, *filter(None, [_looks_note(results)])]
