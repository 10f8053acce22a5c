"""The guides of the repository as pages: by the same paths, so that links between them hold."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Set
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GUIDES = [path.relative_to(ROOT).as_posix() for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("*/*.md")])]

_LINK = re.compile(r"\[(?P<text>[^\]]+)\]\((?P<target>[^)\s:#]+)(#[^)\s]*)?\)")
_PICTURE = re.compile(r"!\[[^\]]*\]\(([^)\s:]+)\)")
_CODE_BLOCK = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)


def _pictures(guide: str) -> list[str]:
    text = (ROOT / guide).read_text(encoding="utf-8")
    return [posixpath.normpath(posixpath.join(posixpath.dirname(guide), path)) for path in _PICTURE.findall(text)]


PICTURES = sorted({picture for guide in GUIDES for picture in _pictures(guide)})


def without_links_to_sources(markdown: str, uri: str, pages: Set[str]) -> str:
    """The text of the guide `uri` with links to what is no page replaced by the words and the path that they named."""

    def replaced(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(uri), link["target"]))
        if path in pages:
            return link[0]
        text = link["text"].strip("`")
        return f"`{text}`" if text in path else f"{link['text']} (`{path}`)"

    parts = _CODE_BLOCK.split(markdown)
    return "".join(part if part.startswith("```") else _LINK.sub(replaced, part) for part in parts)
