"""The program's exit codes."""

from __future__ import annotations

DONE = 0
SOME_FAILED = 1  # some trials, or the disk; the report is built all the same, and says so
BAD_INPUT = 2  # bad usage or input: nothing has started
INTERRUPTED = 130  # the same command resumes
