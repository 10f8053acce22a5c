"""Studies of deep metric learning: declare arms and a study, run it, load what it found.

Importing this imports neither torch nor Ray. The base classes of your own losses, margin schedules, backbones and data
sets are in `fmim.kinds`.
"""

from fmim.declare import Arm, Preset, Study
from fmim.declare.presets import FULL, PAPER, PRESETS, QUICK, SMOKE
from fmim.runner.search.tpe import TPE
from fmim.use import load, load_model, run
from fmim_spaces.domain import Choice, LogUniform, Space, Uniform
from fmim_spaces.searchers import QMC, Grid, Random
from fmim_spaces.spaces import point
from fmim_spaces.successive_halving import ASHA

__all__ = [
    "ASHA", "FULL", "PAPER", "PRESETS", "QMC", "QUICK", "SMOKE", "TPE", "Arm", "Choice", "Grid", "LogUniform", "Preset",
    "Random", "Space", "Study", "Uniform", "load", "load_model", "point", "run",
]  # fmt: skip
