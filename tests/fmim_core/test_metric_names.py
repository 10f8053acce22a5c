"""The names of the metrics and their keys by year."""

import subprocess
import sys

import pytest

from fmim_core.metric_names import CMC_RANKS, METRICS, YEAR, Metric, split_key
from fmim_core.metrics import retrieval
from tests.support.embeddings import ranked


def test_metric_names_need_no_torch():
    code = "import sys, fmim_core.metric_names; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_table_names_what_retrieval_returns():
    result = retrieval(*ranked([1, 0]))
    assert set(METRICS) <= set(result)
    assert METRICS["mAP_at_R"] == Metric("mAP_at_R", "mAP@R", higher_is_better=True, unit="fraction", mean_of="ap_at_R")
    assert [name for name in METRICS if name.startswith("CMC")] == [
        *(f"CMC_{k}" for k in CMC_RANKS),
        "CMC_1_all_shots",
    ]


def test_year_keys_go_there_and_back():
    assert YEAR.key("mAP_at_R", 4) == "mAP_at_R/year_4"
    assert split_key("mAP_at_R/year_4") == ("mAP_at_R", 4)
    assert split_key("queries_without_match") == ("queries_without_match", None)
    for wrong in ("mAP/year_x", "mAP/4", "mAP/"):
        with pytest.raises(ValueError, match="mAP/year_4"):
            split_key(wrong)
