"""The TOML file beside a table: what it sets, what it changes of banks and fingerprints, and what is refused."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fmim_core.data.bank.bank import Bank
from fmim_core.data.bank.building import build_bank, development_index
from fmim_core.data.sets.base import FileSource
from fmim_core.data.sets.manifest import manifest
from fmim_core.fingerprint import fingerprint
from fmim_core.records import read_json, write_json
from tests.support.manifests import GOOD_ROWS, source

SIZE = 16
BEFORE_SETTINGS = "e1459e8fae1dc97a9e10e0eb3834247e137025c12c4cb175d0895afd64906113"
"""The fingerprint that the bank of `plain` had before a table could have settings, an interval or roles."""
DAYS = (0, 2, 10, 11, 24, 25)
"""After baseline; by weeks of seven days these are 0, 1, 1, 2, 3, 4."""


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """A table of six subjects, of two images each."""
    for number, row in enumerate(GOOD_ROWS):
        pixels = np.arange(SIZE**2, dtype=np.uint8).reshape(SIZE, SIZE) + np.uint8(number)
        Image.fromarray(pixels).save(tmp_path / row.partition(",")[0])
    path = tmp_path / "plain.csv"
    path.write_text("\n".join(["image,subject,months,side,split", *GOOD_ROWS, ""]))
    return path


def bank_of(table: Path, settings: str | None = None) -> tuple[FileSource, Bank]:
    """The source and the bank of a table with these settings beside it."""
    if settings is not None:
        table.with_suffix(".toml").write_text(settings)
    found = FileSource(manifest(table))
    return found, build_bank(found, SIZE, table.parent / "banks")


def test_a_table_without_settings_is_what_it_was(plain: Path) -> None:
    found, bank = bank_of(plain)
    assert bank.fingerprint == BEFORE_SETTINGS
    assert found.fingerprint == fingerprint([found.index.to_csv(), found.image_keys])
    assert found.description.settings == {}
    assert found.description.interval == bank.interval.unit == "year"
    assert list(found.description.files) == ["plain.csv"]
    assert bank.summary["test"]["years"] == {"0": 3, "1": 3}


def test_normalisation_belongs_to_the_training_and_decodes_nothing_anew(plain: Path) -> None:
    before, bank = bank_of(plain)
    after, same = bank_of(plain, "mean = 0.25\nstd = 1\n")
    assert after.description.settings == {"augmentation.mean": 0.25, "augmentation.std": 1.0}
    assert (after.fingerprint, same.path, same.fingerprint) == (before.fingerprint, bank.path, bank.fingerprint)
    sha256 = hashlib.sha256(b"mean = 0.25\nstd = 1\n").hexdigest()
    assert same.description.provenance["files"] == {**bank.description.files, "plain.toml": sha256}
    assert bank_of(plain, "std = 0.5")[0].description.settings == {"augmentation.std": 0.5}


def test_another_interval_is_another_bank_of_the_same_images(plain: Path) -> None:
    _, years = bank_of(plain)
    found, months = bank_of(plain, 'interval = "month"\n')
    assert found.image_keys == FileSource(manifest(plain)).image_keys
    assert months.path != years.path
    assert months.fingerprint != years.fingerprint
    assert (months.sha256, months.summary["test"]["months"]) == (years.sha256, {"0": 3, "12": 3})
    months.check()
    assert Bank.open(months.path).development().times.tolist() == [0, 12] * 3
    assert Bank.open(months.path).open_test().interval == months.interval
    about = read_json(months.path / "bank.json")
    write_json(months.path / "bank.json", about | {"description": about["description"] | {"interval": "week"}})
    with pytest.raises(ValueError, match=r"bank\.json was changed"):
        Bank.open(months.path).check()


@pytest.mark.parametrize(
    ("interval", "expected"),
    [
        ("day", [0, 2, 10, 11, 24, 25]),
        ("week", [0, 1, 1, 2, 3, 4]),
        ("month", [0, 1, 1, 1, 1, 1]),
        ("year", [0, 1, 1, 1, 1, 1]),
    ],
)
def test_queries_are_grouped_by_the_nearest_whole_interval_and_never_by_none(
    folder: Path, interval: str, expected: list[int]
) -> None:
    rows = [f"x/{name}.png,1,{day * 12 / 365.25:.4f},train" for name, day in zip("abcde", DAYS, strict=False)]
    rows += ["x/f.png,1,0.8214,train", "x/g.png,2,0,test", "x/h.png,2,1,test"]
    (folder / "table.toml").write_text(f'interval = "{interval}"')
    for name in "fgh":
        (folder / "x" / f"{name}.png").write_bytes((folder / "x" / "a.png").read_bytes())
    found = source(folder, "\n".join(["image,subject,months,split", *rows, ""]))
    assert development_index(found, 8).times.tolist() == expected


@pytest.mark.parametrize("table", ["films.csv.gz", "films.tsv", "films.csv"])
def test_settings_have_the_tables_name(table: str, folder: Path) -> None:
    (folder / "films.toml").write_text('interval = "week"\r\n', encoding="utf-8-sig")
    (folder / "manifest.toml").write_text("mean = 0.1")
    (folder / table).write_text("image,subject,months\nx/a.png,1,0\nx/b.png,1,1\n")
    (folder / "manifest.csv").write_bytes((folder / table).read_bytes())
    assert manifest(folder / table).description.interval == "week"
    assert manifest(folder / "manifest.csv").description.settings == {"augmentation.mean": 0.1}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('interval = "weak"', r"interval: Input should be 'day', 'week', 'month' or 'year' \(given 'weak'\)"),
        ("mean = 127.5", r"mean: Input should be less than or equal to 1 \(given '127\.5'\)"),
        ('mean = "0.5"', r"mean: Input should be a valid number \(given '0\.5'\)"),
        (
            "std = true\nmean = -1",
            r"mean: Input should be greater than or equal to 0 .*; std: Input should be a valid number",
        ),
        (
            "intervall = 'week'",
            r"unknown field 'intervall'; .* has mean, std, interval, channels\. Did you mean 'interval'",
        ),
        ("interval = week", r"is not a TOML file \(with lines such as mean = 0\.5\): .*line 1"),
        (b"\xff\xfe", "is not a TOML file"),
    ],
)
def test_settings_that_are_refused(folder: Path, content: str | bytes, message: str) -> None:
    (folder / "table.toml").write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(ValueError, match=rf"table\.toml:? .*{message}"):
        source(folder)
