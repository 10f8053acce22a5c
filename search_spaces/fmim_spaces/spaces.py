"""The named spaces: those of the paper (Suppl. Table 1b), and the continuous one around its grid."""

from __future__ import annotations

from fmim_spaces.domain import Choice, Space, Uniform

MARGIN_VALUES = (0.1, 0.25, 0.5, 0.75)
LAMBDA_VALUES = (0.0, 0.5, 1.0, 2.0)
SENSITIVITY_VALUES = (0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3)
K_VALUES = (2, 4)

EPSILON = Choice(path="margins.epsilon", values=MARGIN_VALUES)
BETA = Choice(path="margins.beta", values=MARGIN_VALUES)
K_DELTA = Choice(path="margins.k_delta", values=K_VALUES)
K_AN = Choice(path="margins.k_an", values=K_VALUES)

NOTHING = Space()
TRIPLET_GRID = Space(choices=(EPSILON,))
ADATRIPLET_GRID = Space(choices=(EPSILON, BETA))
WAT_GRID = Space(choices=(BETA,))
TRIPLET_AUTOMARGIN = Space(choices=(K_DELTA,))
ADATRIPLET_AUTOMARGIN = Space(choices=(K_DELTA, K_AN))

SCT_GRID = Space(choices=(Choice(path="loss.lam", values=LAMBDA_VALUES),))
ARCFACE_GRID = Space(choices=(Choice(path="loss.margin_degrees", values=(5.7, 14.3, 28.6, 43.0)),))
SOFTTRIPLE_GRID = Space(choices=(Choice(path="loss.margin", values=(0.01, 0.02, 0.05, 0.1)),))
CONTRASTIVE_GRID = Space(
    choices=(
        Choice(path="loss.m_neg", values=(0.25, 0.5, 0.75, 1.0)),
        Choice(path="loss.m_pos", values=(0.0, 0.25, 0.5, 0.75)),
    )
)
ADATRIPLET_MARGINS = Space(
    ranges=(Uniform(path="margins.epsilon", low=0.05, high=1.0), Uniform(path="margins.beta", low=0.0, high=1.0))
)
EPSILON_SENSITIVITY = Space(choices=(Choice(path="margins.epsilon", values=SENSITIVITY_VALUES),))


def point(**values: float) -> Space:
    """Return the space of one configuration, by dotted path with `__` for the dot: point(loss__lam=1.0)."""
    return Space(choices=tuple(Choice(path=path.replace("__", "."), values=(v,)) for path, v in values.items()))


TRIPLET_K2 = point(margins__k_delta=2)
ADATRIPLET_K2 = point(margins__k_delta=2, margins__k_an=2)
