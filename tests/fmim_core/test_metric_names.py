"""The names of the metrics and their keys by year."""

import subprocess
import sys

import pytest

from fmim_core.metric_names import CMC_RANKS, INTERVALS, METRICS, YEAR, Metric, split_key
from fmim_core.metrics import retrieval
from tests.support.embeddings import ranked


def test_metric_names_and_records_need_no_torch() -> None:
    code = "import sys, fmim_core.metric_names, fmim_core.records; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_table_names_what_retrieval_returns():
    result = retrieval(*ranked([1, 0]))
    assert set(METRICS) <= set(result)
    assert METRICS["mAP_at_R"] == Metric("mAP_at_R", "mAP@R", higher_is_better=True, unit="fraction", mean_of="ap_at_R")
    assert [name for name in METRICS if name.startswith("CMC")] == [
        *(f"CMC_{k}" for k in CMC_RANKS),
        "CMC_1_all_shots",
    ]


def test_keys_by_time_go_there_and_back():
    assert YEAR.key("mAP_at_R", 4) == "mAP_at_R/year_4"
    assert split_key("mAP_at_R/year_4") == ("mAP_at_R", 4)
    assert split_key("queries_without_match") == ("queries_without_match", None)
    for interval in INTERVALS.values():
        assert split_key(interval.key("mAP", 12)) == ("mAP", 12)
    assert INTERVALS["week"].key("CMC_1", 3) == "CMC_1/week_3"
    for wrong in ("mAP/year_x", "mAP/4", "mAP/", "mAP/decade_1", "mAP/year_-1"):
        with pytest.raises(ValueError, match="mAP/year_4"):
            split_key(wrong)


def test_a_month_is_a_twelfth_of_a_year_of_365_and_a_quarter_days():
    days = {unit: 30.4375 * interval.months for unit, interval in INTERVALS.items()}
    assert days == pytest.approx({"day": 1, "week": 7, "month": 30.4375, "year": 365.25})
    assert INTERVALS["month"].after_baseline == "months after baseline"
    assert (YEAR.short(4), YEAR.short(None), YEAR.name(None)) == ("4 y", "", "all")
