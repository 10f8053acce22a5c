"""The losses: one file each, found by being there. A loss never computes a margin: it is given them."""
