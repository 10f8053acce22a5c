"""Arguments that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer

from fmim.commands.completion import complete_study
from fmim.commands.options import Options

StudyName = Annotated[
    str,
    typer.Argument(
        metavar="STUDY", help="One of `fmim list`, or a Python file of your own.", autocompletion=complete_study
    ),
]
StudyFolder = Annotated[Path, typer.Argument(metavar="OUT", help="A study's folder, e.g. runs/automargin_vs_grid.")]
AsJson = Annotated[bool, typer.Option("--json", help="JSON on standard output, and nothing else.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Check everything and print the plan only.")]


def new_folder(option: str, path: Path) -> Path:
    """Return the folder that an option names, if there is nothing in it yet.

    Raises:
        ValueError: it is a file, or something is in it.
    """
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise ValueError(
            f"{option} {path} is there already, and nothing is overwritten: give the name of a new folder, or an empty "
            "one"
        )
    return path


def takes_options(*but: str, **given: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of `Options`, which it gets as one object, before its own.

    Args:
        but: those that it has not.
        given: those that it says itself.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        _, *own = signature(command, eval_str=True).parameters.values()
        shared = [_parameter(name) for name in Options.model_fields if name not in (*but, *given)]

        def called(**arguments: Any) -> None:
            of_command = {parameter.name: arguments.pop(parameter.name) for parameter in own}
            command(Options(**given | arguments), **of_command)

        called.__name__, called.__doc__ = command.__name__, command.__doc__
        called.__signature__ = Signature([*shared, *own])  # type: ignore[attr-defined]
        return called

    return decorate


def _parameter(name: str) -> Parameter:
    """Return the parameter of a command for a field of `Options`."""
    if name == "study":
        return Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, annotation=StudyName)
    field = Options.model_fields[name]
    annotation = Annotated[field.annotation, *field.metadata]  # type: ignore[name-defined]
    return Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=field.default, annotation=annotation)
