"""Small banks and trainings that many tests share, and where real data lies."""

from __future__ import annotations

import os
import sys
import tempfile

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import torch
from hypothesis import settings

from fmim_core.data.bank.bank import Bank
from fmim_core.data.bank.building import build_bank
from fmim_core.data.sets.phantom import PhantomSource
from fmim_core.data.sets.phantom_config import PhantomConfig
from fmim_core.machine import cores
from fmim_core.training.config import TrainConfig
from tests.support.browser import browser
from tests.support.own_files import own_code
from tests.support.program import fmim_here
from tests.support.reports import no_figures

__all__ = ["browser", "fmim_here", "no_figures", "own_code"]  # fixtures for all

# The same examples in every run; `--hypothesis-profile=default` draws others, to look for more.
settings.register_profile("fixed", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("fixed")


def pytest_xdist_auto_num_workers() -> int:
    """Return what `-n auto` means: one more than cores, since some tests wait for clusters and servers mostly."""
    return cores() + 1


TINY = {
    "model": {"kind": "small", "widths": (4, 8, 8), "embedding_dim": 16},
    "batches": {"subjects_per_batch": 4, "images_per_subject": 4},
    "augmentation": {"crop": 24},
    "epochs": 3,
    "learning_rate": 1e-3,
}


def tiny_config(**changes: object) -> TrainConfig:
    """A training of a second on one core."""
    method = {"loss": {"kind": "adatriplet"}, "margins": {"kind": "automargin", "k_delta": 2, "k_an": 2}}
    return TrainConfig.model_validate({**TINY, **method, **changes})


@pytest.fixture(scope="session")
def tiny_bank(tmp_path_factory: pytest.TempPathFactory) -> Bank:
    """A bank of 12 development and 6 test subjects at 28 px."""
    torch.set_num_threads(1)
    source = PhantomSource(PhantomConfig(train_subjects=12, test_subjects=6, months=(0, 12, 48)))
    return build_bank(source, 28, tmp_path_factory.mktemp("banks"))


def pytest_configure(config: pytest.Config) -> None:
    """Set what holds for all tests, in every process of pytest."""
    config.option.loadscopereorder = False  # else those with the most tests come first, not in the order below
    # As on most machines: no process compiles what another one has compiled, and the tests meet caches of bytecode.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    state = tempfile.TemporaryDirectory(prefix="fmim-state-")  # instead of what whoever runs the tests trusts
    os.environ["XDG_STATE_HOME"] = state.name
    config.add_cleanup(state.cleanup)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slow ones first, so that with several workers the quick ones fill the gaps at the end."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
