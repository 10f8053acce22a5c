"""What a comparison shows, in words with its numbers, and what it does not show."""

from __future__ import annotations

from collections.abc import Sequence

from fmim_reports.parts.comparisons.comparison import Comparison, Corrected, different_tasks_note
from fmim_reports.reading.summary import ArmSummary, Estimate
from fmim_reports.stats import ENOUGH, CostRatio, Power
from fmim_reports.writing.formats import decimal, mean_se_text, p_text, percent, points


def estimate_text(value: Estimate) -> str:
    """`72.00 ± 0.71 % (n = 5 seeds)`, or what is missing."""
    if value.stat.n == 0:
        return f"no result yet (n = 0 of {value.of} {value.unit}s)"
    plural = "" if value.n_text == "1" else "s"
    return f"{mean_se_text(value.stat)} % (n = {value.n_text} {value.unit}{plural})"


def capital(name: str) -> str:
    """A name as a sentence or a line begins with it."""
    return f"{name[0].upper()}{name[1:]}"


def margin_text(margin: float) -> str:
    """A margin of equivalence in words: `1 percentage point`, `2.5 percentage points`."""
    return f"{100 * margin:g} percentage point{'' if 100 * margin == 1 else 's'}"


def finding(one: Comparison, by_holm: Corrected, searched: bool) -> str:
    """The answer of a comparison, with its numbers."""
    a, b = one.names
    text = (
        f"{one.heading()}: {_answer(one, by_holm)}. Test {one.metric.label}: {a} {estimate_text(one.a.test)}, {b} "
        f"{estimate_text(one.b.test)}. {_difference(one, by_holm)}"
    )
    return f"{text} {_costs(one)}" if searched else text


def _answer(one: Comparison, by_holm: Corrected) -> str:
    """In a few words, by the corrected p values."""
    if not one.same_task:
        return "scored on different tasks, so not tested"
    if one.p is None:
        return "no answer yet"
    scored = f"{one.names[0]} scored {'better' if one.better else 'worse'}"
    if by_holm.equivalent(one):
        also = f", though {scored}" if by_holm.differs(one) else ""
        return f"equivalent within ±{margin_text(one.margin)}{also}"
    return scored if by_holm.differs(one) else "neither is shown to be better, nor the two to be equivalent"


def _difference(one: Comparison, by_holm: Corrected) -> str:
    paired, found = one.paired, one.uncertainty
    if paired.n == 0:
        return "There is no seed that both completed, so no difference can be given."
    a, b = one.names
    pairing = "seed" if one.crossed is None else "seed and query"
    text = f"Paired by {pairing}, {a} minus {b} is {points(paired.difference)} percentage points"
    if found.low is None:
        return f"{text} (no interval: {one.note})."
    numbers = [p_text(found.p(paired.difference)), *_corrected(by_holm.differences.family, by_holm.p(one))]
    sample = (
        f"n = {paired.n} pairs" if one.crossed is None else f"n = {paired.n} seeds × {one.crossed.subjects} subjects"
    )
    note = f"; {one.note}" if one.note else ""
    text += (
        f", 95 % CI over {one.over} {points(found.low)} to {points(found.high)} ({', '.join([*numbers, sample])}{note})"
    )
    return f"{text}; {_errors(one)}."


def _corrected(family: int, p: float | None) -> list[str]:
    """A corrected p value; nothing where a comparison is alone."""
    return [f"{p_text(p)} by Holm over {family}"] if p is not None and family > 1 else []


def _errors(one: Comparison) -> str:
    """What the SE is over seeds, over subjects, and over both."""
    seeds = percent(one.paired.se or 0.0)
    if one.crossed is None:
        return f"SE {seeds} over seeds, not known over subjects"
    subjects, both = (percent(over.se or 0.0) for over in (one.crossed.over_subjects, one.crossed.over_both))
    return f"SE {seeds} over seeds, {subjects} over subjects, {both} over both"


def _costs(one: Comparison) -> str:
    """What the searches of both arms cost, in configurations, epochs and device-seconds."""
    a, b = one.names
    text = f"In its search {a} trained {_n_s(one.a)}, {b} {_n_s(one.b)}; "
    if one.epochs_ratio is None:
        return f"{text}the ratio of their search costs is not known."
    over = one.a.search_is_over and one.b.search_is_over
    unfinished = "" if over else "; a search is not finished, so this will change"
    return (
        f"{text}{b} took {decimal(one.epochs_ratio, 2)} times the epochs of {a} ({one.b.cost.epochs} against "
        f"{one.a.cost.epochs}, which is exact) and {_seconds(one.seconds)}{unfinished}."
    )


def _seconds(found: CostRatio) -> str:
    """A ratio of device-seconds with its interval, or why there is none."""
    if found.ratio is None:
        return f"an unknown multiple of its device-seconds ({found.note})"
    text = f"{decimal(found.ratio, 2)} times its device-seconds"
    if found.low is None or found.high is None:
        return f"{text} ({found.note})"
    return f"{text} (95 % CI {decimal(found.low, 2)} to {decimal(found.high, 2)})"


def _n_s(arm: ArmSummary) -> str:
    done = "" if arm.cost.n_s == arm.planned_n_s else f" of {arm.planned_n_s} planned"
    return f"N_s = {arm.cost.n_s}{done}"


def interpretation(one: Comparison, by_holm: Corrected) -> str:
    """What the interval and the tests allow one to say, and no more."""
    found = one.uncertainty
    if found.low is None or found.high is None:
        return f"{one.heading()}: without an interval the difference shows nothing about other seeds."
    equivalent, p = by_holm.equivalent(one), by_holm.p_equivalence(one)
    tests = (
        f"two one-sided tests, {', '.join([p_text(one.p_equivalence), *_corrected(by_holm.equivalences.family, p)])}"
    )
    shown = f"Equivalence within ±{margin_text(one.margin)} {'is' if equivalent else 'is not'} shown ({tests})."
    said = [_difference_shown(one, by_holm), shown, power_sentence(one.power, one.over), _pairing(one)]
    return f"{one.heading()}: {' '.join(filter(None, said))}"


def _difference_shown(one: Comparison, by_holm: Corrected) -> str:
    found, p = one.uncertainty, by_holm.p(one)
    assert found.low is not None
    assert found.high is not None
    includes = found.low <= 0 <= found.high
    if by_holm.differs(one):
        return (
            f"the interval excludes 0; {one.names[0]} is {'better' if one.better else 'worse'} for {one.scope}, with "
            "these configurations."
        )
    if not includes:
        return (
            f"the interval excludes 0, but it is one of {by_holm.differences.family} comparisons, and corrected for "
            f"that ({p_text(p)}) no difference is shown."
        )
    alone = "Differences" if by_holm.equivalent(one) else "That alone is no evidence of equivalence: differences"
    return (
        f"the interval includes 0, so no difference is shown. {alone} of up to "
        f"{percent(max(-found.low, found.high), 2)} percentage points remain compatible with these data."
    )


def power_sentence(power: Power | None, over: str) -> str:
    """How often the tests say what is true with so many seeds, and how many seeds they need; empty if not known."""
    if power is None:
        return ""
    margin = margin_text(power.margin)
    return (
        f"With {power.seeds} seeds and this much variation over {over}, two truly equal arms pass the test of "
        f"equivalence with a probability of {_probability(power.equivalence)}, and a true difference of {margin} is "
        f"found with one of {_probability(power.difference)}; {_needed(power)} The smallest difference found with "
        f"{percent(ENOUGH, 0)} % is {_points(power.smallest_difference)}."
    )


def _probability(value: float) -> str:
    return "less than 0.1 %" if value < 0.001 else f"{percent(value, 1)} %"


def _points(value: float) -> str:
    return "larger than any possible one" if value > 1 else f"{percent(value)} percentage points"


def _needed(power: Power) -> str:
    """The seeds with which both tests have enough power, or that there are none."""
    enough = f"for {percent(ENOUGH, 0)} %"
    seeds = (power.seeds_equivalence, power.seeds_difference)
    if None not in seeds:
        return f"{enough} these need about {seeds[0]} and {seeds[1]} seeds."
    left = f"since these subjects alone leave an SE of {_points(power.least_se)}"
    if seeds == (None, None):
        return f"no number of seeds is enough {enough}, {left}."
    none, some = ("equivalence", "a difference") if seeds[0] is None else ("a difference", "equivalence")
    return f"{enough} no number of seeds is enough for {none}, {left}, and about {seeds[0] or seeds[1]} for {some}."


def _pairing(one: Comparison) -> str:
    """What pairing by seed bought."""
    paired = one.paired
    if paired.correlation is None or paired.se is None or not paired.unpaired_se:
        return ""
    gain = 1 - paired.se / paired.unpaired_se
    bought = f"made the SE {percent(gain, 0)} % smaller" if gain > 0.05 else "bought nothing"
    return (
        f"Both arms' seeds have a correlation of {decimal(paired.correlation, 2)}: pairing by seed {bought} (SE over "
        f"seeds {percent(paired.se)}, unpaired {percent(paired.unpaired_se)})."
    )


def comparison_cautions(found: Sequence[Comparison], selects: bool) -> list[str]:
    """For which configurations and with which correction differences hold; and comparisons that test nothing."""
    if not found:
        return []
    which = (
        "Differences hold for the selected configurations: another search may select others, and no interval here "
        "covers that."
        if selects
        else "Differences hold for these configurations."
    )
    several = (
        f"The verdict goes by p values that are corrected (Holm) over the {len(found)} differences, and by themselves "
        "over the equivalences; the intervals are each by itself, not corrected."
        if len(found) > 1
        else ""
    )
    return [text for text in (which, several, different_tasks_note(found)) if text]
