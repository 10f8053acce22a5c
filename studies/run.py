"""`python studies/run.py STUDY …`: run a study. The same program as the console script `fmim`."""

import sys
from pathlib import Path

if __name__ == "__main__":
    # Python puts this folder first on the path, where its files would hide packages of the same name.
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from studies.cli import main

    main()
