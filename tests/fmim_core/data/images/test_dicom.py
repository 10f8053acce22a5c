"""DICOM radiographs: stored values to grey against pydicom's own windows and plain loops; odd files refused by name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pydicom
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from pydicom.dataset import Dataset
from pydicom.pixels import apply_modality_lut, apply_voi_lut, get_decoder
from pydicom.uid import ExplicitVRLittleEndian, ImplicitVRLittleEndian, JPEGLosslessSV1

from fmim_core.data.images.reading import ImageProblem, read_image
from tests.support.paths import ROOT
from tests.support.radiographs import RAMP, dataset, grey, lut, refusals

pytestmark = pytest.mark.filterwarnings("ignore")  # pytest undoes the filter that the last test is about

SAMPLES = Path(pydicom.__file__).parent / "data" / "test_files"


def test_the_full_range_of_the_stored_bits_without_a_window(tmp_path: Path) -> None:
    expected = np.floor(RAMP * (255 / 4095) + 0.5)
    np.testing.assert_array_equal(grey(dataset(RAMP), tmp_path), expected)
    inverted = grey(dataset(RAMP, PhotometricInterpretation="MONOCHROME1"), tmp_path)
    np.testing.assert_array_equal(inverted, 255 - expected)
    np.testing.assert_array_equal(grey(dataset(RAMP, bits=16), tmp_path), np.floor(RAMP * (255 / 65535) + 0.5))
    eight = np.arange(64, dtype=np.uint8).reshape(8, 8) * 4
    np.testing.assert_array_equal(grey(dataset(eight, bits=8), tmp_path), eight)
    falling = grey(dataset(RAMP, RescaleSlope=-0.5, RescaleIntercept=7), tmp_path)
    np.testing.assert_array_equal(falling, np.floor(255 * (4095 - RAMP.astype(float)) / 4095 + 0.5))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    centre=st.floats(-3000, 6000),
    width=st.one_of(st.just(1.0), st.floats(1, 6000)),
    function=st.sampled_from(["LINEAR", "LINEAR_EXACT", "SIGMOID"]),
    slope=st.sampled_from([1.0, 0.25, 2.0, -1.0]),
    intercept=st.sampled_from([0.0, -1024.0, 0.5]),
    signed=st.booleans(),
    second=st.booleans(),
)
def test_windows_are_pydicoms(
    centre: float,
    width: float,
    function: str,
    slope: float,
    intercept: float,
    signed: bool,
    second: bool,
    tmp_path: Path,
) -> None:
    centre, width = round(centre, 3), round(width, 3)
    pixels = RAMP.astype(np.int16) - 2048 if signed else RAMP
    more = [77.0] if second else []
    made = dataset(
        pixels,
        RescaleSlope=slope,
        RescaleIntercept=intercept,
        WindowCenter=[centre, *more],
        WindowWidth=[width, *more],
        VOILUTFunction=function,
    )
    shown = apply_voi_lut(apply_modality_lut(pixels, made), made)
    ends = slope * np.array([-2048, 2047] if signed else [0, 4095]) + intercept
    share = np.clip((shown - ends[0]) / (ends[1] - ends[0]), 0, 1)
    difference = np.abs(grey(made, tmp_path) - 255 * share)
    assert difference.max() <= 0.5 + 1e-6


@pytest.mark.parametrize("bits", [8, 10, 16])
def test_lookup_tables_by_a_loop(bits: int, tmp_path: Path) -> None:
    """A table of 8-bit entries for 12-bit values is one that pydicom itself looks up wrongly."""
    top = 2**bits - 1
    modality = [(7 * n) % 3000 for n in range(3000)]
    voi = [round(top * (n / 1999) ** 2) for n in range(2000)]
    made = dataset(RAMP, ModalityLUTSequence=lut(500, modality, 12), VOILUTSequence=lut(300, voi, bits))

    def look_up(value: int, first: int, entries: list[int]) -> int:
        return entries[min(max(value - first, 0), len(entries) - 1)]

    expected = [[look_up(look_up(int(v), 500, modality), 300, voi) for v in row] for row in RAMP]
    np.testing.assert_array_equal(grey(made, tmp_path), np.floor(255 * np.array(expected) / top + 0.5))


def test_a_lookup_table_comes_before_a_window_and_rescaled_values_are_rounded_for_it(tmp_path: Path) -> None:
    voi = list(range(4096))
    made = dataset(
        RAMP, RescaleSlope=0.9, RescaleIntercept=0, VOILUTSequence=lut(0, voi, 12), WindowCenter=1, WindowWidth=1
    )
    expected = [[int(255 * round(0.9 * int(v)) / 4095 + 0.5) for v in row] for row in RAMP]
    np.testing.assert_array_equal(grey(made, tmp_path), expected)


def test_colour_and_palettes_give_the_luminance_however_stored() -> None:
    expected = read_image(SAMPLES / "SC_rgb_rle.dcm")
    colours = pydicom.dcmread(SAMPLES / "SC_rgb_rle.dcm").pixel_array.astype(float)
    assert np.abs(expected - colours @ [0.299, 0.587, 0.114]).max() <= 0.51
    for name in ("dcmtk_+eb+cr", "dcmtk_+eb+cy+n1", "dcmtk_+eb+cy+np", "dcmtk_+eb+cy+s4", "jpeg_dcmtk", "gdcm_KY"):
        assert np.abs(read_image(SAMPLES / f"SC_rgb_{name}.dcm").astype(int) - expected).mean() < 0.5, name
    palette = read_image(SAMPLES / "examples_palette.dcm")
    assert palette.shape == (350, 800)
    assert (palette.min(), palette.max()) == (0, 254)


@pytest.mark.parametrize("name", ["RLE", "jp2klossless", "bigendian", "expb", "implicit", "padded"])
def test_the_same_picture_however_stored(name: str) -> None:
    np.testing.assert_array_equal(read_image(SAMPLES / f"MR_small_{name}.dcm"), read_image(SAMPLES / "MR_small.dcm"))


@pytest.mark.parametrize("suffix", [".dcm", ".DICOM"])
@pytest.mark.parametrize("syntax", [ImplicitVRLittleEndian, ExplicitVRLittleEndian])
def test_files_of_old_without_the_mark_are_known_by_their_name(syntax: str, suffix: str, tmp_path: Path) -> None:
    made = dataset(RAMP)
    path = tmp_path / f"old{suffix}"
    bare = Dataset(made)
    implicit = syntax == ImplicitVRLittleEndian
    pydicom.dcmwrite(path, bare, implicit_vr=implicit, little_endian=True)
    assert path.read_bytes()[128:132] != b"DICM"
    np.testing.assert_array_equal(read_image(path), grey(made, tmp_path))


def test_content_counts_more_than_the_name(tmp_path: Path) -> None:
    Image.fromarray(RAMP.astype(np.uint8)).save(tmp_path / "png.dcm", format="PNG")
    np.testing.assert_array_equal(read_image(tmp_path / "png.dcm"), RAMP.astype(np.uint8))
    np.testing.assert_array_equal(grey(dataset(RAMP), tmp_path, "film.png"), grey(dataset(RAMP), tmp_path))
    (tmp_path / "empty.dcm").touch()
    with pytest.raises(ImageProblem, match=r"empty\.dcm: empty"):
        read_image(tmp_path / "empty.dcm")
    (tmp_path / "text.dcm").write_text("not a picture at all, " * 20)
    with pytest.raises(ImageProblem, match=r"text\.dcm: DICOM without an image, or cut short"):
        read_image(tmp_path / "text.dcm")


@pytest.mark.skipif(get_decoder(JPEGLosslessSV1).is_available, reason="a decoder of lossless JPEG is installed")
def test_a_missing_decoder_is_named_with_what_to_install() -> None:
    with pytest.raises(ImageProblem, match=r"JPEG Lossless, .* pip install pylibjpeg pylibjpeg-libjpeg"):
        read_image(SAMPLES / "SC_rgb_jpeg_gdcm.dcm")


@pytest.mark.parametrize(
    "name", ["MR_small", "MR_small_RLE", "MR_small_jp2klossless", "SC_rgb_jpeg_dcmtk", "image_dfl"]
)
def test_a_file_cut_anywhere_is_the_whole_picture_or_refused(name: str, tmp_path: Path) -> None:
    assert refusals(SAMPLES / f"{name}.dcm", tmp_path / "cut.dcm", times=20) >= 18


def program(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_without_pydicom_the_message_says_what_to_install_and_with_it_nothing_is_remarked(tmp_path: Path) -> None:
    code = """
import sys
from fmim_core.data.images.reading import ImageProblem, read_image
for path in sys.argv[1:]:
    try:
        print(read_image(path).shape)
    except ImageProblem as problem:
        print(problem)
"""
    made, png = tmp_path / "film.png", tmp_path / "a.png"
    dataset(RAMP).save_as(made, enforce_file_format=True)
    Image.new("L", (8, 8)).save(png)
    done = program("import sys; sys.modules['pydicom'] = None" + code, made, png)  # an import of it fails
    said = f"{made}: a DICOM file: install what reads it with pip install 'fmim-studies[dicom]'"
    assert (done.stdout.splitlines(), done.stderr) == ([said, "(8, 8)"], "")
    names = ("MR_small_padded", "J2K_pixelrep_mismatch", "MR_truncated", "SC_rgb_jpeg", "no_meta", "badVR", "JPEG2000")
    silent = program(code, *(SAMPLES / f"{name}.dcm" for name in names))
    assert silent.stdout.count(".dcm: ") == 3
    assert silent.stderr == ""
