"""What the comparisons of a study hold for, and what they do not show."""

from __future__ import annotations

from fmim_reports.parts.comparisons.comparison import Comparison, comparisons, different_tasks_note
from fmim_reports.parts.comparisons.pipelines import FEWEST_SPLITS, PIPELINES, headlines
from fmim_reports.reading.results import Results


def _hold_for(results: Results, one: Comparison) -> str:
    """Say of what differences hold, and what no interval covers."""
    if one.claim is PIPELINES:
        return (
            "Differences hold for whole pipelines: the search anew on other splits of these development subjects into "
            "folds, and its winner trained with another seed. No interval here covers other development subjects."
        )
    if not results.selects:
        return "Differences hold for these configurations."
    later = f" Whole pipelines are compared once {FEWEST_SPLITS} search splits are finished." * (
        results.study.search_splits >= FEWEST_SPLITS
    )
    return (
        "Differences hold for the selected configurations: another search may select others, and no interval here "
        f"covers that.{later}"
    )


def _looks_note(results: Results) -> str:
    """Say when it was looked if comparisons are decided, what that saved, and what it means for the tests."""
    if not (looks := results.study.looks):
        return ""
    found = comparisons(results)
    seeds = max(one.planned for one in found)
    missing = any(trial.status == "missing" for trial in results.trials if trial.stage == "replicate")
    saved = looks[-1] - seeds
    ended = f"it ended {saved} seeds before the last look, with" if saved else "it ended at the last look, with"
    ended = "so far there are" if missing or (saved and any(one.undecided for one in found)) else ended
    return (
        "Seeds of compared arms are added until every comparison is decided, with looks at "
        f"{', '.join(map(str, looks))} seeds, fixed beforehand: {ended} {seeds}. Each look's p values are divided by "
        "its share of the seeds, so that all looks together show what is not there in at most 5 % of studies; "
        "intervals are not corrected for looking."
    )


def comparison_cautions(results: Results) -> list[str]:
    """Say of what and with which correction differences hold, and which comparisons test nothing."""
    found = headlines(results)
    if not found:
        return []
    sentences = [_hold_for(results, found[0])]
    if any(one.p for one in found):
        sentences.append("Where no difference is shown, that alone is no evidence of equivalence.")
    if len(found) > 1:
        claims = len(results.study.claims)
        apart = f", by themselves over the {claims} that the question is not about," * bool(claims)
        sentences.append(
            f"The verdict goes by p values that are corrected (Holm) over the {len(found) - claims} differences{apart} "
            "and by themselves over the equivalences; the intervals are each by itself, not corrected."
        )
    return [*sentences, *filter(None, [_looks_note(results), different_tasks_note(found)])]
