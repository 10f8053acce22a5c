"""`python studies/run.py STUDY …`: run a study. The same program as the console script `fmim`."""

import sys
from pathlib import Path

if __name__ == "__main__":
    # The packages of this checkout, also where another one is installed.
    root = Path(__file__).resolve().parents[1]
    sys.path[:1] = [str(root / folder) for folder in ("studies", "search_spaces", "reports", "")]
    from fmim.cli import main

    main()
