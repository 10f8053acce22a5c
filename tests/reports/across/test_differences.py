"""Differences between studies: paired ones, unpaired ones, and those that there are none of."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from fmim_reports.across.differences import StudyDifference, differences, not_compared
from fmim_reports.across.studies import arm_groups, read_studies
from tests.oracles import statistics as oracles
from tests.reports.across.conftest import ARMS, SHIFTS
from tests.support.factories import SEEDS, make_out
from tests.support.file_contents import edit

Studies = dict[str, Path]


def found_in(studies: Studies, *names: str) -> tuple[StudyDifference, ...]:
    return differences(read_studies([studies[name] for name in ("first", *names)]))


def aps(out: Path, arm: str) -> tuple[np.ndarray, list[str]]:
    """AP by seed and query, of queries with a match, from the files; and each query's subject."""
    files = sorted((out / "records").glob(f"{arm}.*.queries.parquet"))
    frames = [pd.read_parquet(path).query("matches > 0") for path in files]
    return np.stack([frame["ap"] for frame in frames]), frames[0]["subject"].tolist()


def test_equal_seeds_and_data_are_paired_by_seed_and_query(studies: Studies) -> None:
    found = found_in(studies, "code")
    assert [(one.name, one.later.arm.name, one.pairing) for one in found] == [
        ("B − A", arm, "seed and query") for arm in ARMS
    ]
    for one in found:
        (ours, subjects), (theirs, _) = (aps(studies[name], one.later.arm.name) for name in ("code", "first"))
        mean, _, _, both = oracles.crossed_variances((ours - theirs).tolist(), subjects)
        assert one.value == pytest.approx(np.mean(SHIFTS), abs=1e-12)
        assert one.value == pytest.approx(mean, abs=1e-9)
        assert one.uncertainty.df is not None
        reach = float(stats.t.ppf(0.975, one.uncertainty.df)) * math.sqrt(both)
        assert (one.uncertainty.low, one.uncertainty.high) == pytest.approx((mean - reach, mean + reach), rel=1e-9)
        assert one.sample == "5 seeds × 40 subjects"


def test_holm_corrects_over_the_differences_that_are_shown(studies: Studies) -> None:
    found = found_in(studies, "code", "seeds", "data")
    given = [one.p for one in found if one.p is not None]
    assert len(given) == 4
    assert [one.p_holm for one in found if one.p_holm is not None] == pytest.approx(
        multipletests(given, method="holm")[1]
    )
    assert [one.answer for one in found] == ["B better"] * 2 + ["inconclusive"] * 2 + ["not compared"] * 2


def test_other_seeds_on_the_same_data_are_not_paired(studies: Studies) -> None:
    one, other = found_in(studies, "seeds")
    se = math.sqrt(2 * np.var(SEEDS, ddof=1) / 5)
    assert (one.value, one.uncertainty.se) == (pytest.approx(0, abs=1e-12), pytest.approx(se))
    reach = float(stats.t.ppf(0.975, 8)) * se  # equal spreads and numbers: n_a + n_b − 2 degrees of freedom
    assert (one.uncertainty.low, one.uncertainty.high) == (pytest.approx(-reach), pytest.approx(reach))
    assert (one.pairing, one.over, one.sample, one.identical) == ("", "seeds", "5 and 5 seeds", False)
    assert other.uncertainty == one.uncertainty


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("data", "another test set: the data set phantom has another content (fingerprint)"),
        ("metric", "another primary metric: CMC top-1, not mAP"),
        ("knees", "another task: a random ranking scores 8.00 %, not 5.00 %"),
    ],
)
def test_where_a_difference_means_nothing_there_is_none_and_it_is_said_why(
    studies: Studies, name: str, why: str
) -> None:
    found = found_in(studies, name)
    assert [(one.value, one.p, one.note) for one in found] == [(None, None, why)] * 2
    assert not_compared(found) == [f"B − A is not given: {why}."]


def test_seeds_of_one_study_alone_are_named_and_a_copy_is_the_same_in_every_seed(
    studies: Studies, tmp_path: Path
) -> None:
    fewer = make_out(tmp_path / "fewer", folds=1, replicates=3, arms=ARMS[:1])
    (one,) = differences(read_studies([fewer, studies["first"]]))
    assert (one.value, one.pairing, one.sample) == (0, "seed", "3 seeds")
    assert "without a partner: replicate 3, 4" in one.note
    assert (one.answer, one.identical) == ("the same in every seed", True)


def test_an_arm_of_another_name_stands_beside_one_that_was_trained_alike(tmp_path: Path) -> None:
    first, second = (make_out(tmp_path / name, folds=1, replicates=2, arms=ARMS) for name in ("first", "second"))
    for out in (first, second):
        for path in (out / "records").glob("*.json"):
            arm = json.loads(path.read_text(encoding="utf-8"))["arm"]
            edit(path, config={"margins": arm}, **({"arm": "renamed"} if (out, arm) == (second, ARMS[1]) else {}))
    for name in ("study.json", "selection.json"):
        text = (second / name).read_text(encoding="utf-8").replace(f'"{ARMS[1]}"', '"renamed"')
        edit(second / name, **{key: value for key, value in json.loads(text).items() if key != "sha256"})
    groups = arm_groups(read_studies([first, second]))
    names = [[(one.study.key, one.arm.name) for one in group.members] for group in groups]
    assert names == [[("A", ARMS[0]), ("B", ARMS[0])], [("A", ARMS[1]), ("B", "renamed")]]
    for path in (second / "records").glob("triplet_automargin.*.json"):
        edit(path, config={"margins": "others"})
    assert [len(group.members) for group in arm_groups(read_studies([first, second]))] == [2, 1, 1]
