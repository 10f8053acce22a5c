"""The files that `fmim new NAME` writes, with the study's name in them."""

from __future__ import annotations

import re
from importlib import resources
from inspect import Parameter
from pathlib import Path

EXAMPLE = "my_study"
OF_LIBRARY, EXAMPLE_LOSS = "my_study_of_library.py", "MultiSimilarityLoss"
SEARCHED = 2
"""The number of parameters of a library's loss that a new study searches."""


def new_files(study: str, loss: str | None) -> dict[Path, str]:
    """Return the files of a new study by their paths: for your own loss, or for one of pytorch-metric-learning.

    Raises:
        ValueError: there is no such loss.
    """
    if loss is None:
        return {Path(name.replace(EXAMPLE, study)): _text(name, study) for name in ("my_study.py", "test_my_study.py")}
    from fmim_core.losses.pml import PML

    around = {one.name: _around(one) for one in PML.library.parameters(loss).values()}
    searched = [(name, values) for name, values in around.items() if values][:SEARCHED]
    lines = "".join(f'    Choice(path="loss.params.{name}", values={values}),\n' for name, values in searched)
    choices = f"CHOICES = (\n{lines})\n" if lines else "CHOICES = ()\n"
    text = re.sub(r"CHOICES = \(\n.*?\n\)\n", choices, _text(OF_LIBRARY, study), flags=re.DOTALL)
    return {Path(f"{study}.py"): text.replace(EXAMPLE_LOSS, loss)}


def _text(name: str, study: str) -> str:
    return resources.files(__name__).joinpath(name).read_text(encoding="utf-8").replace(EXAMPLE, study)


def _around(one: Parameter) -> tuple[float, ...]:
    """Return half a parameter's default, itself and twice it, if it is above 0; as of 1 where it must be given."""
    value = 1.0 if one.default is one.empty else one.default
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        return ()
    return value // 2 if isinstance(value, int) and value > 1 else value / 2, value, 2 * value
