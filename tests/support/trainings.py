"""Short trainings that differ in what a step has to keep between batches and epochs."""

from __future__ import annotations

from typing import Any

import torch

from fmim_core.data.bank.bank import Bank
from fmim_core.training.trainer import Training
from tests.conftest import tiny_config

SEED = 7
TRIPLET = {"kind": "triplet"}
CASES: dict[str, dict[str, Any]] = {
    "automargin": {"histogram_bins": 20},
    "automargin of every batch": {"margins": {"kind": "automargin", "k_delta": 2, "k_an": 4, "update": "batch"}},
    "moving average": {"margins": {"kind": "automargin", "k_delta": 2, "k_an": 2, "update": "average"}},
    "moving average without β": {
        "loss": TRIPLET,
        "margins": {"kind": "automargin", "k_delta": 2, "update": "average"},
    },
    "quartile": {"margins": {"kind": "quartile", "quartile": 1}},
    "wat": {"loss": TRIPLET, "margins": {"kind": "wat", "beta": 0.1}},
    "all triplets": {"loss": {"kind": "adatriplet", "selection": "all", "averaging": "all"}},
    "sct": {"loss": {"kind": "sct", "lam": 1.0}, "margins": {"kind": "none"}},
    "bfloat16": {"precision": "bfloat16"},
}


def training(bank: Bank, changes: dict[str, Any], device: str = "cpu") -> Training:
    """Two epochs of six batches on all development images."""
    batches = {"subjects_per_batch": 4, "images_per_subject": 4, "per_epoch": 6}
    config = tiny_config(epochs=2, batches=batches, **changes)
    return Training(config, bank.development(), None, SEED, torch.device(device))
