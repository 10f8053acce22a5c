"""The documentation: it builds without a warning, which a broken link is too, and what is public is there."""

from __future__ import annotations

import html
import importlib
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from fmim import catalogue
from fmim_core.augmentations.base import AUGMENTATIONS
from fmim_core.data.sets.base import DATA_SETS
from fmim_core.losses.base import LOSSES
from fmim_core.margins.base import MARGINS
from fmim_core.models.base import BACKBONES
from fmim_core.optimizers.base import LR_SCHEDULES, OPTIMIZERS
from fmim_core.records import QUERY_COLUMNS
from fmim_core.records.export import DOCUMENTS, json_schema
from fmim_core.references.base import REFERENCES
from fmim_reports.loaded import FRAMES
from tests.support.paths import ROOT, TASKS


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, built as strictly as mkdocs can."""
    folder = tmp_path_factory.mktemp("docs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", ROOT / ".docs/mkdocs.yml", "-d", folder]
    # The theme prints a note on its own future, which is no warning of the build.
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not re.search("warning|error", done.stdout + done.stderr, re.IGNORECASE), done.stdout + done.stderr
    return folder


def anchors(site: Path, page: str = "*") -> set[str]:
    texts = (path.read_text(encoding="utf-8") for path in site.rglob(f"{page}.html"))
    return {html.unescape(anchor) for text in texts for anchor in re.findall(r'\bid="([^"]+)"', text)}


def words(site: Path, page: str) -> str:
    text = (site / "reference" / f"{page}.html").read_text(encoding="utf-8")
    return " ".join(html.unescape(re.sub("<[^>]*>", "", text)).split())


@pytest.mark.slow
def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    assert len(list(site.rglob("*.html"))) >= 24
    for path in [*site.rglob("*.html"), *site.rglob("*.css")]:
        text = path.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe|source|use)[^>]*(?:src|href)=\"?(?:https?:)?//[^>]*>", text)
        loaded += re.findall(r"<link[^>]*rel=\"?(?:stylesheet|icon|preload)[^>]*href=\"?(?:https?:)?//[^>]*>", text)
        assert loaded + re.findall(r"(?:@import|url\()[\s\"']*(?:https?:)?//", text) == [], path


@pytest.mark.slow
def test_everything_public_is_on_a_page(site: Path) -> None:
    names = set[str]()
    for module in ("fmim", "fmim.kinds", "fmim_core.metrics", "fmim_reports.stats"):
        names |= {f"{module}.{name}" for name in importlib.import_module(module).__all__}
    for registry in (AUGMENTATIONS, LOSSES, MARGINS, BACKBONES, OPTIMIZERS, LR_SCHEDULES, DATA_SETS, REFERENCES):
        classes = [registry.find(kind) for kind in registry.kinds()]
        own = {f"{cls.__module__}.{cls.__qualname__}" for cls in classes if cls.__module__.startswith("fmim_core.")}
        assert len(own) >= 2
        names |= own
    names |= {f"fmim.catalogue.{name}.STUDY" for name in catalogue.names()}
    assert names - anchors(site) == set()
    assert set(FRAMES) | {"fmim_reports.loaded.StudyResults"} <= anchors(site, "results")
    assert {"fmim-run", "fmim-match", "fmim-data-describe"} <= anchors(site, "command_line")


@pytest.mark.slow
def test_fields_have_their_types_and_defaults(site: Path) -> None:
    assert "m_pos: Distance" in words(site, "losses")
    assert "centers: PositiveInt = 10" in words(site, "losses")
    assert "weights: str = 'none'" in words(site, "backbones")
    fields = {name for document in DOCUMENTS for name in json_schema(document)["properties"]}
    files = words(site, "files")
    assert [name for name in fields | set(QUERY_COLUMNS) if name not in files] == []
    assert "configuration_epsilon" in words(site, "results")
    assert "CMC_1_all_shots" in words(site, "metrics")


def test_the_software_is_cited_in_its_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"version = {{{version}}}" in (TASKS / "results.md").read_text(encoding="utf-8")
