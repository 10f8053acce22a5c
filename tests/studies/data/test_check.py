"""`fmim data check`: every problem of a data set at once, and no memory lost to its images."""

from __future__ import annotations

import csv
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from fmim_core.data.images.check import check_images, unnamed_images
from fmim_core.data.tables.findings import Findings
from tests.studies.data.conftest import Fmim
from tests.support.manifests import GOOD_ROWS, folder_of, picture
from tests.support.paths import REAL_DATA


def test_every_problem_is_listed_at_once(fmim: Fmim, tmp_path: Path) -> None:
    """Broken, blank, copied, missing, unnamed and mislabelled, in a table with row errors besides."""
    data = tmp_path / "d"
    (data / "sub").mkdir(parents=True)
    (data / "out" / "report").mkdir(parents=True)
    Image.fromarray(picture(0)).save(data / "copy.bmp")  # of train0_0.png, in another format
    Image.fromarray(picture(3)[:, ::-1]).save(data / "mirrored.png")  # of train1_12.png
    Image.fromarray(np.full((9, 9), 70, np.uint8)).save(data / "blank.png")
    Image.fromarray(np.full((5, 7), 0, np.uint8)).save(data / "black.png")
    Image.fromarray(picture(1) // 16).save(data / "dark.png")
    Image.fromarray(picture(99)).save(data / "sub" / "unnamed.PNG")
    Image.fromarray(picture(99)).save(data / "out" / "report" / "figure.png")
    (data / "out" / "study.json").write_text("{}")
    (data / "text.png").write_text("text")
    rows = [*GOOD_ROWS, "copy.bmp,train0,24,,train", "mirrored.png,test1,24,R,test", "blank.png,test2,24,,test",
            "black.png,train2,24,,train", "dark.png,train2,36,,train", "text.png,test0,24,,test",
            "late.png,train9,24,,train", "gone.png,train1,24,,train", "sided.png,train1,36,up,train"]  # fmt: skip
    path = folder_of(data, rows)
    (data / "gone.png").unlink()
    code, out, _ = fmim("data", "check", path, "--csv", "problems.csv")
    assert code == 2
    assert "d: 20 of 21 images decoded" in out
    assert "errors: 4, warnings: 6" in out
    with (tmp_path / "problems.csv").open(newline="", encoding="utf-8") as file:
        header, *found = csv.reader(file)
    assert header == ["severity", "problem", "place"]
    assert sorted((severity, place) for severity, _, place in found) == [
        ("error", "gone.png"),
        ("error", "line 22 'up'"),
        ("error", "mirrored.png (subject test1) = train1_12.png (subject train1)"),
        ("error", "text.png: not an image, or cut short (PNG, JPEG, TIFF, DICOM and the like are read)"),
        ("warning", "black.png"),
        ("warning", "blank.png"),
        ("warning", "copy.bmp = train0_0.png (subject train0)"),
        ("warning", "dark.png"),
        ("warning", "sub/unnamed.PNG"),
        ("warning", "train9"),
    ]
    assert not set("│┃") & set((tmp_path / "problems.csv").read_text())


@pytest.mark.skipif(not REAL_DATA.is_dir(), reason="no shared/data beside the repository")
@pytest.mark.parametrize("name", ["nih/images64_manifest.csv", "open_cxr/manifest.csv"])
def test_real_data_sets_have_no_errors(name: str, fmim: Fmim) -> None:
    code, out, _ = fmim("data", "check", REAL_DATA / name)
    assert code == 0
    assert "errors" not in out


def test_checking_keeps_no_image() -> None:
    index = pd.DataFrame({"image": [f"{n}.png" for n in range(100)], "subject": "one"})
    findings, steps = Findings(), []
    tracemalloc.start()
    pattern = np.arange(1000, dtype=np.uint16) % 200
    check_images(
        index,
        range(100),
        lambda row: np.tile((pattern + row % 50).astype(np.uint8), (1000, 1)),
        lambda row: False,
        findings,
        lambda *step: steps.append(step),
    )
    assert tracemalloc.get_traced_memory()[1] < 4e6 * (4 + (os.cpu_count() or 1)), "100 MB of images passed"
    tracemalloc.stop()
    assert steps == [(n + 1, 100) for n in range(100)]
    assert [(f.severity, len(f.places)) for f in findings] == [("warning", 50)]


def test_a_large_folder_is_not_walked_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fmim_core.data.images.check.MAX_FILES", 3)
    for name in ("a.png", "b.txt", "c.png", "d.png", ".hidden/e.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    findings = Findings()
    unnamed_images(tmp_path, ["a.png", None], findings)
    assert [(f.severity, f.places) for f in findings] == [("note", (str(tmp_path),)), ("warning", ("c.png",))]
