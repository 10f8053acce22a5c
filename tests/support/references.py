"""Adds references with known numbers to an OUT folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.file_contents import edit, metrics_of, record_content, write

PIXELS, NETWORK = "reference.pixels", "reference.untrained_network"
LABELS = {PIXELS: "Raw pixels", NETWORK: "Untrained network"}


def add_references(out: Path, values: Mapping[str, Sequence[float]], **others: Any) -> Path:
    """References by name with the test mAP of each seed, beside all arms; `others` are in each record."""
    study = json.loads((out / "study.json").read_text(encoding="utf-8"))
    entries = [
        {
            "name": name,
            "label": LABELS[name],
            "about": "nothing trained",
            "arms": [arm["name"] for arm in study["arms"]],
            "replicates": len(by_seed),
        }
        for name, by_seed in values.items()
    ]
    edit(out / "study.json", references=entries)
    for name, by_seed in values.items():
        for seed, value in enumerate(by_seed):
            content = record_content(name, {}, 0, "reference", seed, metrics_of(value, 0.05), **others)
            write(out / "records" / f"{content['trial']}.json", content)
    return out
