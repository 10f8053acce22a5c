"""A study from Python: run it, load its results, load a model that it trained."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from fmim.declare import Study
from fmim.own.imports import packages_with_kinds
from fmim.own.study_file import forget_others, is_study_file
from fmim_core.records import INTERRUPTED

if TYPE_CHECKING:
    from fmim.matching.model import EmbeddingModel
    from fmim_reports.loaded import StudyResults


def run(
    study: str | Path | Study, changes: Mapping[str, Any] | None = None, quiet: bool = False, **options: Any
) -> StudyResults:
    """Run or resume a study, as `fmim run` does; return its results.

    Failed trials are in the results and raise nothing.

    Args:
        study: its name, the file that declares it, or a study declared here of losses, margin schedules and backbones
            of this package or an installed one; your own belong into a file, which workers can import.
        changes: values instead of the preset's, e.g. {"epochs": 50}, as `--set`.
        quiet: print nothing.
        options: the options of `fmim run` by name, with the same defaults, e.g. preset="smoke" or data_root="images".

    Raises:
        ValueError: bad input; nothing has started.
        KeyboardInterrupt: it was interrupted; the same call resumes it.
    """
    from fmim.commands.options import Options
    from fmim.printing import TextConsole
    from fmim.process import usable_home
    from fmim.runner.run import run_plan
    from fmim.terminal.run_display import RunDisplay
    from fmim_core.config import in_words

    changed = [f"{field}={value}" for field, value in (changes or {}).items()]
    try:
        given = Options(study=study, changes=changed, **options)
    except ValidationError as error:
        raise ValueError(in_words(error)) from None
    try:
        given.check()
        plan = given.plan()
        if plan.study.code is None:
            _check_kinds(plan.study, {type(kind) for config in plan.train_configs() for kind in config.kinds})
        with RunDisplay(TextConsole(quiet=quiet)) as display, usable_home(display.warn):
            code = run_plan(plan, given.setup, display)
    finally:
        if is_study_file(str(study)):
            forget_others()  # the program has its own modules again
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    return load(given.setup.folder)


def load(out: str | Path) -> StudyResults:
    """Load the results in a study's folder, as far as they go: tidy frames, and every table and figure of the report.

    Raises:
        ValueError: `out` holds no readable study.json.
    """
    from fmim_reports.loaded import load

    return load(out)


def load_model(
    out: str | Path, arm: str, seed: int = 0, device: str = "auto", trust_code: bool = False
) -> EmbeddingModel:
    """Load a model that a study trained: it embeds images as the study did, and ranks a gallery for each query.

    Args:
        out: the study's folder.
        arm: its name; the model is of its selected configuration.
        seed: the number of the replicate, from 0.
        device: `auto` (the GPU if there is one), `cpu`, or a torch device such as `cuda:1`.
        trust_code: run the Python code that the folder brings, though you have not run it on this machine before.

    Raises:
        ValueError: no such folder, arm or completed replicate (the message lists those there are), no weights, or
            somebody else's code.
    """
    from fmim.matching.model import load_replicate
    from fmim.runner.folder.study_folder import find_replicate

    return load_replicate(find_replicate(Path(out), arm, seed, trust_code), device)


def _check_kinds(study: Study, kinds: set[type]) -> None:
    """Check that every process finds the kinds by itself, and that records say which code they were.

    Raises:
        ValueError: one is defined elsewhere; names it and its module.
    """
    known = packages_with_kinds()
    for kind in sorted(kinds, key=lambda one: one.__qualname__):
        if kind.__module__.partition(".")[0] not in known:
            raise ValueError(
                f"{kind.__qualname__} is defined in {kind.__module__}, which workers cannot import: put "
                f"it into a file that declares the study, e.g. {study.name}.py, and give the path of that file"
            )
