"""Why a value may differ from the published one: rules that are looked up in the study, none that is asserted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fmim_core.records import ArmEntry, flat
from fmim_reports.reading import published
from fmim_reports.reading.results import Results
from fmim_reports.whole_paper.items import PublishedNumbers
from fmim_reports.writing.captions import data_phrase

PAPER_DATA = "oai"
PAPER_TEST_PROTOCOL = "fold_ensemble"
PAPER_TRAINING: Mapping[str, Any] = {
    "model.kind": "resnet18",
    "model.weights": "imagenet",
    "model.embedding_dim": 128,
    "augmentation.crop": 256,
    "batches.subjects_per_batch": 32,
    "batches.images_per_subject": 4,
    "learning_rate": 1e-4,
    "weight_decay": 1e-4,
    "epochs": 100,
    "keep": "best",
}
"""The paper's training, section 4.1 and Suppl. Table 1(a); `keep` as in its authors' code."""


def reasons(results: Results, numbers: PublishedNumbers, arm: ArmEntry) -> dict[str, str]:
    """Return the known differences of an arm's values from the paper's by name, with what they are.

    Each may explain a difference, and none says how much of it.
    """
    study, ours, theirs = results.study, numbers.ours_on, numbers.published_on
    here = dict(flat(study.train))
    other = [f"{name} {here.get(name)} ({it})" for name, it in PAPER_TRAINING.items() if here.get(name) != it]
    found: dict[str, str] = {}
    if study.data.kind != PAPER_DATA:
        found["other images"] = f"ours are {data_phrase(results)}; the paper's are knee radiographs of the OAI"
    if other:
        found["other training"] = f"ours, and in brackets the paper's: {', '.join(other)}"
    if ours == "test set" and study.test_protocol != PAPER_TEST_PROTOCOL:
        found["other test protocol"] = (
            "ours tests one model a seed, trained on all development subjects; the paper averages five fold models"
        )
    if ours != theirs:
        found["other subjects"] = f"ours are on the {ours}, the paper's on its {theirs}"
    if notes := published.footnotes([published.loss_name(arm)]):
        found["released code"] = " ".join(notes)
    return found
