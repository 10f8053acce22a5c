"""The parts of a study, as data: arms, presets and the study itself. This imports no torch."""

from fmim.declare.arm import Arm
from fmim.declare.presets import Preset
from fmim.declare.study import Study

__all__ = ["Arm", "Preset", "Study"]
