"""Seeds that are added until comparisons are decided: looking often shows what is not there no more often."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from fmim_core.metric_names import METRICS
from fmim_reports.parts.comparisons.comparison import comparisons
from fmim_reports.parts.comparisons.difference import Difference, corrected
from fmim_reports.parts.comparisons.words import plain_sentences
from fmim_reports.parts.verdict import verdict_of_comparisons
from fmim_reports.reading.results import read_results
from fmim_reports.stats import UNKNOWN, Uncertainty
from tests.support.factories import make_out
from tests.support.file_contents import edit, set_differences

A, B = "triplet_automargin", "triplet_grid"
LOOKS, MARGIN, SD, FAMILY = (10, 15, 20, 25, 30), 0.02, 0.0155, 4  # a seed's sd as measured in quick


def at_looks(values: np.ndarray) -> Difference:
    """One study's difference after its last look, from a value for each seed."""
    found: list[Difference] = []
    for before, seeds in zip((0, *LOOKS), LOOKS, strict=False):
        if seeds > len(values):
            break
        sample = values[:seeds]
        found.append(
            Difference(
                metric=METRICS["mAP"],
                margin=MARGIN,
                value=float(sample.mean()),
                seeds=Uncertainty(float(sample.std(ddof=1)) / seeds**0.5, seeds - 1),
                share=(seeds - before) / LOOKS[-1],
                earlier=tuple(found),
            )
        )
    return found[-1]


def test_the_p_value_is_the_least_over_looks_each_by_its_share_of_the_seeds() -> None:
    values = np.random.default_rng(1).normal(0.005, SD, 20)
    shares = {10: 10 / 30, 15: 5 / 30, 20: 5 / 30}
    tests = {n: stats.ttest_1samp(values[:n], 0.0).pvalue for n in shares}
    lower = {n: stats.ttest_1samp(values[:n], -MARGIN, alternative="greater").pvalue for n in shares}
    upper = {n: stats.ttest_1samp(values[:n], MARGIN, alternative="less").pvalue for n in shares}
    found = at_looks(values)
    assert found.p == pytest.approx(min(1.0, *(tests[n] / share for n, share in shares.items())), abs=1e-12)
    expected = min(max(lower[n], upper[n]) / share for n, share in shares.items())
    assert found.p_equivalence == pytest.approx(min(1.0, expected), abs=1e-12)
    (alone,) = corrected([found])
    assert found.p_within(alone.smallest_margin or 0.0) == pytest.approx(0.05, abs=1e-9)


def test_a_look_with_the_other_sign_shows_nothing() -> None:
    values = np.concatenate(
        [np.random.default_rng(1).normal(0.01, 1e-4, 10), np.random.default_rng(2).normal(-0.1, 1, 5)]
    )
    found = at_looks(values)
    assert (at_looks(values[:10]).p or 1.0) < 1e-9
    assert (found.value or 0.0) < 0
    assert found.p == pytest.approx(min(1.0, stats.ttest_1samp(values, 0.0).pvalue / (5 / 30)))


@pytest.mark.parametrize("true", [0.0, MARGIN])
def test_all_looks_together_show_what_is_not_there_in_at_most_5_percent_of_studies(true: float) -> None:
    """Four comparisons that share half of their variance, and stop once all are decided: 400 studies of each null."""
    rng, studies, wrong, seeds = np.random.default_rng(7), 400, 0, 0
    for _ in range(studies):
        shared = rng.standard_normal((1, LOOKS[-1]))
        values = true + SD * (shared + rng.standard_normal((FAMILY, LOOKS[-1]))) / 2**0.5
        for look in LOOKS:
            found = corrected([at_looks(one[:look]) for one in values])
            if not any(one.undecided for one in found):
                break
        seeds += look
        wrong += any(one.differs if true == 0.0 else one.equivalent for one in found)
    assert wrong / studies <= 0.05
    assert seeds / studies < 16  # 30 with a fixed number of the same power


def test_a_report_tests_by_all_looks_and_says_what_they_saved(tmp_path: Path) -> None:
    out = make_out(tmp_path / "out")
    values = (0.10, 0.14, 0.06, 0.11, 0.09)
    set_differences(out, (f"{A}.c00", f"{B}.c02"), values)
    edit(out / "study.json", comparisons=[[A, B]])
    (fixed,) = comparisons(read_results(out))
    edit(out / "study.json", looks=[3, 5, 7])
    results = read_results(out)
    (found,) = comparisons(results)
    p = {n: stats.ttest_1samp(values[:n], 0.0).pvalue for n in (3, 5)}
    assert fixed.p == pytest.approx(p[5])
    assert found.p == pytest.approx(min(p[3] / (3 / 7), p[5] / (2 / 7)))
    assert found.differs
    (said,) = [one for one in verdict_of_comparisons(results).cautions if "looks at 3, 5 and 7 seeds" in one]
    assert "at 5 seeds, 2 before the last look" in said
    edit(out / "study.json", looks=[3, 5])
    (said,) = [one for one in verdict_of_comparisons(read_results(out)).cautions if "looks at 3 and 5 seeds" in one]
    assert "all 5 seeds" in said
    set_differences(out, (f"{A}.c00", f"{B}.c02"), (0.05, 0.01, 0.03, 0.001, 0.03))
    (said,) = plain_sentences(read_results(out))
    assert said.endswith(": inconclusive after correction for looks, with 1/2 of the search epochs.")
    alone = replace(found, seeds=UNKNOWN, crossed=None, earlier=(), p_holm=None)
    assert not replace(alone, p_equivalence_holm=None).undecided
    assert replace(alone, p_equivalence_holm=None, paired=replace(found.paired, n=1)).undecided
