"""What a study is made of, as data: arms, presets and the study itself. This imports no torch."""

from fmim.declare.study import Arm, Preset, Study

__all__ = ["Arm", "Preset", "Study"]
