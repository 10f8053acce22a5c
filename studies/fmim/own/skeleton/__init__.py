"""The files that `fmim new NAME` writes, with the study's name in them."""
