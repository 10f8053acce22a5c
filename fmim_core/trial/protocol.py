"""What a trial trains: one model, or one model a fold."""

from __future__ import annotations

import torch

from fmim_core.data.image_set import ImageSet
from fmim_core.data.splits import subject_folds
from fmim_core.training.ensemble import FoldEnsemble
from fmim_core.training.trainer import Training
from fmim_core.trial.spec import TrialSpec


def training_of(spec: TrialSpec, development: ImageSet, device: torch.device) -> Training | FoldEnsemble:
    """A search trial's fold, or what a replicate tests: one model of all development subjects, or one a fold."""
    if spec.stage == "replicate" and spec.test_protocol == "retrained":
        return Training(spec.train, development, None, spec.seed, device)
    per_side = spec.train.identity == "side"
    folds = subject_folds(development, spec.folds, spec.folds_seed, per_side)
    if spec.fold is None:
        return FoldEnsemble(spec.train, folds, spec.seed, device)
    return Training(spec.train, folds[spec.fold].train, folds[spec.fold].validation, spec.seed, device)
