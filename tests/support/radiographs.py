"""DICOM radiographs of given stored values, how they are read, and pictures' files cut short."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from pydicom.dataset import Dataset, FileDataset, FileMetaDataset
from pydicom.sequence import Sequence
from pydicom.uid import ExplicitVRLittleEndian

from fmim_core.data.images.reading import ImageProblem, read_image

RAMP = np.arange(0, 4096, 65, dtype=np.uint16)[1:].reshape(9, 7)


def dataset(pixels: np.ndarray, bits: int = 12, **elements: Any) -> FileDataset:
    """A radiograph of 16-bit stored values."""
    meta = FileMetaDataset()
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    meta.MediaStorageSOPClassUID = "1.2.840.10008.5.1.4.1.1.1.1"
    meta.MediaStorageSOPInstanceUID = "1.2.3"
    made = FileDataset("", {}, file_meta=meta, preamble=bytes(128))
    made.Rows, made.Columns = pixels.shape[:2]
    made.PhotometricInterpretation = "MONOCHROME2"
    made.SamplesPerPixel, made.BitsAllocated, made.BitsStored, made.HighBit = 1, 8 * pixels.itemsize, bits, bits - 1
    made.PixelRepresentation = int(pixels.dtype.kind == "i")
    made.PixelData = pixels.tobytes()
    for name, value in elements.items():
        setattr(made, name, value)
    return made


def grey(made: FileDataset, folder: Path, name: str = "film.dcm") -> np.ndarray:
    path = folder / name
    made.save_as(path, enforce_file_format=True)
    return read_image(path)


def lut(first: int, entries: list[int], bits: int) -> Sequence:
    item = Dataset()
    item.add_new("LUTDescriptor", "US", [len(entries), first, bits])
    item.add_new("LUTData", "US", entries)
    return Sequence([item])


def refusals(whole: Path, cut: Path, times: int) -> int:
    """Of so many cuts of a file from its first byte to its last but one, written to `cut`, how many are refused.

    Where one is read, its picture is the whole one.
    """
    content, picture = whole.read_bytes(), read_image(whole)
    refused = 0
    for end in np.linspace(1, len(content) - 1, times).astype(int):
        cut.write_bytes(content[:end])
        try:
            np.testing.assert_array_equal(read_image(cut), picture)
        except ImageProblem:
            refused += 1
    return refused
