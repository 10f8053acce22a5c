"""Faults in a study's own files, told with the file and its line."""

from __future__ import annotations

import ast
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from fmim.own.code import is_own
from fmim_core.config import Refused, in_words, wrong_field
from fmim_core.records import Code


@contextmanager
def located(folder: Path | None) -> Iterator[None]:
    """Have errors of the block that come from a Python file in the folder, if there is one, name file and line.

    Raises:
        ValueError: instead of such an error; others pass.
    """
    try:
        yield
    except Exception as error:
        fault = _fault(error, folder) if folder else None
        if fault is None:
            raise
        raise ValueError(fault) from error


def _fault(error: Exception, folder: Path) -> str | None:
    if isinstance(error, SyntaxError) and error.filename and is_own(error.filename, folder):
        return f"{error.filename}, line {error.lineno}: {error.msg}: {(error.text or '').strip()}"
    frames = [frame for frame in _frames(error) if is_own(frame.filename, folder)]
    if not frames:
        return None
    file, line = frames[-1].filename, frames[-1].lineno or 1
    if isinstance(error, ValidationError):
        argument = wrong_field(error).partition(".")[0]
        return f"{file}, line {_line_of_argument(Path(file), line, argument)}: {error.title}: {in_words(error)}"
    said = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
    return f"{file}, line {line}: {said}"


def _frames(error: BaseException) -> list[traceback.FrameSummary]:
    """Return the calls that led to an error, and then those that led to the one it was raised from."""
    before = _frames(error.__cause__) if error.__cause__ else []
    return [*traceback.extract_tb(error.__traceback__), *before]


def place_of(refused: Refused, code: Code) -> str:
    """Return the file and line that name the field which was refused; the study's file alone where none does."""
    parents = refused.field.split(".")
    wanted = [refused.field, f"{refused.field}.kind", *(".".join(parents[:n]) for n in range(len(parents) - 1, 0, -1))]
    words = [(word.value, f"{file.path}, line {word.lineno}") for file in code.files for word in _words(file.text)]
    of_name = next((number for number, (word, _) in enumerate(words) if word == refused.name), 0)
    nearest = words[of_name:] + words[:of_name]  # what stands after the name is hardly another one's
    return next((place for name in wanted for word, place in nearest if word == name), code.main.path)


def _words(text: str) -> list[ast.Constant]:
    constants = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant))
    return sorted((word for word in constants if isinstance(word.value, str)), key=lambda word: word.lineno)


def _line_of_argument(file: Path, line: int, argument: str) -> int:
    """Return the line of an argument of the call at a line; that line itself where it is not written there."""
    calls = [node for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    within = [call for call in calls if call.lineno <= line <= (call.end_lineno or call.lineno)]
    lines = [given.value.lineno for call in within for given in call.keywords if given.arg == argument]
    return lines[-1] if lines else line
