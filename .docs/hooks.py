"""Pages that are none of mkdocs's own: the guides by their paths, and the tables of commands, documents and frames."""

from __future__ import annotations

import inspect
import posixpath
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from pydantic.fields import FieldInfo
from typer.cli import get_docs_for_click

from fmim import catalogue
from fmim.cli import app
from fmim_core import records
from fmim_core.metric_names import YEAR
from fmim_core.records import QUERY_COLUMNS, SCHEMA, DocumentPart
from fmim_core.records.export import DOCUMENTS
from fmim_reports.loaded import FRAMES

ROOT = Path(__file__).resolve().parents[1]
PAGES_OF_MKDOCS = ".docs/pages/"
GUIDES = [path.name for path in sorted(ROOT.glob("*.md"))]

_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]+)\]\((?P<target>[^)\s:#]+)(?P<anchor>#[^)\s]*)?\)")
_PICTURE = re.compile(r"!\[[^\]]*\]\(([^)\s:]+)\)")
_CODE_BLOCK = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the guides and their pictures by their paths in the repository, and the pages of tables."""
    for guide in GUIDES:
        pictures = _PICTURE.findall((ROOT / guide).read_text(encoding="utf-8"))
        for path in (guide, *(_beside(guide, picture) for picture in pictures)):
            files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    for name, text in PAGES.items():
        files.append(File.generated(config, f"reference/{name}.md", content=text()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return a page with its links, which are paths in the repository, as those of the site.

    Links to source files, which are no pages, become their words and the path.
    """
    uri, pages = page.file.src_uri, set(files.src_uris)
    guide = uri if uri in GUIDES else PAGES_OF_MKDOCS + uri

    def replaced(link: re.Match[str]) -> str:
        path = _beside(guide, link["target"])
        if (target := path.removeprefix(PAGES_OF_MKDOCS)) in pages:
            return f"[{link['text']}]({posixpath.relpath(target, posixpath.dirname(uri))}{link['anchor'] or ''})"
        text = link["text"].strip("`")
        return f"`{text}`" if text in path else f"{link['text']} (`{path}`)"

    parts = _CODE_BLOCK.split(markdown)
    return "".join(part if part.startswith("```") else _LINK.sub(replaced, part) for part in parts)


def _beside(guide: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(guide), path))


EXAMPLE = "automargin_vs_grid"


def command_line() -> str:
    """Return the help of all commands; without typer's lists of them, which cut their sentences off."""
    command = typer.main.get_command(app)
    text = get_docs_for_click(obj=command, ctx=typer.Context(command), name="fmim", title="Command line")
    return re.sub(r"\*\*Commands\*\*:\n\n(\* .*\n)+", "", text)


def frames() -> str:
    """Return the columns of the frames of a study's results: those of configurations as an example has them."""
    arms = [arm.entry(replicates=1) for arm in catalogue.find(EXAMPLE).arms]
    parts = [
        "# Results",
        "::: fmim_reports.loaded.StudyResults",
        "## Frames",
        f"A study has a column `configuration_NAME` for each hyperparameter that it varies; here those of `{EXAMPLE}`.",
    ]
    for name, frame in FRAMES.items():
        rows = ([f"`{c.name}`", f"`{c.dtype}`", c.unit, c.description] for c in frame.columns(arms, YEAR))
        parts += [f"### {name}", f"One row is {frame.row}.", _table(["column", "type", "unit", "what"], rows)]
    return "\n\n".join(parts)


def files() -> str:
    """Return the fields of every JSON document with its parts, and the columns of the Parquet file of queries."""
    parts = [one for one in vars(records).values() if inspect.isclass(one) and issubclass(one, DocumentPart)]
    return "\n\n".join(
        [
            "# Files of a study",
            f"The JSON documents are of schema {SCHEMA}, and a file of another version is refused by name. Numbers may "
            "be `NaN` or infinite, which Python's `json` reads. `sha256` is that of all other lines of the file. "
            "`python -m fmim_core.records.export FOLDER` writes JSON schemas of them.",
            *(
                f"## {'records/TRIAL' if name == 'record' else name}.json\n\n{_fields(document)}"
                for name, document in DOCUMENTS.items()
            ),
            "## Parts of documents",
            *(f"### {part.__name__}\n\n{_fields(part)}" for part in parts if part not in DOCUMENTS.values()),
            "## Queries",
            "`records/TRIAL.queries.parquet` has one row for each query of the test set, in the order of its index. "
            "*Optional* columns are there if the data set has them.",
            _table(
                ["column", "type", "what"],
                ([f"`{c.name}`", c.type, c.about + " (*optional*)" * c.optional] for c in QUERY_COLUMNS.values()),
            ),
            "## Reading them in Python",
            *(f"::: fmim_core.records.{name}" for name in ("read_record", "read_records", "read_queries")),
        ]
    )


def _fields(document: type[DocumentPart]) -> str:
    fields = document.model_fields.items()
    rows = ([f"`{one.alias or name}`", f"`{_type(one)}`", one.description or ""] for name, one in fields)
    return f"{inspect.getdoc(document)}\n\n{_table(['field', 'type', 'what'], rows)}"


def _type(field: FieldInfo) -> str:
    return re.sub(r"\b(?:\w+\.)+(?=\w)", "", inspect.formatannotation(field.annotation)).replace(" | ", " or ")


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    cells = ([" ".join(cell.split()).replace("|", "\\|") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


PAGES = {"command_line": command_line, "results": frames, "files": files}
"""What makes each page, by its name."""
