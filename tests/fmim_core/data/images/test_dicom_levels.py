"""Attributes of DICOM files that change grey values: each is honoured, by plain arithmetic, or refused by its name."""

from __future__ import annotations

import io
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from pydicom.dataset import Dataset
from pydicom.encaps import encapsulate
from pydicom.filewriter import write_file_meta_info
from pydicom.sequence import Sequence
from pydicom.uid import DeflatedExplicitVRLittleEndian, JPEG2000Lossless, RLELossless

from fmim_core.data.images import dicom
from fmim_core.data.images.reading import ImageProblem, read_image
from tests.support.paths import ODD_2, needs_odd_2
from tests.support.radiographs import RAMP, dataset, grey, lut

pytestmark = pytest.mark.filterwarnings("ignore")

SIGNED = RAMP.astype(np.int16) - 2048
SHOWN = np.array([[int(255 * int(value) / 4095 + 0.5) for value in row] for row in RAMP])
"""The ramp of 12 bits over its full range."""
EXACT = {"VOILUTFunction": "LINEAR_EXACT"}
BACKGROUND = np.zeros(RAMP.shape, bool)
BACKGROUND[0], BACKGROUND[:, 0] = True, True


def framed(pixels: np.ndarray, value: int) -> np.ndarray:
    return np.where(BACKGROUND, np.array(value).astype(pixels.dtype), pixels)


@pytest.mark.parametrize(
    ("pixels", "elements"),
    [
        (RAMP << 4, {"HighBit": 15}),
        (RAMP << 2, {"HighBit": 13}),
        (RAMP << 2 | 0xC003, {"HighBit": 13}),
        ((SIGNED.view(np.uint16) << 4).view(np.int16), {"HighBit": 15}),
        (SIGNED & 0x0FFF, {}),  # the sign in bit 11 alone
        (SIGNED, EXACT | {"RescaleSlope": 2, "RescaleIntercept": 5, "WindowCenter": 4, "WindowWidth": 8190}),
        (RAMP, {"PresentationLUTShape": "IDENTITY"}),
        (4095 - RAMP, {"PhotometricInterpretation": "MONOCHROME1", "PresentationLUTShape": "INVERSE"}),
        (RAMP, EXACT | {"WindowCenter": ["2047.5", "9"], "WindowWidth": [4095, 1]}),
        (RAMP, {"WindowCenter": "", "WindowWidth": None, "RescaleSlope": ""}),
        (RAMP, {"VOILUTSequence": lut(0, list(range(4096)), 12), "WindowCenter": "nan", "WindowWidth": 1}),
        (SIGNED, {"ModalityLUTSequence": lut(65536 - 2048, list(range(4096)), 12)}),  # first input −2048
    ],
)
def test_the_same_picture_however_it_is_described(pixels: np.ndarray, elements: dict[str, Any], tmp_path: Path) -> None:
    np.testing.assert_allclose(grey(dataset(pixels, **elements), tmp_path), SHOWN, atol=1e-9)


def test_bits_beside_the_stored_ones_are_dropped_when_compressed(tmp_path: Path) -> None:
    for pixels, high in ((RAMP | 0xA000, 11), (RAMP << 2 | 0x8001, 13)):
        made = dataset(pixels, HighBit=high)
        made.compress(RLELossless)
        np.testing.assert_array_equal(grey(made, tmp_path), SHOWN)
    made.file_meta.TransferSyntaxUID = JPEG2000Lossless
    with pytest.raises(ImageProblem, match=r"HighBit 13, BitsStored 12 contradict .* JPEG 2000"):
        grey(made, tmp_path)


@pytest.mark.parametrize("inverted", [False, True])
@pytest.mark.parametrize(
    ("pixels", "elements"),
    [
        (framed(RAMP, 4094), {"PixelPaddingValue": 4094}),
        (framed(RAMP, 1), {"PixelPaddingValue": 1}),
        (framed(RAMP, 3), {"PixelPaddingValue": 1, "PixelPaddingRangeLimit": 4}),
        (framed(RAMP, 3), {"PixelPaddingValue": 4, "PixelPaddingRangeLimit": 1}),
        (framed(SIGNED, -2000), {"PixelPaddingValue": -2000}),
        (framed(RAMP, 0xFFFF), {"PixelPaddingValue": 0xFFFF}),  # which 12 bits cannot hold
    ],
)
def test_padding_is_black_in_both_kinds_of_grey(
    pixels: np.ndarray, elements: dict[str, Any], inverted: bool, tmp_path: Path
) -> None:
    form = "MONOCHROME1" if inverted else "MONOCHROME2"
    expected = np.where(BACKGROUND, 0, 255 - SHOWN if inverted else SHOWN)
    shown = grey(dataset(pixels, PhotometricInterpretation=form, **elements), tmp_path)
    np.testing.assert_array_equal(shown, expected)


def test_a_palette_takes_its_own_bits(tmp_path: Path) -> None:
    made = dataset(
        (np.arange(64, dtype=np.uint8).reshape(8, 8) % 4) << 4, bits=2, PhotometricInterpretation="PALETTE COLOR"
    )
    made.HighBit = 5
    for colour, entries in (("Red", [0, 255, 0, 90]), ("Green", [0, 0, 255, 90]), ("Blue", [0, 0, 0, 90])):
        setattr(made, f"{colour}PaletteColorLookupTableDescriptor", [4, 0, 8])
        setattr(made, f"{colour}PaletteColorLookupTableData", bytes(entries))
    np.testing.assert_array_equal(grey(made, tmp_path), [[0, 76, 150, 90] * 2] * 8)


def nested(name: str) -> Sequence:
    group = Dataset()
    setattr(group, name, Sequence([Dataset()]))
    return Sequence([group])


@pytest.mark.parametrize(
    ("elements", "message"),
    [
        ({"WindowCenter": "NaN", "WindowWidth": "4096"}, "WindowCenter is nan, which is not finite"),
        ({"WindowCenter": "9", "WindowWidth": "inf"}, "WindowWidth is inf, which is not finite"),
        ({"RescaleSlope": "-inf"}, "RescaleSlope is -inf, which is not finite"),
        ({"RescaleIntercept": "nan"}, "RescaleIntercept is nan, which is not finite"),
        (
            {"RescaleSlope": "1e308", "RescaleIntercept": "1e308"},
            "rescaling and window give numbers that are not finite",
        ),
        ({"WindowCenter": "9", "WindowWidth": "0.5"}, "WindowWidth 0.5 is too small for the window LINEAR"),
        ({"WindowCenter": "9"}, "its window lacks a part: WindowCenter 9.0, WindowWidth None"),
        ({"PresentationLUTShape": "INVERSE"}, "PresentationLUTShape INVERSE contradicts MONOCHROME2"),
        ({"PresentationLUTShape": "LIN OD"}, "PresentationLUTShape LIN OD contradicts MONOCHROME2"),
        (
            {"PhotometricInterpretation": "MONOCHROME1", "PresentationLUTShape": "IDENTITY"},
            "PresentationLUTShape IDENTITY contradicts MONOCHROME1",
        ),
        ({"PixelPresentation": "COLOR"}, "PixelPresentation: .* stand for colours"),
        ({"PresentationLUTSequence": lut(0, [0, 1], 8)}, "PresentationLUTSequence changes grey values"),
        ({"SharedFunctionalGroupsSequence": nested("FrameVOILUTSequence")}, "FrameVOILUTSequence changes grey values"),
        (
            {"PerFrameFunctionalGroupsSequence": nested("PixelValueTransformationSequence")},
            "PixelValueTransformationSequence changes grey values",
        ),
        ({"ModalityLUTSequence": Sequence([Dataset()])}, "ModalityLUTSequence lacks its LUTDescriptor or its LUTData"),
        ({"Rows": 40000, "Columns": 40000}, "too many pixels, not decoded: 40000 x 40000"),
        ({"NumberOfFrames": 2}, "several frames"),
        ({"PixelData": RAMP.tobytes()[:-2]}, "truncated: 124 of 126 bytes"),
        ({"PixelData": None}, "no pixel data"),
        ({"Rows": None}, r"DICOM without an image, or cut short \(no SOPClassUID\)"),
        ({"BitsAllocated": 32}, "MONOCHROME2 pixels of 32 bits have no fixed range"),
        ({"PhotometricInterpretation": "CMYK"}, "pixels of kind CMYK cannot be read; allowed: MONOCHROME1, "),
        ({"WindowCenter": 5, "WindowWidth": 9, "VOILUTFunction": "LOG"}, "VOILUTFunction LOG is unknown"),
        ({"RescaleSlope": 0, "RescaleIntercept": 0}, "RescaleSlope is 0"),
        ({"VOILUTSequence": lut(0, [1, 2], 20)}, r"VOILUTSequence has 2 of 2 entries of 20 bits"),
        ({"BitsStored": 17}, "BitsStored 17 and HighBit 11 .* MONOCHROME2 .* BitsAllocated 16"),
        ({"HighBit": 10}, "BitsStored 12 and HighBit 10"),
        ({"HighBit": 16}, "BitsStored 12 and HighBit 16"),
        ({"SamplesPerPixel": 3, "PlanarConfiguration": 0}, "SamplesPerPixel 3 and PixelRepresentation 0 .* MONO"),
        (
            {"BitsAllocated": 8, "BitsStored": 8, "HighBit": 7, "PhotometricInterpretation": "RGB"},
            "SamplesPerPixel 1 .* RGB",
        ),
    ],
)
def test_what_is_contradictory_or_not_read_is_refused_by_name(
    elements: dict[str, Any], message: str, tmp_path: Path
) -> None:
    made = dataset(RAMP, **{name: value for name, value in elements.items() if value is not None})
    for name in elements.keys() - {element.keyword for element in made if elements.get(element.keyword) is not None}:
        delattr(made, name)
    with pytest.raises(ImageProblem, match=rf"film\.dcm: {message}"):
        grey(made, tmp_path)


@pytest.mark.parametrize("name", ["RescaleSlope", "RescaleIntercept", "WindowCenter", "WindowWidth"])
def test_a_decimal_comma_is_refused_by_name(name: str, tmp_path: Path) -> None:
    made = dataset(RAMP, **{"WindowCenter": "9", "WindowWidth": "9", name: "7777.5"})
    made.save_as(tmp_path / "film.dcm", enforce_file_format=True)
    content = (tmp_path / "film.dcm").read_bytes()
    (tmp_path / "film.dcm").write_bytes(content.replace(b"7777.5", b"7777,5"))
    with pytest.raises(ImageProblem, match=rf"film\.dcm: {name} is not a number \(.*'7777,5'"):
        read_image(tmp_path / "film.dcm")


@pytest.mark.parametrize(("bits", "refused"), [(8, True), (12, False), (16, False)])
def test_the_bits_of_a_compressed_picture_are_those_of_the_file(bits: int, refused: bool, tmp_path: Path) -> None:
    """Pillow writes 16 bits: into a file of 16, of 12, and of 8 bits, where the upper half would be lost."""
    pixels = np.tile(RAMP, (1, 4))
    made = dataset(pixels, bits=bits, BitsAllocated=8 if refused else 16)
    compressed = io.BytesIO()
    Image.fromarray(pixels).save(compressed, "JPEG2000", irreversible=False, num_resolutions=1)
    made.file_meta.TransferSyntaxUID = JPEG2000Lossless
    made.PixelData = encapsulate([compressed.getvalue()])
    made["PixelData"].VR = "OB"
    if refused:
        with pytest.raises(
            ImageProblem, match="JPEG 2000 picture of 16 bits contradicts BitsStored 8 in BitsAllocated 8"
        ):
            grey(made, tmp_path)
    else:
        expected = np.floor(255 * pixels.astype(float) / (2**bits - 1) + 0.5)
        np.testing.assert_array_equal(grey(made, tmp_path), expected)


def test_a_file_that_inflates_without_end_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = dataset(RAMP)
    made.file_meta.TransferSyntaxUID = DeflatedExplicitVRLittleEndian
    with (tmp_path / "bomb.dcm").open("wb") as file:
        file.write(bytes(128) + b"DICM")
        write_file_meta_info(file, made.file_meta)
        file.write(zlib.compress(bytes(1 << 23), wbits=-zlib.MAX_WBITS))
    monkeypatch.setattr(dicom, "MAX_INFLATED", 1 << 22)
    with pytest.raises(ImageProblem, match=r"bomb\.dcm: .* more than 4194304 bytes"):
        read_image(tmp_path / "bomb.dcm")


@needs_odd_2
def test_films_met_in_the_field() -> None:
    plain = read_image(ODD_2 / "dicom" / "plain.dcm")
    np.testing.assert_array_equal(read_image(ODD_2 / "dicom" / "overlay_rle.dcm"), plain)
    padded = read_image(ODD_2 / "dicom" / "padding_mono1.dcm")
    inside = [255 - int(255 * (500 + 65 * column // 2) / 4095 + 0.5) for column in range(8, 56)]
    np.testing.assert_array_equal(padded, np.pad([inside] * 48, 8))
    with pytest.raises(ImageProblem, match=r"window_nan\.dcm: WindowCenter is nan, which is not finite"):
        read_image(ODD_2 / "dicom" / "window_nan.dcm")
    with pytest.raises(ImageProblem, match=r"window_comma\.dcm: WindowCenter is not a number .*'2047,5'"):
        read_image(ODD_2 / "dicom" / "window_comma.dcm")
