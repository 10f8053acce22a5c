"""The answer in words, with its numbers: what was found, on which data, and what that does not show."""

from __future__ import annotations

import math
from dataclasses import dataclass

from reports.parts.comparisons import Contest, contests
from reports.parts.overview import data_phrase
from reports.reading.results import Results
from reports.reading.summary import ArmSummary, Estimate, arm_summaries, test_facts
from reports.stats import PairedDifference, smallest_difference
from reports.writing.formats import configuration_text, decimal, mean_se_text, p_text, percent, points

FEW_SUBJECTS = 100
PAPER_EPOCHS = 100
AUTOMARGIN_NEEDS_EPOCHS = "AutoMargin adapts its margins once an epoch, so a short training tells little about it."


@dataclass(frozen=True)
class Verdict:
    """`findings` answer the question, `cautions` say what they do not show, `cards` are the figures at a glance."""

    lead: str
    findings: tuple[str, ...]
    cautions: tuple[str, ...]
    cards: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()


def estimate_text(value: Estimate) -> str:
    """`72.00 ± 0.71 % (n = 5 seeds)`, or what is missing."""
    if value.stat.n == 0:
        return f"no result yet (n = 0 of {value.of} {value.unit}s)"
    plural = "" if value.n_text == "1" else "s"
    return f"{mean_se_text(value.stat)} % (n = {value.n_text} {value.unit}{plural})"


def automargin_verdict(results: Results) -> Verdict:
    """AutoMargin against grid search, and against other searches where there are some, in words."""
    found = contests(results)
    return Verdict(
        lead=lead(results),
        findings=tuple(_finding(contest) for contest in found),
        cautions=(
            *(_reading(contest) for contest in found if contest.paired.n),
            *epochs_caution(results, AUTOMARGIN_NEEDS_EPOCHS),
            *cautions(results),
        ),
        cards=tuple((f"{contest.loss}: AutoMargin vs {contest.against}", _card(contest)) for contest in found),
    )


def epochs_caution(results: Results, why: str) -> list[str]:
    """That trials trained for fewer epochs than the paper's, and why this matters; none if they did not."""
    epochs = {int(t.cost("epochs")) for t in results.trials if t.status == "completed" and t.cost("epochs") > 0}
    if not epochs or min(epochs) >= PAPER_EPOCHS:
        return []
    given = " or ".join(map(str, sorted(epochs)))
    return [f"Trials trained for {given} epochs, the paper's for {PAPER_EPOCHS}. {why}"]


def generic_verdict(results: Results) -> Verdict:
    """Each arm's test result, in words, for a study without a verdict of its own."""
    findings = [
        f"{arm.label} ({configuration_text(arm.configuration)}): test mAP {estimate_text(arm.test)}."
        for arm in arm_summaries(results)
    ]
    return Verdict(lead(results), tuple(findings), tuple(cautions(results)))


def lead(results: Results) -> str:
    """On which data the answer was found."""
    data, facts = results.study["data"], test_facts(results)
    test = data.get("test") or {}
    counted = ", ".join(f"{test[name]} {name}" for name in ("subjects", "queries") if name in test)
    text = f"On {data_phrase(results)}" + (f" (test set: {counted})" if counted else "")
    chance = facts["chance_mAP"]
    if chance is not None:
        text += f", where a random ranking reaches an mAP of {percent(chance)} %"
    return text + ":"


def _finding(contest: Contest) -> str:
    ours, rival, against = contest.automargin, contest.rival, contest.against
    text = (
        f"{contest.name}: {_answer(contest)}. Test mAP with AutoMargin {estimate_text(ours.test)}, with {against} "
        f"{estimate_text(rival.test)}. {_difference_text(contest)} AutoMargin trained {_n_s(ours)} in its search, "
        f"{against} {_n_s(rival)}; "
    )
    if math.isnan(contest.seconds_ratio):
        return text + "the ratio of their search costs is not known."
    return text + (
        f"{against} took {decimal(contest.seconds_ratio, 2)} times AutoMargin's device-seconds "
        f"({decimal(rival.cost.device_seconds, 1)} against {decimal(ours.cost.device_seconds, 1)}"
        f"{'' if _searched(contest) else '; a search is not finished, so this will change'})."
    )


def _searched(contest: Contest) -> bool:
    """Whether both searches began every configuration and have selected one (a failed trial is paid for, too)."""
    return all(
        arm.configuration is not None and arm.cost.n_s == arm.planned_n_s for arm in (contest.automargin, contest.rival)
    )


def _answer(contest: Contest) -> str:
    """The answer for one loss in a few words."""
    paired, tost = contest.paired, contest.tost
    if paired.low is None or paired.high is None:
        return "no answer yet"
    better = "higher" if paired.difference > 0 else "lower"
    differs = not paired.low <= 0 <= paired.high
    if tost.equivalent:
        also = f", though AutoMargin scored {better}" if differs else ""
        return f"equivalent within ±{100 * tost.margin:g} point{also}"
    return f"AutoMargin scored {better}" if differs else "neither is shown to be better, nor the two to be equivalent"


def _n_s(arm: ArmSummary) -> str:
    done = "" if arm.cost.n_s == arm.planned_n_s else f" of {arm.planned_n_s} planned"
    return f"N_s = {arm.cost.n_s}{done}"


def _difference_text(contest: Contest) -> str:
    paired = contest.paired
    if paired.n == 0:
        return "There is no seed that both completed, so no difference can be given."
    text = f"Paired by seed, AutoMargin minus {contest.against} is {points(paired.difference)} points"
    if paired.low is None:
        return f"{text} (no interval: {paired.note})."
    note = f"; {paired.note}" if paired.note else ""
    return (
        f"{text}, 95 % CI {points(paired.low)} to {points(paired.high)} "
        f"({p_text(paired.p)}, n = {paired.n} pairs{note})."
    )


def _reading(contest: Contest) -> str:
    """What the interval and the equivalence test allow one to say, and no more."""
    paired, tost = contest.paired, contest.tost
    if paired.low is None or paired.high is None:
        return f"{contest.name}: without an interval the difference shows nothing about other seeds."
    shown = f"Equivalence within ±{100 * tost.margin:g} point {'is' if tost.equivalent else 'is not'} shown"
    tests = f"{shown} (two one-sided tests, {p_text(tost.p)})."
    if not paired.low <= 0 <= paired.high:
        better = "higher" if paired.difference > 0 else "lower"
        return f"{contest.name}: the interval excludes 0; AutoMargin is {better} over seeds on this test set. {tests}"
    reach = percent(max(-paired.low, paired.high), 2)
    alone = "That alone is no evidence of equivalence: differences" if not tost.equivalent else "Differences"
    return (
        f"{contest.name}: the interval includes 0, so no difference is shown. {alone} of up to {reach} points remain "
        f"compatible with these seeds. {_power(paired)}{tests}"
    )


def _power(paired: PairedDifference) -> str:
    """What so many pairs that vary so much are able to find; empty if that is not known."""
    least = smallest_difference(paired.sd, paired.n)
    if least.value is None:
        return ""
    found = "no possible difference" if least.value > 1 else f"a true difference of {percent(least.value)} points"
    return f"So many seeds, varying so much, find {found} {percent(least.power, 0)} % of the time. "


def _card(contest: Contest) -> tuple[tuple[str, str], ...]:
    ours, rival, paired = contest.automargin, contest.rival, contest.paired
    interval = f" [{points(paired.low)}, {points(paired.high)}]" if paired.low is not None else ""
    ratio = contest.seconds_ratio
    return (
        ("AutoMargin, test mAP", estimate_text(ours.test)),
        (f"{contest.against[0].upper()}{contest.against[1:]}, test mAP", estimate_text(rival.test)),
        ("Difference in points [95 % CI]", points(paired.difference) + interval if paired.n else "n/a"),
        ("N_s, AutoMargin against it", f"{ours.cost.n_s} against {rival.cost.n_s}"),
        ("Search cost, it / AutoMargin", "n/a" if math.isnan(ratio) else f"{decimal(ratio, 2)} ×"),
    )


def cautions(results: Results) -> list[str]:
    """What any reader should know before using the numbers, each with its number."""
    data, facts = results.study["data"], test_facts(results)
    test, said = data.get("test") or {}, []
    if results.study.get("preset") == "smoke":
        said.append("The preset smoke only checks that everything runs: its numbers are no results.")
    if data.get("synthetic"):
        said.append(
            "The images are synthetic phantoms: they show how the methods behave here, not how they do on radiographs."
        )
    subjects = test.get("subjects")
    if subjects is not None and subjects < FEW_SUBJECTS:
        said.append(
            f"The test set has only {subjects} subjects: one subject more or less matched moves mAP by about "
            f"{decimal(100 / max(subjects, 1), 1)} points, and no ± here covers that."
        )
    said.append(
        "A test ± is the SE over seeds on one fixed set of subjects: it covers training noise, not the choice of "
        "subjects."
        + (
            " A validation ± is over folds, which differ in subjects but share training data; the two do not compare."
            if results.searched
            else ""
        )
    )
    without, queries = facts["queries_without_match"], facts["queries"]
    if without is not None and queries is not None:
        said.append(
            f"{int(without)} of {int(queries)} test queries have no match in the gallery."
            if without
            else f"Each of the {int(queries)} test queries has a match in the gallery."
        )
    said += _below_chance(results, facts["chance_mAP"]) + _in_the_folds(results)
    said += [f"Another run with the same seed: {note}." for note in _notes(results)]
    n = int(results.study["replicates"])
    if n < 5:
        said.append(f"{n} seed{'s' if n != 1 else ''} planned: intervals from so few are wide or do not exist.")
    return said


def _notes(results: Results) -> list[str]:
    """What the searchers declare of themselves, each once."""
    return list(dict.fromkeys(arm["note"] for arm in results.arms if arm.get("note")))


def _in_the_folds(results: Results) -> list[str]:
    """What happened in development: validation queries left out, and subjects with too few images for a batch."""
    folds, said = results.study["folds"], []
    without, scored = (
        sum(fold.get(f"validation_queries{rest}", 0) for fold in folds) for rest in ("_without_match", "")
    )
    if without:
        said.append(
            f"{without} of {without + scored} validation queries have no match in their gallery: they are left out, "
            "not scored 0."
        )
    final = [t.record for t in results.trials if t.record and t.stage == "replicate"]
    return said + [f"{warning}." for warning in sorted({w for record in final for w in record.get("warnings") or []})]


def _below_chance(results: Results, chance: float | None) -> list[str]:
    """Arms whose model tells nobody apart: a collapsed embedding, not a bad margin, is the usual reason."""
    means = {arm.label: arm.test.stat.mean for arm in arm_summaries(results)}
    collapsed = [label for label, mean in means.items() if chance is not None and mean is not None and mean < chance]
    if not collapsed:
        return []
    return [
        f"Below a random ranking: {', '.join(collapsed)}. Among equal similarities the non-matching images rank first, "
        "so embeddings that have collapsed to one point score like this."
    ]
