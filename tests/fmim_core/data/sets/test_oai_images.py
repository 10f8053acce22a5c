"""The OAI's films of both knees: each gives two images, where the landmarks say."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fmim_core.data.images.reading import ImageProblem
from fmim_core.data.sets.base import FileSource, Window
from fmim_core.data.sets.oai_images import _kneel
from fmim_core.data.tables import formats
from tests.support.oai_folders import (
    IDS,
    PEOPLE,
    film,
    film_path,
    found,
    oai,
    tables,
)


@pytest.fixture
def films(tmp_path: Path) -> Path:
    """Films of the four people at months 0 and 12, as PNG, without landmarks."""
    tables(tmp_path / "metadata", PEOPLE)
    for subject in IDS:
        for months in (0, 12):
            film(film_path(tmp_path / "films", subject, months, "001.png"))
    return tmp_path


def landmarks(folder: Path, names: Callable[[str, int], str], width: int | str = 20) -> Path:
    """A table of the landmarks of every film, each called as `names` says from its ID and months."""
    rows = [
        (names(subject, months), side, x, y, width)
        for subject in IDS
        for months in (0, 12)
        for side, x, y in (("R", 30, 40), ("L", 90.4, 49.6))
    ]
    lines = ["image,side,x,y,width", *(",".join(map(str, row)) for row in rows)]
    (folder / "landmarks.csv").write_text("\n".join(lines))
    return folder / "landmarks.csv"


def by_path(subject: str, months: int) -> str:
    return f"films/{months:02d}m/0.C.2/{subject}/20050101/00000001/001.png"


def test_each_film_gives_two_knees(films: Path) -> None:
    path = landmarks(films, by_path)
    listing = oai(films)
    index = listing.index
    assert index["side"].tolist() == ["R", "L"] * 8
    assert index["subject"].tolist() == [subject for _ in (0, 12) for subject in IDS for _ in "RL"]
    assert index["months"].tolist() == [0.0] * 8 + [12.0] * 8
    assert index["image"][0] == f"{by_path(IDS[0], 0)}#R"
    assert index["grade"].tolist()[:2] == ["0", "4"]
    assert listing.paths[0] == listing.paths[1] == by_path(IDS[0], 0)
    assert found(listing) == {}
    assert listing.description.details["images"] == "films"
    assert listing.description.files["landmarks.csv"] == hashlib.sha256(path.read_bytes()).hexdigest()
    source = FileSource(listing)
    right, left = source.read(0, 20), source.read(1, 20)
    # The middle of 20 pixels is the eleventh; the right knee is mirrored.
    assert [np.argwhere(image).tolist() for image in (right, left)] == [[[10, 9]], [[10, 10]]]
    assert (right.max(), left.max()) == (200, 100)


@pytest.mark.parametrize(
    "names",
    [
        lambda subject, months: by_path(subject, months).removesuffix(".png"),
        lambda subject, months: by_path(subject, months).removeprefix("films/"),
        lambda subject, months: "./" + by_path(subject, months).replace("/", "\\"),
        lambda subject, months: f"{subject}_{months}",
        lambda subject, months: f"{subject}_{months:02d}",
    ],
)
def test_landmarks_name_a_film_in_any_way_that_is_its_own(films: Path, names: Callable[[str, int], str]) -> None:
    landmarks(films, by_path)
    expected = oai(films)
    landmarks(films, names)
    listing = oai(films)
    pd.testing.assert_frame_equal(listing.index, expected.index)
    assert listing.windows == expected.windows


def kneel(path: Path, names: list[str], centres: np.ndarray) -> None:
    """KNEEL's output: 16 points a knee, of which the fifth is the one of `centres` `(n, 2, 2)`."""
    points = np.random.default_rng(0).uniform(0, 80, (len(names), 2, 16, 2))
    points[:, :, 4] = centres
    np.savez(path, preds=points, imgs=names)


def dicom(path: Path, **tags: object) -> None:
    """A header with these tags; the pixels are read elsewhere."""
    pydicom = pytest.importorskip("pydicom")
    path.parent.mkdir(parents=True, exist_ok=True)
    header = pydicom.Dataset()
    for name, value in tags.items():
        setattr(header, name, value)
    header.file_meta = pydicom.dataset.FileMetaDataset()
    header.file_meta.TransferSyntaxUID = pydicom.uid.ExplicitVRLittleEndian
    header.file_meta.MediaStorageSOPClassUID = pydicom.uid.DigitalXRayImageStorageForPresentation
    header.file_meta.MediaStorageSOPInstanceUID = pydicom.uid.generate_uid()
    pydicom.dcmwrite(path, header, enforce_file_format=True)


def test_arrays_that_unpack_beyond_the_limit_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez_compressed(tmp_path / "landmarks.npz", preds=np.zeros(100_000))
    monkeypatch.setattr(formats, "MAX_BYTES", 50_000)
    with pytest.raises(ValueError, match=r"landmarks\.npz .*has more than 50000 bytes"):
        _kneel(tmp_path / "landmarks.npz")


def test_the_output_of_kneel_and_films_as_downloaded(tmp_path: Path) -> None:
    tables(tmp_path / "metadata", PEOPLE)
    for subject in IDS:
        for months in (0, 12):
            dicom(film_path(tmp_path, subject, months), ImagerPixelSpacing=[0.2, 0.2], PixelSpacing=[0.1, 0.1])
    names = [f"{subject}_{months:02d}" for subject in IDS for months in (0, 12)]
    centres = np.tile([[500.0, 700.0], [1500.0, 720.0]], (8, 1, 1))
    centres[0, 1] = np.nan
    kneel(tmp_path / "preds_unpadded_refined.npz", names, centres)
    listing = oai(tmp_path)
    assert listing.index["side"].tolist() == ["R", *["R", "L"] * 7]
    assert listing.windows[0] == Window(500, 700, None, 140)
    assert listing.windows[2] == Window(1500, 720, None, 140)
    path = "00m/0.C.2/9000001/20050101/00000001/001"
    assert found(listing) == {"knees on films without landmarks, left out": (f"{path} L",)}
    assert "preds_unpadded_refined.npz" in listing.description.files
    pixels = np.zeros((1400, 2000), np.uint8)
    pixels[350, 150] = pixels[1049, 849] = 255
    part = listing.windows[0].cut(tmp_path / path, pixels)
    assert part.shape == (700, 700)  # 140 mm at 0.2 mm
    for tags, message in (
        ({}, "it does not state its pixel spacing: give"),
        ({"PixelSpacing": [0.0, 0.0]}, "not state"),
    ):
        dicom(tmp_path / "001", **tags)
        with pytest.raises(ImageProblem, match=message):
            Window(3, 2).cut(tmp_path / "001", pixels)
    (tmp_path / "001").write_bytes(b"no DICOM")
    with pytest.raises(ImageProblem, match="its pixel spacing cannot be read, give the window's width in pixels"):
        Window(3, 2).cut(tmp_path / "001", pixels)
    assert (part[0, 0], part[-1, -1]) == (255, 255)


def test_windows() -> None:
    image = np.arange(1, 49, dtype=np.uint8).reshape(6, 8)
    np.testing.assert_array_equal(Window(3, 2, 4).cut("x", image), image[:4, 1:5])
    np.testing.assert_array_equal(Window(3.4, 2.4, 5.9).cut("x", image), image[:4, 1:5])
    expected = np.zeros((4, 4), np.uint8)
    expected[:, 2:] = image[2:6, 0:2]
    np.testing.assert_array_equal(Window(0, 4, 4).cut("x", image), expected)
    corner = np.zeros((8, 8), np.uint8)
    corner[:4, :5] = image[2:, 3:]
    np.testing.assert_array_equal(Window(7, 6 - 0.6, 8).cut("x", image)[:5, :5], image[1:6, 3:8])
    assert Window(7, 5, 8).cut("x", image)[5:].max() == 0
    with pytest.raises(ImageProblem, match=r"the point \(8, 2\) lies outside the image of 8 x 6"):
        Window(8, 2, 4).cut("x", image)
    with pytest.raises(ImageProblem, match="a window of 2 pixels is too small: give at least 4"):
        Window(3, 2, 3).cut("x", image)


def test_what_is_wrong_with_films(films: Path) -> None:
    hand = film(film_path(films / "films", IDS[0], 12, "002.png"))
    path = landmarks(films, by_path, width="")
    lines = path.read_text().splitlines()
    lines[2] = lines[2].replace("90.4", "ninety")
    lines[3:5] = [by_path(IDS[0], 12) + ",R,90,40,", by_path(IDS[0], 12) + ",L,30,40,"]
    lines += [lines[-1], by_path(IDS[3], 12) + ",R,31,40,", "9000009_12,R,1,2,", f"{IDS[0]}_12,R,90,40,"]
    path.write_text("\n".join(lines))
    listing = oai(films)
    assert found(listing, "warning") == {
        "landmarks left out, because they lack an image, a side R or L, or a number x, y or width": (
            f"line 3 {by_path(IDS[0], 0)}, L, ninety, 49.6, ",
        ),
        "landmarks of images that do not exist": ("9000009_12",),
        "knees on films without landmarks, left out": (
            f"{by_path(IDS[0], 0)} L",
            *(f"{hand.relative_to(films)} {side}" for side in "RL"),
        ),
    }
    errors = found(listing, "error")
    width = errors.pop("films that are not DICOM: their landmarks must give the width of a knee in pixels")
    assert len(width) == len(listing.index) == 15
    assert errors == {
        "landmarks whose image fits several films: name it by its path": (f"{IDS[0]}_12",),
        "knees with more than one landmark": (f"{by_path(IDS[3], 12)} R",),
        "films whose right knee is right of the left one: a film's left half shows the patient's right knee": (
            by_path(IDS[0], 12),
        ),
    }


def test_landmarks_that_are_refused(films: Path) -> None:
    with pytest.raises(ValueError, match=r"has films of both knees .* but no landmarks: add KNEEL's output"):
        oai(films)
    (films / "other.npz").write_bytes(b"PK and nothing")
    with pytest.raises(ValueError, match=r"other\.npz is not KNEEL's output \(with arrays called preds and imgs"):
        oai(films)
    np.savez(films / "other.npz", preds=np.zeros((2, 2, 9, 2)), imgs=["a", "b"])
    with pytest.raises(ValueError, match=r"preds of shape \(2, 2, 9, 2\), but KNEEL's output has \(2, 2, 16, 2\)"):
        oai(films)
    landmarks(films, by_path)
    with pytest.raises(ValueError, match=r"2 files of landmarks: landmarks\.csv, other\.npz"):
        oai(films)
