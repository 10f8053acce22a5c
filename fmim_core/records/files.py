"""Files that are written whole or not at all: records, checkpoints, reports and everything else that must survive."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from fmim_core.fingerprint import sha256_of_text

SHA256 = "sha256"
"""The key of a JSON file that holds the SHA-256 of the rest of the file."""

_HALVES = re.compile("[\ud800-\udfff]")
"""Surrogates, which Python uses in the names of files that are not UTF-8: UTF-8 cannot hold them."""


_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe (FIFO)",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class Damaged(ValueError):
    """A file does not hold what was written to it; the message names it, and says what is wrong."""


def other_than_file(path: str | Path) -> str | None:
    """Return in words what a path, or the end of the links at it, is in place of a regular file; None where it is one.

    Raises:
        OSError: there is nothing, or it may not be looked at.
    """
    mode = os.stat(path).st_mode
    return None if stat.S_ISREG(mode) else _KINDS.get(stat.S_IFMT(mode), "not a regular file")


def check_is_file(path: Path, where: str = "") -> None:
    """Check that this is a regular file, which errors call `where`: a pipe may never end and a device has no end.

    Raises:
        FileNotFoundError: there is nothing.
        Damaged: there is something else, such as a folder, a pipe, or a link to nothing; says what.
        ValueError: this user may not read it.
    """
    try:
        other = other_than_file(path)
    except PermissionError:
        raise forbidden(path) from None
    except OSError:
        if not path.is_symlink():
            raise
        raise Damaged(f"{where or path} is a link that leads nowhere, where a file belongs") from None
    if not os.access(path, os.R_OK):
        raise forbidden(path)
    if other:
        raise Damaged(f"{where or path} is {other}, where a file belongs")


def check_place(path: Path) -> None:
    """Check that this user may write into a folder, or make it in the nearest one above that there is.

    Raises:
        ValueError: permissions forbid it, or what is there is a file.
    """
    place = next(place for place in (path, *path.absolute().parents) if os.path.lexists(place))
    if not place.is_dir():
        raise ValueError(f"{path} cannot be a folder: {place} is a file; give another one")
    if not os.access(place, os.R_OK | os.W_OK | os.X_OK):
        raise forbidden(place, "written to")


def forbidden(path: Path, what: str = "read") -> ValueError:
    """Return the error of a file or folder that this user may not use so."""
    return ValueError(f"{path} cannot be {what}: its permissions forbid it; change them, or use a copy of your own")


def words_of(error: Exception) -> str:
    """Return what is wrong; what the system says of a file without its number, and what to do about permissions."""
    if not isinstance(error, OSError) or error.filename is None:
        return str(error)
    denied = isinstance(error, PermissionError)
    return f"{error.filename}: {error.strerror}" + "; change its permissions, or use a copy of your own" * denied


def read_file(path: Path, where: str = "") -> bytes:
    """Return the content of a regular file; raise as `check_is_file`."""
    check_is_file(path, where)
    return path.read_bytes()


def set_aside(path: Path) -> Path:
    """Rename a damaged file, so that another one can take its name; nothing is deleted. Returns its new place."""
    place = path.with_name(f"{path.name}.damaged-{datetime.now(UTC):%Y%m%dT%H%M%S%f}")
    path.rename(place)
    return place


@dataclass(frozen=True)
class Place:
    """A folder at its place, known by its inode: it may be moved, deleted or replaced while somebody writes into it.

    On another machine than this one the folder may be another one, on a disk of its own: nothing is checked there.
    """

    path: Path
    inode: int
    machine: str

    @classmethod
    def of(cls, path: Path) -> Place:
        """Return that of a folder as it is now; it is made where there is none."""
        path.mkdir(parents=True, exist_ok=True)
        return cls(path, path.stat().st_ino, platform.node())

    def check(self) -> None:
        """Check that it is still the same folder: a file would make a new one, or lie in another.

        Raises:
            FileNotFoundError: it is not; says where it is, if that can be known.
        """
        if platform.node() != self.machine:
            return
        try:
            same = self.path.stat().st_ino == self.inode
        except (FileNotFoundError, NotADirectoryError):
            same = False
        if not same:
            raise FileNotFoundError(
                f"{self.path} was {self._fate()} while the study ran, and nothing more is written: put it back to go on"
            )

    def _fate(self) -> str:
        for handle in Path("/proc/self/fd").glob("*"):  # of Linux: what this process has open
            with suppress(OSError):
                if handle.stat().st_ino == self.inode:
                    now = os.readlink(handle)
                    return "deleted" if now.endswith(" (deleted)") else f"moved to {now}"
        return "moved or deleted"


def now() -> str:
    """Return the time in UTC, ISO 8601, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Yield a file to write to, which takes the place of `path` when the block ends without an error.

    A reader, a crash or a power cut sees the old file or the new one, never half of one: the content is on the disk
    before the name points to it. Folders are made as needed.

    Raises:
        OSError: it cannot be written; names the file, also where the disk is full.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        if error.filename in (None, str(part)):  # writing and flushing know no name
            error.filename = str(path)
        raise
    finally:
        with suppress(PermissionError):  # which is raised already
            part.unlink(missing_ok=True)


_PART = re.compile(r"\..+\.(\d+)\.part")


def remove_parts(folder: Path) -> None:
    """Remove what processes of this machine that have ended had half written, in a folder and below it."""
    for path in folder.rglob(".*.part"):
        if (found := _PART.fullmatch(path.name)) and path.is_file():
            try:
                os.kill(int(found[1]), 0)  # whether there is such a process
            except (ProcessLookupError, OverflowError):
                path.unlink(missing_ok=True)
            except PermissionError:  # there is, and it is somebody else's
                continue


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file by `replacing`."""
    with replacing(path) as file:
        file.write(content)


def link_or_copy(source: Path, path: Path) -> None:
    """Give a file that is never written to a second place, whole or not at all; either stays if the other is deleted.

    By a hard link where the file system has them and both lie on it; else by a copy.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.unlink(missing_ok=True)
        os.link(source, part)
        part.replace(path)
    except OSError:
        with source.open("rb") as file, replacing(path) as copy:
            shutil.copyfileobj(file, copy)
    finally:
        part.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file as UTF-8 by `replacing`."""
    write_bytes(path, text.encode())


def json_text(fields: Mapping[str, Any]) -> str:
    """Return fields as the text of a JSON file, whose second line is the SHA-256 of all others, under `sha256`.

    A changed digit is still JSON of the right form. `grep -v '^ "sha256": ' FILE | sha256sum` computes the same. NaN
    and infinities are written as Python's json does (`NaN`, `Infinity`), so that they stay what they are. A `sha256`
    among the fields, as in what was read from such a file, is not taken over.
    """
    others = {name: value for name, value in fields.items() if name != SHA256}
    text = json.dumps(others, indent=1, ensure_ascii=False) + "\n"
    text = _HALVES.sub(lambda half: f"\\u{ord(half[0]):04x}", text)
    first, rest = text.split("\n", 1)
    return f'{first}\n "{SHA256}": "{sha256_of_text(text)}",\n{rest}'


def write_json(path: Path, fields: Mapping[str, Any]) -> None:
    """Write fields as `json_text` by `replacing`."""
    write_text(path, json_text(fields))


def read_json(path: Path, where: str = "") -> Any:
    """Return the content of a JSON file, which errors call `where`, or else by its path.

    Where there is no `sha256`, as in what others or earlier versions have written, there is nothing to compare.

    Raises:
        FileNotFoundError: there is nothing.
        Damaged: it is no file, not JSON, or not what was written.
    """
    content_bytes = read_file(path, where)
    try:
        text = content_bytes.decode()
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Damaged(f"{where or path} is not readable JSON ({error})") from error
    if isinstance(content, dict) and SHA256 in content:
        first, _, rest = text.partition("\n")
        _, _, rest = rest.partition("\n")
        if content[SHA256] != sha256_of_text(f"{first}\n{rest}"):
            raise Damaged(
                f"{where or path}: its content does not match its {SHA256}; it was changed or damaged after it was "
                "written"
            )
    return content


# Of C0 and C1 all but tab and line feed, what turns the direction of writing, line ends that few know, and halves of
# characters, as file names that are no UTF-8 have them. A terminal obeys the first, a reader is deceived by the second.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def without_controls(text: str) -> str:
    """Return the text with � for each control character, which might move a cursor, colour a terminal or turn text."""
    return text if text.isprintable() else _CONTROLS.sub("�", text)
