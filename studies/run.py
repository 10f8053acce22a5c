"""`python studies/run.py STUDY …`: run a study. The same program as the console script `fmim`."""

import signal
import sys
from pathlib import Path

if __name__ == "__main__":
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # Ctrl-C ends what has not begun without a word
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # The packages of this checkout, also where another one is installed.
    root = Path(__file__).resolve().parents[1]
    sys.path[:1] = [str(root / folder) for folder in ("studies", "search_spaces", "reports", "")]
    from fmim.cli import main

    main()
