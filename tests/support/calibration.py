"""The content of a calibration.json of the study that `factories` writes, with its five triplet arms."""

from __future__ import annotations

from typing import Any

from fmim_core.records import SCHEMA

FORECAST = {
    "trials": 61,
    "reused": 0,
    "epochs": 366,
    "images": 491904,
    "wall_s": 1000.0,
    "device_seconds": 732.0,
    "peak_memory": 5e8,
}
CALIBRATION: dict[str, Any] = {
    "schema": SCHEMA,
    "made_at": "2026-01-02T03:00:00Z",
    "study": "automargin_vs_grid",
    "preset": "quick",
    "seed": 0,
    "replicates": 25,
    "search_splits": 1,
    "epochs": 6,
    "data_fingerprint": "d" * 64,
    "backend": "ray",
    "device": "the CPU (no GPU is used)",
    "slots": 2,
    "device_share": 1.0,
    "forecast": FORECAST,
    "preparation_s": 1.0,
    "calibration": {},
}
