"""The Python files of a study that is declared outside this package, as they were when it ran."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from fmim_core.fingerprint import sha256_of_text
from fmim_core.records.document import DocumentPart
from fmim_core.records.files import write_bytes


class CodeFile(DocumentPart):
    """One file, whole."""

    path: str = Field(
        pattern=r"^\w+(/\w+)*\.py$",
        description="relative to the folder of the file that declares the study, with / between folders",
    )
    sha256: str = Field(description="of the file's bytes")
    text: str = Field(description="all that the file holds")

    @classmethod
    def of(cls, path: str, text: str) -> Self:
        """Return the file of that text."""
        return cls(path=path, sha256=sha256_of_text(text), text=text)

    @model_validator(mode="after")
    def _text_is_whole(self) -> Self:
        if self.sha256 != sha256_of_text(self.text):
            raise ValueError(f"the text of {self.path} is not that of its SHA-256")
        return self

    @property
    def module(self) -> str:
        """The name by which Python imports it: `losses/soft.py` is `losses.soft`."""
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


class Code(DocumentPart):
    """The file that declares a study, and the modules of its folder that it imports."""

    files: tuple[CodeFile, ...] = Field(min_length=1, description="the one that declares the study is the first")

    @property
    def main(self) -> CodeFile:
        """The file that declares the study."""
        return self.files[0]

    def write(self, folder: Path) -> None:
        """Write the files to a folder, those that it does not have as they are here."""
        for file in self.files:
            path, content = folder / file.path, file.text.encode()
            if not path.is_file() or path.read_bytes() != content:
                write_bytes(path, content)

    @property
    def sha256(self) -> str:
        """Of all files: of each path and SHA-256, in the order of paths."""
        lines = sorted(f"{file.path}\n{file.sha256}\n" for file in self.files)
        return sha256_of_text("".join(lines))
