"""What a trial's run in MLflow says of the trial: its name, its parameters and its data set."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fmim_core.records import DataEntry, Record, flat

LONGEST_DIGEST = 32  # letters of the fingerprint; MLflow takes 36 of a data set's digest
UNITS = {"search": "fold", "replicate": "seed", "reference": "seed"}
"""What a replicate is in each stage."""


def run_name(record: Record, labels: Mapping[str, str]) -> str:
    """`AdaTriplet + AutoMargin, K_Δ = 2, K_an = 4 · seed 3`.

    Args:
        labels: what reports call each arm and reference, by its name.
    """
    from fmim_reports.writing.formats import configuration_text

    label = labels.get(record.arm, record.arm)
    values = f", {configuration_text(record.configuration)}" if record.configuration else ""
    split = f" of search split {record.search_split}" if record.search_split else ""
    return f"{label}{values} · {UNITS[record.stage]} {record.replicate}{split}"


def parameters_of(record: Record) -> dict[str, Any]:
    """What the trial is of, its hyperparameters by the names of their arm, and every field of its training."""
    return {
        **record.model_dump(include={"arm", "stage", "replicate", "seed"}),
        **dict(flat(record.config)),
        **record.configuration,
    }


def tags_of(record: Record) -> dict[str, str]:
    """By what the trial's run is found."""
    names = {"trial", "arm", "stage", "replicate", "search_split", "seed", "fingerprint"}
    return {f"fmim.{name}": str(value) for name, value in record.model_dump(include=names).items()}


def dataset_of(data: DataEntry) -> dict[str, str]:
    """The arguments of MLflow's `Dataset`: its digest is the beginning of the fingerprint of the decoded images.

    The source is what the data set's tables are, by their checksums; where they lie on a machine is not told.
    """
    shape = [-1, data.image_size, data.image_size]
    images = {"type": "tensor", "name": "images", "tensor-spec": {"dtype": "uint8", "shape": shape}}
    source = {"kind": data.kind, "release": data.release, "files": data.files, "fingerprint": data.fingerprint}
    return {
        "name": data.name,
        "digest": data.fingerprint[:LONGEST_DIGEST],
        "source_type": "code",
        "source": json.dumps({"tags": source}),
        "schema": json.dumps({"mlflow_tensorspec": {"features": json.dumps([images]), "targets": None}}),
        "profile": json.dumps(
            {
                "about": data.about,
                "images": data.images,
                "development": data.development.model_dump(exclude={"by_time"}),
                "test": data.test.model_dump(exclude={"by_time"}),
            }
        ),
    }


def context_of(record: Record) -> str:
    """Which side of the data set the trial reads."""
    return "development" if record.stage == "search" else "development, test"
