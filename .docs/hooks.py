"""What mkdocs calls: the pages that are the repository's guides, and those that are made from the packages."""

from __future__ import annotations

from fmim_docs import reference
from fmim_docs.guides import GUIDES, PICTURES, ROOT, without_links_to_sources
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the guides and their pictures by their paths in the repository, and the reference."""
    for path in (*GUIDES, *PICTURES):
        files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    for path, text in reference.pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Guides name source files; where these are no pages, the name alone is left."""
    uri = page.file.src_uri
    return without_links_to_sources(markdown, uri, set(files.src_uris)) if uri in GUIDES else markdown
