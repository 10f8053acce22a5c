"""Writes small tables as SAS does in a `.sas7bdat` file; nothing that is free to install writes them.

After M. S. Shotwell's description of the format, in its 32-bit little-endian form: a header, one page of metadata,
then pages of rows. Places in a struct below are counted from its start.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

MAGIC = bytes(12) + bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011")
HEADER, PAGE_HEADER, POINTER = 1024, 24, 12
METADATA_PAGE, DATA_PAGE = 0x0000, 0x0100
NUMBER, TEXT = 1, 2

Cell = float | str | None


def sas7bdat(table: Mapping[str, Sequence[Cell]]) -> bytes:
    """The file's bytes. A column holds text, or numbers with None for "." and ".A" to ".Z" for special missing ones."""
    kinds, columns = zip(*(_column(cells) for cells in table.values()), strict=True)
    rows = [b"".join(cells) for cells in zip(*columns, strict=True)]
    widths = [len(cells[0]) for cells in columns]
    subheaders = _subheaders(list(table), widths, kinds, len(rows))
    needed = PAGE_HEADER + max(sum(POINTER + len(subheader) for subheader in subheaders), 8 * len(rows[0]))
    page = -(-needed // 4096) * 4096
    per_page = (page - PAGE_HEADER) // len(rows[0])
    blocks = [rows[start : start + per_page] for start in range(0, len(rows), per_page)]
    pages = [_metadata_page(subheaders, page), *(_data_page(block, page) for block in blocks)]
    return _header(page, len(pages)) + b"".join(pages)


def _column(cells: Sequence[Cell]) -> tuple[int, list[bytes]]:
    special = {f".{letter}" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
    if all(cell is None or isinstance(cell, (int, float)) or cell in special for cell in cells):
        return NUMBER, [_number(cell) for cell in cells]
    width = max(1, *(len(str(cell or "")) for cell in cells))
    return TEXT, [str(cell or "").encode("latin-1").ljust(width) for cell in cells]


def _number(cell: Cell) -> bytes:
    if isinstance(cell, (int, float)):
        return struct.pack("<d", cell)
    return bytes(5) + bytes([0xFF - ord((cell or ".")[-1])]) + b"\xff\xff"  # a NaN that tells which


def _subheaders(names: list[str], widths: list[int], kinds: Sequence[int], rows: int) -> list[bytes]:
    size = bytearray(480)
    struct.pack_into("<I", size, 0, 0xF7F7F7F7)
    struct.pack_into("<II", size, 20, sum(widths), rows)
    struct.pack_into("<I", size, 36, len(names))
    text, starts = bytes(28), []
    for name in names:
        starts.append(8 + len(text))
        text += name.encode().ljust(-(-len(name) // 4) * 4, b"\0")
    pointers = [struct.pack("<HHHH", 0, start, len(name), 0) for start, name in zip(starts, names, strict=True)]
    attributes = [
        struct.pack("<IIHBB", sum(widths[:n]), width, 4, kind, 0)
        for n, (width, kind) in enumerate(zip(widths, kinds, strict=True))
    ]
    return [
        bytes(size),
        struct.pack("<III", 0xF6F6F6F6, len(names), 0),
        _subheader(0xFFFFFFFD, text),
        _subheader(0xFFFFFFFF, b"".join(pointers)),
        _subheader(0xFFFFFFFC, b"".join(attributes)),
        *[struct.pack("<I", 0xFFFFFBFE) + bytes(48)] * len(names),  # formats and labels: none
    ]


def _subheader(signature: int, body: bytes) -> bytes:
    return struct.pack("<IH", signature, len(body) + 8) + bytes(6) + body + bytes(8)


def _metadata_page(subheaders: list[bytes], page: int) -> bytes:
    result = bytearray(page)
    struct.pack_into("<HHH", result, 16, METADATA_PAGE, len(subheaders), len(subheaders))
    start = PAGE_HEADER + POINTER * len(subheaders)
    for n, subheader in enumerate(subheaders):
        struct.pack_into("<II", result, PAGE_HEADER + POINTER * n, start, len(subheader))
        result[start : start + len(subheader)] = subheader
        start += len(subheader)
    return bytes(result)


def _data_page(rows: list[bytes], page: int) -> bytes:
    result = bytearray(page)
    struct.pack_into("<HH", result, 16, DATA_PAGE, len(rows))
    data = b"".join(rows)
    result[PAGE_HEADER : PAGE_HEADER + len(data)] = data
    return bytes(result)


def _header(page: int, pages: int) -> bytes:
    result = bytearray(HEADER)
    result[: len(MAGIC)] = MAGIC
    result[32:40] = b"\x22\x22\x00\x22\x00\x01\x00\x31"  # 32 bits, little-endian, Unix
    result[70] = 29  # Latin-1
    result[84:92] = b"SAS FILE"
    result[92:156] = b"TABLE".ljust(64)
    result[156:164] = b"DATA    "
    struct.pack_into("<III", result, 196, HEADER, page, pages)
    result[216:224] = b"9.0401M0"
    return bytes(result)
