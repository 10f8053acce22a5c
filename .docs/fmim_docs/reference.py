"""The reference: every page is made from what the packages export, register or declare."""

from __future__ import annotations

import re

import typer
from typer.cli import get_docs_for_click

from fmim import catalogue
from fmim.cli import app
from fmim_core.data.sets.base import DATA_SETS
from fmim_core.losses.base import LOSSES
from fmim_core.margins.base import MARGINS
from fmim_core.metric_names import METRICS, YEAR
from fmim_core.models.base import BACKBONES
from fmim_core.references.base import REFERENCES
from fmim_core.registry import Registry
from fmim_docs.files import files_page
from fmim_docs.markdown import code, documented, page, table
from fmim_docs.studies import studies_page
from fmim_reports.loaded import FRAMES

EXAMPLE = "automargin_vs_grid"


def pages() -> dict[str, str]:
    """The Markdown of each page, by its path."""
    made = {
        "command_line": _command_line(),
        "studies": studies_page(),
        "fmim": page("fmim", _exported("fmim")),
        "kinds": page("fmim.kinds", _exported("fmim.kinds")),
        "losses": _kinds("Losses", "loss.kind", LOSSES),
        "margins": _kinds("Margin schedules", "margins.kind", MARGINS),
        "backbones": _kinds("Backbones", "model.kind", BACKBONES),
        "data_sets": _kinds("Data sets", "--data", DATA_SETS),
        "references": _kinds("References", "kind", REFERENCES),
        "searching": _modules("Searching", "fmim_spaces.searcher", "fmim_spaces.stopping"),
        "training": _training(),
        "metrics": _metrics(),
        "results": _results(),
        "model": _modules("Trained models", "fmim.matching.model", "fmim.matching.images", "fmim.matching.ranking"),
        "statistics": page("Statistics", _exported("fmim_reports.stats")),
        "files": files_page(),
    }
    return {f"reference/{name}.md": text for name, text in made.items()}


def _exported(module: str) -> str:
    """What a module has in `__all__`, with a summary of it."""
    summary = {"classes": True, "functions": True, "attributes": True}
    return documented(module, show_root_heading=False, show_root_toc_entry=False, summary=summary)


def _modules(title: str, *modules: str) -> str:
    return page(title, *(documented(name, show_root_full_path=True, heading_level=2) for name in modules))


def _kinds(title: str, setting: str, registry: Registry) -> str:
    """The kinds that come with the package: a table of them, and each."""
    found = {kind: registry.find(kind) for kind in registry.kinds()}
    own = {kind: cls for kind, cls in found.items() if cls.__module__.startswith("fmim_core.")}
    paths = {kind: f"{cls.__module__}.{cls.__qualname__}" for kind, cls in own.items()}
    rows = ([code(kind), f"[{cls.__name__}][{paths[kind]}]", _first_line(cls)] for kind, cls in own.items())
    return page(title, table([code(setting), "class", "what"], rows), *map(documented, paths.values()))


def _first_line(cls: type) -> str:
    return (cls.__doc__ or "").partition("\n")[0]


def _training() -> str:
    paths = (
        "training.config.TrainConfig",
        "training.sampler.Batches",
        "training.augmentation.Augmentation",
        "data.sets.phantom_config.PhantomConfig",
        "data.bank.building.build_bank",
        "training.trainer.train",
        "training.trainer.TrainResult",
    )
    return page("Training", *(documented(f"fmim_core.{path}") for path in paths))


def _metrics() -> str:
    rows = (
        [code(one.name), one.label, code(one.of_query), one.unit, "higher" if one.higher_is_better else "lower"]
        for one in METRICS.values()
    )
    return page(
        "Metrics",
        table(["name", "in reports", "of one query", "unit", "better"], rows),
        _exported("fmim_core.metrics"),
        documented("fmim_core.metric_names", show_root_full_path=True),
    )


def _results() -> str:
    """The results in Python, and the columns of their frames: those of configurations as an example has them."""
    arms = [arm.entry(replicates=1) for arm in catalogue.find(EXAMPLE).arms]
    parts = [documented("fmim_reports.loaded.StudyResults"), "## Frames"]
    parts += [
        f"A study has a column `configuration_NAME` for each hyperparameter that it varies; here those of `{EXAMPLE}`."
    ]
    for name, frame in FRAMES.items():
        rows = ([code(c.name), code(c.dtype), c.unit, c.description] for c in frame.columns(arms, YEAR))
        parts += [f"### {name}", f"One row is {frame.row}.", table(["column", "type", "unit", "what"], rows)]
    return page("Results", *parts)


def _command_line() -> str:
    """Help of all commands; without typer's lists of them, which cut their sentences off."""
    command = typer.main.get_command(app)
    text = get_docs_for_click(obj=command, ctx=typer.Context(command), name="fmim", title="Command line")
    return re.sub(r"\*\*Commands\*\*:\n\n(\* .*\n)+", "", text)
