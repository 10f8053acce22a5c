"""The report of `backbones`: what every compared study has, and the margins over the epochs on each backbone."""

from __future__ import annotations

from fmim_reports.parts.training.dynamics import varying_margins_plot
from fmim_reports.studies import Contents

CONTENTS = Contents(more_figures=(varying_margins_plot,))
