"""The answer to a study's question in one sentence, built from the comparisons that it declared."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from typing import Any

from fmim_reports.parts.comparisons.comparison import Comparison, is_claim
from fmim_reports.parts.comparisons.difference import CHANGING
from fmim_reports.parts.comparisons.pipelines import headlines
from fmim_reports.parts.comparisons.words import margin_text, no_answer, share_text
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import arm_summaries
from fmim_reports.writing.formats import in_percent, listed, mean_se_text, named, points

MOST_WORDS = 40
_MOST_NAMED = (9, 3, 2, 1)  # arms in a list, before they are counted: the first with which the sentence is short enough


@dataclass(frozen=True)
class _Part:
    """Comparisons that show the same: each of the arms against each of the others, in each of the groups."""

    shown: str
    arms: tuple[str, ...]
    others: tuple[str, ...]
    groups: tuple[str, ...]
    found: tuple[Comparison, ...]


def answer_sentence(results: Results) -> str:
    """Return `On these synthetic images, AutoMargin matches grid search (within ±2 points), with 1/4 of the …`.

    It says what the tests show of each comparison that the question is about, in at most `MOST_WORDS` words, and what
    the searches cost. Without comparisons it names the best arm; of a preset without an answer it says that.
    """
    if not results.study.answers:
        return no_answer(results)
    on = f"n {'these synthetic images' if results.study.data.synthetic else results.study.data.phrase}, "
    if not (declared := headlines(results)):
        return _best_arm(results, f"O{on}")
    found = [one for one in declared if not is_claim(results, one)] or list(declared)
    whole = all(trial.status != "missing" for trial in results.trials)
    start, costs = (f"O{on}", _costs(found)) if whole else (f"So far, o{on}", "")
    parts = _parts(found)
    texts = (f"{start}{_in_words(parts, most)}{cost}." for cost in (costs, "") for most in _MOST_NAMED)
    counts = {shown: sum(len(part.found) for part in parts if part.shown == shown) for shown in _SHOWN}
    counted = listed(f"{count} {shown}" for shown, count in counts.items() if count)
    in_short = f"{start}the {len(found)} comparisons are: {counted}{costs}."
    return next((text for text in texts if len(text.split()) <= MOST_WORDS), in_short)


def _best_arm(results: Results, on: str) -> str:
    """Name the arm with the best test mean."""
    metric = results.metric
    tested = [arm for arm in arm_summaries(results) if arm.test.stat.n and not math.isnan(arm.test.stat.mean)]
    if not tested:
        return "No arm has a test result yet."
    best = (max if metric.higher_is_better else min)(tested, key=lambda arm: arm.test.stat.mean)
    among = f", the best mean of {len(tested)} arms" if len(tested) > 1 else ""
    return f"{on}{best.label} has a test {metric.label} of {mean_se_text(best.test.stat)} %{among}."


def _parts(found: Iterable[Comparison]) -> list[_Part]:
    """Return the comparisons joined where they differ in one name alone, in the order of `_SHOWN`."""
    parts = [_Part(one.shown, one.names[:1], one.names[1:], (one.group,), (one,)) for one in found]
    for field in ("groups", "arms", "others"):
        alike: dict[_Part, list[_Part]] = {}
        without: dict[str, Any] = {field: (), "found": ()}
        for part in parts:
            alike.setdefault(replace(part, **without), []).append(part)
        parts = []
        for part, same in alike.items():
            joined: dict[str, Any] = {name: tuple(chain(*(getattr(one, name) for one in same))) for name in without}
            parts.append(replace(part, **joined))
    return sorted(parts, key=lambda part: list(_SHOWN).index(part.shown))


def _in_words(parts: Sequence[_Part], most: int) -> str:
    """Say of each list of arms what is shown, an arm after the other."""
    by_arms: dict[tuple[str, ...], list[_Part]] = {}
    for part in parts:
        by_arms.setdefault(part.arms, []).append(part)
    several, clauses = len({group for part in parts for group in part.groups}) > 1, []
    for arms, of_arms in by_arms.items():
        said, before = list[str](), tuple[str, ...]()
        for part in of_arms:
            verb, verbs, detail = _SHOWN[part.shown]
            again = "it" if len(part.others) == 1 else "them"
            text = f"{verbs if len(arms) > 1 else verb} {again if part.others == before else named(part.others, most)}"
            text += f" with {named(part.groups, most, 'groups')}" if several and any(part.groups) else ""
            said.append(f"{text}{f' ({more})' if (more := detail(part)) else ''}")
            before = part.others
        clauses.append(f"{named(arms, most)} {listed(said)}")
    return f"{'; '.join(clauses)}{parts[0].found[0].claim.added}"


def _within(part: _Part) -> str:
    return f"within ±{margin_text(part.found[0].margin)}"


def _sizes(part: _Part) -> str:
    """Return `1.5 points lower`, or the range of several differences."""
    values = sorted(one.value for one in part.found if one.value is not None)
    if values[0] * values[-1] <= 0:
        return f"{' to '.join(dict.fromkeys(points(value, 1) for value in (values[0], values[-1])))} points"
    sizes = dict.fromkeys(in_percent(abs(value), 1) for value in sorted((values[0], values[-1]), key=abs))
    metric = part.found[0].metric
    where = "" if metric.higher_is_better else f" {metric.label}"
    return f"{' to '.join(sizes)} points {'lower' if values[0] < 0 else 'higher'}{where}"


def _costs(found: Sequence[Comparison]) -> str:
    """Return `, with 1/16 to 1/2 of the search epochs`; nothing unless each search has trained, and is over."""
    if not all(one.a.cost.epochs and one.b.cost.epochs and one.searches_are_over for one in found):
        return ""
    return f", with {share_text([Fraction(one.a.cost.epochs, one.b.cost.epochs) for one in found])}"


_SHOWN: dict[str, tuple[str, str, Callable[[_Part], str]]] = {
    "better": ("beats", "beat", _sizes),
    "equivalent": ("matches", "match", _within),
    "worse": ("scores worse than", "score worse than", _sizes),
    "inconclusive": ("is inconclusive against", "are inconclusive against", _sizes),
    CHANGING: ("is undecided against", "are undecided against", lambda _: "longer training changes it"),
    "not tested": ("cannot be tested against", "cannot be tested against", lambda _: ""),
    "not compared": ("cannot be compared yet with", "cannot be compared yet with", lambda _: ""),
}
"""By what a comparison shows, in this order: the verb for one arm and for several, and what stands in brackets."""
