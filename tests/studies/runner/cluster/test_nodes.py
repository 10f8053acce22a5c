"""The bank is checked wherever trials may run, before the first one starts."""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from fmim.runner.cluster import head
from fmim.runner.cluster.joining import joining
from fmim.runner.cluster.nodes import check_on_nodes, fault
from fmim.runner.cluster.start import starting
from rich.console import Console

from fmim.data.banks import bank_of
from fmim_core.data.bank.bank import Bank
from fmim_core.data.bank.building import build_bank
from fmim_core.data.sets.phantom import PhantomSource
from fmim_core.data.sets.phantom_config import PhantomConfig
from tests.support.mini_study import MINI
from tests.support.paths import ROOT
from tests.support.services import free_port, wait_for


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


def test_a_spoilt_bank_is_told_and_built_again(tmp_path: Path) -> None:
    source, told = PhantomSource(MINI.phantom), io.StringIO()
    spoil(build_bank(source, MINI.image_size, tmp_path / "banks"))
    bank, made = bank_of(source, MINI.image_size, tmp_path / "banks", Console(file=told, width=1000))
    assert made
    assert re.search(
        r"images\.u8 \(rows 0 to .*\) changed after the bank was built: moved to .*\.damaged-", told.getvalue()
    )
    assert fault(str(bank.path), bank.fingerprint) is None


@pytest.mark.slow
def test_every_node_that_runs_trials_checks_the_bank(banks: tuple[Bank, Bank]) -> None:
    from fmim.runner.cluster.connection import (
        joined_cluster,  # first, for the settings that it makes before Ray is imported
    )

    from ray.cluster_utils import Cluster  # isort: skip

    bank, _ = banks
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        nodes.add_node(num_cpus=1)
        nodes.add_node(num_cpus=0)  # runs no trials, and need not have the bank
        with joining(nodes.address) as begun, joined_cluster(begun):
            check_on_nodes(bank)
            spoil(bank)
            with pytest.raises(ValueError, match=r"cannot be used on 1 of 2 nodes:\n  node .*\): .*images\.u8 \(rows"):
                check_on_nodes(bank)
            shutil.rmtree(bank.path)
            with pytest.raises(ValueError, match=r"no bank in .*\nStart in a folder that all nodes share, or build"):
                check_on_nodes(bank)
    finally:
        nodes.shutdown()


def slots_at(address: str, folder: Path) -> str:
    """What a fresh program says that there is room for on a cluster; `folder` is where Ray notes its clusters."""
    program = (
        "from fmim.runner.backends.backend import open_backend\n"
        "from fmim.runner.backends.room import Resources\n"
        "from fmim.runner.cluster.start import starting\n"
        f"with starting('ray', {address!r}) as start, open_backend(start, Resources(1.0, 0.0)) as backend:\n"
        "    print(backend.slots, 'slots')"
    )
    command = [sys.executable, "-c", program]
    environment = os.environ | {"RAY_TMPDIR": str(folder)}
    return subprocess.run(command, capture_output=True, text=True, timeout=90, cwd=ROOT, env=environment).stdout


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder whose name is short enough for the sockets that Ray puts there."""
    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.mark.slow
def test_a_cluster_that_ray_start_made_is_reached_by_its_address(short: Path) -> None:
    """It asks for a token, which Ray itself does not send to HOST:PORT."""
    port = free_port()
    ray = str(Path(sys.executable).with_name("ray"))
    start = [ray, "start", "--head", "--block", "--port", str(port), "--num-cpus", "3", "--include-dashboard", "false"]
    with (short / "log").open("w") as log:
        environment = os.environ | {"RAY_TMPDIR": str(short)}
        head = subprocess.Popen(start, stdout=log, stderr=log, start_new_session=True, env=environment)
    try:
        log_of_it = short / "log"
        wait_for(lambda: "Ray runtime started" in log_of_it.read_text(), head, log_of_it, seconds=60)
        assert slots_at(f"127.0.0.1:{port}", short) == "3 slots\n"
    finally:
        os.killpg(head.pid, signal.SIGKILL)  # `ray start --block` waits on where it is asked to end
        head.wait(timeout=30)


def test_without_a_short_temporary_folder_the_limit_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_TMPDIR", "/" + "x" * 77)
    monkeypatch.setattr(head.os, "access", lambda place, mode: False)
    words = r"whose path may have 39 characters; /x+ has 78: set TMPDIR to a shorter one"
    with pytest.raises(ValueError, match=words), starting("ray", None):
        pass
