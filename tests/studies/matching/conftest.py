"""Trained studies on the tiny bank: of one model a replicate, and of fold ensembles."""

from __future__ import annotations

from pathlib import Path

import pytest

from fmim_core.data.bank.bank import Bank
from tests.support.mini_study import ensemble_plan, mini_plan, trained


@pytest.fixture(scope="package")
def single(tiny_bank: Bank, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a study with two trained replicates."""
    out = tmp_path_factory.mktemp("single") / "study"
    trained(out, mini_plan(), tiny_bank)
    return out


@pytest.fixture(scope="package")
def ensemble(tiny_bank: Bank, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same of one replicate of two fold models."""
    out = tmp_path_factory.mktemp("ensemble") / "study"
    trained(out, ensemble_plan(mini_plan(replicates=1)), tiny_bank)
    return out
