"""The bank is checked wherever trials may run, before the first one starts."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from rich.console import Console

from fmim_core.data.bank import Bank
from fmim_core.data.building import build_bank
from fmim_core.data.phantom import PhantomConfig, PhantomSource
from studies.runner.execute import Options, run_plan
from studies.runner.nodes import check_on_nodes, fault
from tests.studies import MINI, mini_plan


def spoil(bank: Bank) -> None:
    """Flip one bit of one image."""
    with (bank.path / "images.u8").open("r+b") as file:
        file.seek(1000)
        bit = file.read(1)[0] ^ 1
        file.seek(1000)
        file.write(bytes([bit]))


@pytest.fixture
def banks(tmp_path: Path) -> tuple[Bank, Bank]:
    """Two small banks of different people."""
    sizes = (PhantomConfig(train_subjects=2, test_subjects=2, months=(0, 12), seed=seed) for seed in (0, 1))
    first, second = (build_bank(PhantomSource(size), 28, tmp_path / "banks") for size in sizes)
    return first, second


def test_what_is_wrong_on_a_node_is_said_in_words(banks: tuple[Bank, Bank]) -> None:
    bank, other = banks
    place = str(bank.path)
    assert fault(place, bank.fingerprint) is None
    spoil(bank)
    assert "images.u8 (rows 0 to" in str(fault(place, bank.fingerprint))
    shutil.rmtree(bank.path)
    assert f"no bank in {place}" in str(fault(place, bank.fingerprint))
    other.path.rename(bank.path)
    assert fault(place, bank.fingerprint) == (
        f"another bank, with fingerprint {other.fingerprint[:12]} instead of {bank.fingerprint[:12]}"
    )


def test_a_study_on_a_spoilt_bank_does_not_start(tmp_path: Path) -> None:
    spoil(build_bank(PhantomSource(MINI.phantom), MINI.image_size, tmp_path / "banks"))
    options = Options(
        study="automargin_vs_grid",
        out=tmp_path / "study",
        backend="inline",
        gpus_per_trial=0.0,
        tracking_uri=f"sqlite:///{tmp_path}/mlflow.db",
        banks=tmp_path / "banks",
    )
    with pytest.raises(ValueError, match=r"images\.u8 \(rows 0 to .*\) changed after the bank was built\. Move the"):
        run_plan(mini_plan(), options, Console(quiet=True))
    assert not (tmp_path / "study").exists()


@pytest.mark.slow
def test_every_node_that_runs_trials_checks_the_bank(banks: tuple[Bank, Bank]) -> None:
    from studies.runner.cluster import cluster  # first, for the settings that it makes before Ray is imported

    from ray.cluster_utils import Cluster  # isort: skip

    bank, _ = banks
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        nodes.add_node(num_cpus=1)
        nodes.add_node(num_cpus=0)  # runs no trials, and need not have the bank
        with cluster(nodes.address):
            check_on_nodes(bank)
            spoil(bank)
            with pytest.raises(ValueError, match=r"cannot be used on 1 of 2 nodes:\n  node .*\): .*images\.u8 \(rows"):
                check_on_nodes(bank)
            shutil.rmtree(bank.path)
            with pytest.raises(ValueError, match=r"no bank in .*\nStart in a folder that all nodes share, or build"):
                check_on_nodes(bank)
    finally:
        nodes.shutdown()
