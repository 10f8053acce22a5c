"""The report of `automargin_vs_search`: what every compared study has, with the paper's values for two arms."""

from __future__ import annotations

from functools import partial

from fmim_reports.parts.arms import arms_beside_published, arms_table
from fmim_reports.parts.tidy import every_value_table
from fmim_reports.parts.training.dynamics import varying_margins_plot
from fmim_reports.reading import published
from fmim_reports.studies import Contents

CONTENTS = Contents(
    tables=(arms_beside_published,),
    more_figures=(varying_margins_plot,),
    every_value=partial(every_value_table, on_folds=published.ablation_value),
    leaves_out=(arms_table,),
)
