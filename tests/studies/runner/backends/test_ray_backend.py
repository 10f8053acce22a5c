"""The bank is checked wherever trials may run, before the first one starts."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from fmim.runner.backends.ray_backend import check_on_nodes, fault_of_bank
from fmim.runner.backends.ray_cluster import cluster_for
from fmim_core.data.bank.bank import Bank
from fmim_core.data.bank.building import build_bank
from fmim_core.data.sets.phantom import PhantomSource
from fmim_core.data.sets.phantom_config import PhantomConfig
from tests.support.mini_study import MINI


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
    assert fault_of_bank(place, bank.fingerprint) is None
    spoil(bank)
    assert "images.u8 (rows 0 to" in str(fault_of_bank(place, bank.fingerprint))
    shutil.rmtree(bank.path)
    assert f"no bank in {place}" in str(fault_of_bank(place, bank.fingerprint))
    other.path.rename(bank.path)
    assert fault_of_bank(place, bank.fingerprint) == (
        f"another bank, with fingerprint {other.fingerprint[:12]} instead of {bank.fingerprint[:12]}"
    )


def test_a_spoilt_bank_is_told_and_built_again(tmp_path: Path) -> None:
    source, told = PhantomSource(MINI.phantom), list[str]()
    spoil(build_bank(source, MINI.image_size, tmp_path / "banks"))
    bank = build_bank(source, MINI.image_size, tmp_path / "banks", tell=told.append)
    assert re.search(r"images\.u8 \(rows 0 to .*\) changed after the bank was built: moved to .*\.damaged-", told[0])
    assert fault_of_bank(str(bank.path), bank.fingerprint) is None


@pytest.mark.slow
def test_every_node_that_runs_trials_checks_the_bank(banks: tuple[Bank, Bank]) -> None:
    from ray.cluster_utils import Cluster  # after the settings that our modules make before Ray is imported

    bank, _ = banks
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        nodes.add_node(num_cpus=1)
        nodes.add_node(num_cpus=0)  # runs no trials, and need not have the bank
        with cluster_for("ray", nodes.address) as cluster:
            assert cluster is not None
            assert cluster.logs.is_dir()
            check_on_nodes(bank)
            spoil(bank)
            with pytest.raises(ValueError, match=r"cannot be used on 1 of 2 nodes:\n  node .*\): .*images\.u8 \(rows"):
                check_on_nodes(bank)
            shutil.rmtree(bank.path)
            with pytest.raises(ValueError, match=r"no bank in .*\nStart in a folder that all nodes share, or build"):
                check_on_nodes(bank)
    finally:
        nodes.shutdown()
