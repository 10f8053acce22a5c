"""Why a value may differ from the published one: rules that are looked up in the study, none that is asserted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Compared:
    """Values of an arm beside published ones."""

    results: Results
    numbers: PublishedNumbers
    arm: ArmEntry


@dataclass(frozen=True)
class Reason:
    """A known difference from the paper: its name, and what it is for a value, blank where there is none."""

    name: str
    about: Callable[[Compared], str]


def _images(of: Compared) -> str:
    if of.results.study.data.kind == PAPER_DATA:
        return ""
    return f"ours are {data_phrase(of.results)}; the paper's are knee radiographs of the OAI"


def _training(of: Compared) -> str:
    here = dict(flat(of.results.study.train))
    other = [name for name, wanted in PAPER_TRAINING.items() if here.get(name) != wanted]
    named = ", ".join(f"{name} {here.get(name)} ({PAPER_TRAINING[name]})" for name in other)
    return f"ours, and in brackets the paper's: {named}" if other else ""


def _test_protocol(of: Compared) -> str:
    if of.numbers.ours_on != "test set" or of.results.study.test_protocol == PAPER_TEST_PROTOCOL:
        return ""
    return "ours tests one model a seed, trained on all development subjects; the paper averages five fold models"


def _subjects(of: Compared) -> str:
    ours, theirs = of.numbers.ours_on, of.numbers.published_on
    return "" if ours == theirs else f"ours are on the {ours}, the paper's on its {theirs}"


def _released_code(of: Compared) -> str:
    return " ".join(published.footnotes([published.loss_name(of.arm)]))


REASONS = (
    Reason("other images", _images),
    Reason("other training", _training),
    Reason("other test protocol", _test_protocol),
    Reason("other subjects", _subjects),
    Reason("released code", _released_code),
)
"""In the order in which they are named; each may explain a difference, and none says how much of it."""
