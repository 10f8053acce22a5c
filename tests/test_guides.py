"""The guides as a reader sees them: rendered, with links that lead somewhere, and short."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.support.paths import GUIDES, ROOT, TASKS

PAGES = [*GUIDES, ROOT / ".docs" / "pages" / "glossary.md"]
MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def rows_that_are_none(text: str) -> list[str]:
    """Lines that a table has taken though they are no rows: text without an empty line before it."""
    lines = text.splitlines()
    tables = [one.map for one in MARKDOWN.parse(text) if one.type == "table_open" and one.map]
    return [line for begin, end in tables for line in lines[begin:end] if not line.lstrip().startswith("|")]


def tokens(page: Path) -> Iterator[Token]:
    for block in MARKDOWN.parse(page.read_text("utf-8")):
        yield block
        yield from block.children or ()


def anchors(page: Path) -> set[str]:
    """What GitHub makes of a page's headings."""
    blocks = list(tokens(page))
    titles = [title.content for block, title in pairwise(blocks) if block.type == "heading_open"]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def words(text: str) -> int:
    """Those of a text without blocks of code and remarks that nobody sees."""
    return len(re.sub(r"```.*?```|<!--.*?-->", "", text, flags=re.DOTALL).split())


def test_a_paragraph_below_a_table_is_found() -> None:
    assert rows_that_are_none("| a |\n|---|\n| b |\n`fmim run` does it.\n") == ["`fmim run` does it."]
    assert rows_that_are_none("| a |\n|---|\n| b |\n\n`fmim run` does it.\n") == []


@every_page
def test_no_paragraph_became_a_table(page: Path) -> None:
    assert rows_that_are_none(page.read_text("utf-8")) == []


@every_page
def test_links_lead_to_files_and_headings(page: Path) -> None:
    targets = [one.attrGet("href") or one.attrGet("src") for one in tokens(page) if one.type in ("link_open", "image")]
    for target in map(str, targets):
        path, _, anchor = target.partition("#")
        if path.startswith("https://"):
            continue
        file = (page.parent / path).resolve() if path else page
        made = file.parent == TASKS.parent / "reference"  # by the site
        assert made or file.exists(), target
        assert not anchor or anchor in anchors(file), target


@pytest.mark.parametrize("page", sorted(TASKS.glob("*.md")), ids=lambda page: page.stem)
def test_a_guide_takes_minutes_to_read(page: Path) -> None:
    assert 300 <= words(page.read_text("utf-8")) <= 900


def test_the_readme_takes_three_minutes_and_names_every_guide() -> None:
    readme = ROOT / "README.md"
    assert len(readme.read_text("utf-8").split()) <= 800
    linked = {str(one.attrGet("href")) for one in tokens(readme) if one.type == "link_open"}
    assert {str(page.relative_to(ROOT)) for page in TASKS.glob("*.md")} <= linked


def scripts() -> list[str]:
    return [one.content for page in GUIDES for one in tokens(page) if one.type == "fence" and one.info == "bash"]


def test_scripts_are_shell(tmp_path: Path) -> None:
    assert len(scripts()) >= 4
    for number, text in enumerate(scripts()):
        script = tmp_path / f"{number}.sh"
        script.write_text(text if text.startswith("#!") else f"#!/bin/bash\n{text}", encoding="utf-8")
        subprocess.run(["bash", "-n", script], check=True)
        if shellcheck := shutil.which("shellcheck"):
            subprocess.run([shellcheck, script], check=True)
