"""`python -m fmim …`: the same program as the console script `fmim`."""

from fmim.cli import main

main()
