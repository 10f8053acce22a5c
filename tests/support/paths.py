"""Where the project lies, and the real data beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TASKS = ROOT / ".docs" / "pages" / "guides"
GUIDES = sorted([*ROOT.glob("*.md"), *ROOT.glob("*/*.md"), *TASKS.glob("*.md")])
REAL_DATA = ROOT.parent / "shared" / "data"
NIH_MANIFEST = REAL_DATA / "nih" / "images64_manifest.csv"
ODD = REAL_DATA / "odd"
ODD_2 = REAL_DATA / "odd2"

needs_nih = pytest.mark.skipif(
    not NIH_MANIFEST.exists(), reason="the real ChestX-ray14 sample is not beside the project"
)
needs_odd = pytest.mark.skipif(not ODD.is_dir(), reason="no shared/data/odd beside the repository")
needs_odd_2 = pytest.mark.skipif(not ODD_2.is_dir(), reason="no shared/data/odd2 beside the repository")
