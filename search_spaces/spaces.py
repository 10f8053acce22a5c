"""The named spaces of the paper (Suppl. Table 1b)."""

from __future__ import annotations

from search_spaces.domain import Choice, Space

MARGIN_VALUES = (0.1, 0.25, 0.5, 0.75)
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
