"""The losses: one file each, registered on import. A loss receives its margins and never computes them."""
