"""`fmim paper`: every study of the paper, and one report of them all."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fmim.commands.arguments import (
    Address,
    BackendName,
    Banks,
    Changes,
    CpusPerTrial,
    DataName,
    DataRoot,
    Epochs,
    GpusPerTrial,
    PresetName,
    Replicates,
    Reuse,
    Seed,
    TrackingUri,
)


def paper(
    preset: PresetName = "quick",
    data: DataName = "phantom",
    data_root: DataRoot = None,
    out: Annotated[Path, typer.Option(help="The folder of the paper, with a folder for each study.")] = Path(
        "runs/paper"
    ),
    replicates: Replicates = None,
    seed: Seed = 0,
    epochs: Epochs = None,
    changes: Changes = None,
    backend: BackendName = "ray",
    address: Address = None,
    gpus_per_trial: GpusPerTrial = None,
    cpus_per_trial: CpusPerTrial = 1.0,
    banks: Banks = None,
    tracking_uri: TrackingUri = None,
    reuse: Reuse = True,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything and print the plan only.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Move the studies' folders aside and start over.")] = False,
) -> None:
    """Run every study of the paper, or go on with them, and write one report beside the published values.

    Each study has a folder in OUT, in which it can be looked at and gone on with as any other. What studies beside OUT
    have trained is reused. Ctrl-C is safe: the same command goes on.
    """
    from fmim.commands.options import Options
    from fmim.paper.run import PaperOptions, run_paper
    from fmim.paper.studies import SELECTION

    each = Options(
        study=SELECTION.name,
        preset=preset,
        data=data,
        data_root=data_root,
        replicates=replicates,
        seed=seed,
        epochs=epochs,
        changes=changes or (),
        backend=backend,
        address=address,
        gpus_per_trial=gpus_per_trial,
        cpus_per_trial=cpus_per_trial,
        banks=banks,
        tracking_uri=tracking_uri,
        reuse=reuse,
        fresh=fresh,
    )
    options = PaperOptions(out, each)
    options.check()
    if dry_run:
        from fmim.paper.show import show_paper

        show_paper(options, Console())
        return
    raise typer.Exit(run_paper(options, Console()))
