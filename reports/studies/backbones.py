"""The report of `backbones`: what every compared study has, and the margins over the epochs on each backbone."""

from __future__ import annotations

from reports.contents import Contents
from reports.parts.training.margins import varying_margins_plot

CONTENTS = Contents(figures=(varying_margins_plot,))
