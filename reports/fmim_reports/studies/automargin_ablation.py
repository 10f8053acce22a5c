"""The report of `automargin_ablation`: what every compared study has, with a name for each changed setting."""

from __future__ import annotations

from fmim_reports.parts.tidy import every_value_table
from fmim_reports.studies import Contents

CONTENTS = Contents(
    every_value=lambda results: every_value_table(results, {arm.name: arm.search for arm in results.arms}),
)
