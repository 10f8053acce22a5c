"""The Python files of a study that is declared outside this package, as they were when it ran."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from fmim_core.fingerprint import sha256_of_text
from fmim_core.records.document import DocumentPart


class CodeFile(DocumentPart):
    """One file, whole."""

    path: str = Field(description="relative to the folder of the file that declares the study, with / between folders")
    sha256: str = Field(description="of the file's bytes")
    text: str = Field(description="all that the file holds")

    @classmethod
    def of(cls, path: str, text: str) -> Self:
        """The file of that text."""
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

    @property
    def is_package(self) -> bool:
        """Whether it is the `__init__.py` of a folder of modules."""
        return self.path.endswith("/__init__.py")


class Code(DocumentPart):
    """The file that declares a study, and the modules of its folder that it imports."""

    files: tuple[CodeFile, ...] = Field(min_length=1, description="the one that declares the study is the first")

    @property
    def main(self) -> CodeFile:
        """The file that declares the study."""
        return self.files[0]

    @property
    def sha256(self) -> str:
        """Of all files: of each path and SHA-256, in the order of paths."""
        lines = sorted(f"{file.path}\n{file.sha256}\n" for file in self.files)
        return sha256_of_text("".join(lines))
