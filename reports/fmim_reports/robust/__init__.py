"""The report of `fmim robust`: a study at every setting of what it held fixed."""
