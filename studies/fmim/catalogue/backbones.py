"""Does the result depend on the architecture? The paper has one backbone; here four compare grid and AutoMargin.

`quick` is a small version for a CPU: 32 px, 20 steps, two folds and seeds. It shows that everything runs, not who wins.
"""

from __future__ import annotations

from collections.abc import Sequence

from fmim.declare import Arm, Study
from fmim.declare.presets import FULL, PAPER, SMOKE
from fmim_spaces.domain import Assignment
from fmim_spaces.spaces import TRIPLET_AUTOMARGIN, TRIPLET_GRID

REDUCED = (("batches.subjects_per_batch", 8), ("batches.per_epoch", 10), ("augmentation.crop", 32), ("epochs", 2))
ABOUT = "a small version for a CPU, 20 steps per training at 32 px: shows that everything runs, not who wins"
SHORT = {"name": "quick", "about": ABOUT, "settings": (*REDUCED, ("learning_rate", 5e-4)), "variations": ()}
QUICK = SMOKE.model_copy(update=SHORT)

Backbone = tuple[str, str, tuple[Assignment, ...]]
"""A short name for arms, a label for reports, and the training fields that make it, e.g. ("model.kind", "resnet50")."""

TRIPLET = ("loss.kind", "triplet")


def backbones_study(name: str, backbones: Sequence[Backbone]) -> Study:
    """Return a study of the triplet loss on each backbone: AutoMargin compared with a grid search over ε.

    `paper` starts from torchvision's `imagenet` weights; a backbone without them names its own weights
    ("model.weights", …).

    Args:
        name: the study's name. Arms are called NAME_grid and NAME_automargin after the backbones.
    """
    return Study(
        name=name,
        title=f"AutoMargin versus grid search on {len(backbones)} backbones, triplet loss",
        question="Is AutoMargin as good as a grid search on every backbone?",
        presets=(SMOKE, QUICK, FULL, PAPER),
        comparisons=tuple((f"{short}_automargin", f"{short}_grid") for short, *_ in backbones),
        arms=tuple(arm for backbone in backbones for arm in _arms(*backbone)),
    )


def _arms(name: str, label: str, model: tuple[Assignment, ...]) -> tuple[Arm, Arm]:
    grid, automargin = ((*model, TRIPLET, ("margins.kind", kind)) for kind in ("fixed", "automargin"))
    return (
        Arm(name=f"{name}_grid", group=label, search="Grid search", settings=grid, space=TRIPLET_GRID),
        Arm(name=f"{name}_automargin", group=label, search="AutoMargin", settings=automargin, space=TRIPLET_AUTOMARGIN),
    )


STUDY = backbones_study(
    "backbones",
    (
        ("resnet18", "ResNet-18", (("model.kind", "resnet18"),)),
        ("resnet50", "ResNet-50", (("model.kind", "resnet50"),)),
        ("convnext_tiny", "ConvNeXt-Tiny", (("model.kind", "convnext_tiny"),)),
        # torchvision has no weights for ViT-S/16: it starts from random ones.
        ("vit_s_16", "ViT-S/16", (("model.kind", "vit_s_16"), ("model.weights", "none"))),
    ),
)
