"""The documentation: it builds without a warning, its links hold, and what is public is there."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from fmim import catalogue
from fmim_core.data.sets.base import DATA_SETS
from fmim_core.losses.base import LOSSES
from fmim_core.margins.base import MARGINS
from fmim_core.models.base import BACKBONES
from fmim_core.records import QUERY_COLUMNS
from fmim_core.records.export import DOCUMENTS, json_schema
from fmim_core.references.base import REFERENCES
from fmim_core.registry import Registry
from fmim_reports.loaded import FRAMES
from tests.support.paths import ROOT

LOADED = {("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("use", "href")}


@dataclass
class Page(HTMLParser):
    """The anchors of a page, where it leads, what it loads, and its words."""

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    words: str = ""

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            if (tag, name) in LOADED and value:
                self.loaded.append(value)
            if (tag, name) == ("a", "href") and value:
                self.links.append(value)

    def handle_data(self, data: str) -> None:
        self.words += data


@dataclass(frozen=True)
class Site:
    """The site as it was built, its pages by their paths, and what was said on the way."""

    folder: Path
    pages: dict[str, Page]
    said: str

    @property
    def anchors(self) -> set[str]:
        """Those of all pages."""
        return {anchor for page in self.pages.values() for anchor in page.anchors}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    folder = tmp_path_factory.mktemp("docs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", ROOT / ".docs/mkdocs.yml", "-d", folder]
    # The theme prints a note on its own future, which is no warning of the build.
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {}
    for path in folder.rglob("*.html"):
        pages[path.relative_to(folder).as_posix()] = page = Page()
        page.feed(path.read_text(encoding="utf-8"))
    return Site(folder, pages, done.stdout + done.stderr)


@pytest.mark.slow
def test_the_site_builds_without_a_warning(site: Site) -> None:
    assert not re.search("warning|error", site.said, re.IGNORECASE), site.said
    assert len(site.pages) >= 24


@pytest.mark.slow
def test_every_link_within_the_site_leads_somewhere(site: Site) -> None:
    broken = []
    for name, page in site.pages.items():
        for link in [] if name == "404.html" else page.links + page.loaded:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (site.folder / name).parent / unquote(parts.path) if parts.path else site.folder / name
            found = site.pages.get(os.path.relpath(target, site.folder))
            anchor = unquote(parts.fragment)
            if not target.exists() or (anchor and found and anchor not in found.anchors | {"__top"}):
                broken.append(f"{name}: {link}")
    assert broken == []


@pytest.mark.slow
def test_nothing_is_loaded_from_elsewhere(site: Site) -> None:
    loaded = {link for page in site.pages.values() for link in page.loaded}
    assert [link for link in loaded if urlsplit(link).netloc] == []
    sheets = [path.read_text(encoding="utf-8") for path in site.folder.rglob("*.css")]
    assert [found for sheet in sheets for found in re.findall(r"(?:@import|url\()[\s\"']*(?:https?:)?//", sheet)] == []


@pytest.mark.slow
@pytest.mark.parametrize("module", ["fmim", "fmim.kinds", "fmim_core.metrics", "fmim_reports.stats"])
def test_everything_that_a_module_exports_is_on_a_page(site: Site, module: str) -> None:
    names = importlib.import_module(module).__all__
    assert [name for name in names if f"{module}.{name}" not in site.anchors] == []


@pytest.mark.slow
@pytest.mark.parametrize("registry", [LOSSES, MARGINS, BACKBONES, DATA_SETS, REFERENCES], ids=lambda one: one.noun)
def test_every_kind_is_on_a_page(site: Site, registry: Registry) -> None:
    classes = [registry.find(kind) for kind in registry.kinds()]
    paths = [f"{cls.__module__}.{cls.__qualname__}" for cls in classes if cls.__module__.startswith("fmim_core.")]
    assert len(paths) >= 2
    assert [path for path in paths if path not in site.anchors] == []


@pytest.mark.slow
def test_fields_of_configurations_have_their_types_and_defaults(site: Site) -> None:
    words = " ".join(site.pages["reference/losses.html"].words.split())
    assert "m_pos: Distance" in words
    assert "centers: PositiveInt = 10" in words
    assert "weights: str = 'none'" in " ".join(site.pages["reference/backbones.html"].words.split())


@pytest.mark.slow
def test_files_frames_studies_and_commands_are_on_pages(site: Site) -> None:
    files, results = site.pages["reference/files.html"], site.pages["reference/results.html"]
    fields = {name for document in DOCUMENTS for name in json_schema(document)["properties"]}
    assert [name for name in fields | set(QUERY_COLUMNS) if name not in files.words] == []
    assert set(FRAMES) | {"fmim_reports.loaded.StudyResults"} <= results.anchors
    assert "configuration_epsilon" in results.words
    assert {f"fmim.catalogue.{name}.STUDY" for name in catalogue.names()} <= site.anchors
    assert {"fmim-run", "fmim-match", "fmim-data-describe"} <= site.pages["reference/command_line.html"].anchors
    assert {"mAP_at_R", "CMC_1_all_shots"} <= set(re.findall(r"\w+", site.pages["reference/metrics.html"].words))


def test_the_software_is_cited_in_its_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"version = {{{version}}}" in (ROOT / "README.md").read_text(encoding="utf-8")
