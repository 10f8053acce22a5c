"""Pages that are none of mkdocs's own: the repository's guides, by their paths, and tables."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

import tables
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
GUIDES = [path.relative_to(ROOT).as_posix() for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("*/*.md")])]

_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]+)\]\((?P<target>[^)\s:#]+)(#[^)\s]*)?\)")
_PICTURE = re.compile(r"!\[[^\]]*\]\(([^)\s:]+)\)")
_CODE_BLOCK = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the guides and their pictures by their paths in the repository, and the pages of tables."""
    for guide in GUIDES:
        pictures = _PICTURE.findall((ROOT / guide).read_text(encoding="utf-8"))
        for path in (guide, *(_beside(guide, picture) for picture in pictures)):
            files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    for name, text in tables.PAGES.items():
        files.append(File.generated(config, f"reference/{name}.md", content=text()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return a guide with links to source files, which are no pages, replaced by their words and the path."""
    guide, pages = page.file.src_uri, set(files.src_uris)
    if guide not in GUIDES:
        return markdown

    def replaced(link: re.Match[str]) -> str:
        path = _beside(guide, link["target"])
        if path in pages:
            return link[0]
        text = link["text"].strip("`")
        return f"`{text}`" if text in path else f"{link['text']} (`{path}`)"

    parts = _CODE_BLOCK.split(markdown)
    return "".join(part if part.startswith("```") else _LINK.sub(replaced, part) for part in parts)


def _beside(guide: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(guide), path))
