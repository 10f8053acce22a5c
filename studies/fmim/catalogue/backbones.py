"""Does it depend on the architecture? The paper's limitation is its one backbone: four here, grid against AutoMargin.

`quick` is a reduced form for a CPU: 32 px, 20 steps, two folds and seeds. It shows that everything runs, not who wins.
"""

from __future__ import annotations

from fmim.declare import Arm, Preset, Study
from fmim.presets import FULL, PAPER, SMOKE
from fmim_core.data.sets.phantom_config import PhantomConfig
from fmim_spaces.domain import Assignment
from fmim_spaces.spaces import TRIPLET_AUTOMARGIN, TRIPLET_GRID

QUICK = Preset(
    name="quick",
    about="a reduced form for a CPU, 20 steps per training at 32 px: shows that everything runs, not who wins",
    settings=(
        ("batches.subjects_per_batch", 8),
        ("batches.per_epoch", 10),
        ("augmentation.crop", 32),
        ("epochs", 2),
        ("learning_rate", 5e-4),
    ),
    image_size=35,
    phantom=PhantomConfig(train_subjects=24, test_subjects=12, acquisition=3),
    folds=2,
    replicates=2,
)

# (name, label, model.kind, more settings). torchvision has no weights for ViT-S/16: it starts from random ones.
BACKBONES: tuple[tuple[str, str, tuple[Assignment, ...]], ...] = (
    ("resnet18", "ResNet-18", (("model.kind", "resnet18"),)),
    ("resnet50", "ResNet-50", (("model.kind", "resnet50"),)),
    ("convnext_tiny", "ConvNeXt-Tiny", (("model.kind", "convnext_tiny"),)),
    ("vit_s_16", "ViT-S/16", (("model.kind", "vit_s_16"), ("model.weights", "none"))),
)
TRIPLET = ("loss.kind", "triplet")


def _arms(name: str, label: str, model: tuple[Assignment, ...]) -> tuple[Arm, Arm]:
    grid, automargin = ("margins.kind", "fixed"), ("margins.kind", "automargin")
    return (
        Arm(
            name=f"{name}_grid",
            group=label,
            search="Grid search",
            settings=(*model, TRIPLET, grid),
            space=TRIPLET_GRID,
        ),
        Arm(
            name=f"{name}_automargin",
            group=label,
            search="AutoMargin",
            settings=(*model, TRIPLET, automargin),
            space=TRIPLET_AUTOMARGIN,
        ),
    )


STUDY = Study(
    name="backbones",
    title="AutoMargin versus grid search on four backbones, triplet loss",
    question="Does AutoMargin keep up with a grid search whatever the architecture?",
    presets=(SMOKE, QUICK, FULL, PAPER),
    comparisons=tuple((f"{name}_automargin", f"{name}_grid") for name, *_ in BACKBONES),
    arms=tuple(arm for backbone in BACKBONES for arm in _arms(*backbone)),
)
