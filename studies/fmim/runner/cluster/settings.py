"""What Ray reads from the environment when it is imported or starts, for this process and for a cluster of our own."""

from __future__ import annotations

import os

# No log files of Tune's own (the records are ours), no experiment snapshots (the records are what a study resumes
# from), and Ctrl-C reaches us as everywhere else. A cluster of our own listens on the loopback interface alone (what
# Ray does by itself on Windows and macOS), and its workers run on our interpreter, not on one that `uv run` would make
# for each. Ray would let us in only once the first workers have started, and wait without a word where they cannot.
# Titles of its processes would overwrite the environment by which the watchdog knows them.
_SETTINGS = {
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_GLOBAL_CHECKPOINT_S": "1000000000",
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    "TUNE_WARN_THRESHOLD_S": "10",
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DEDUP_LOGS": "1",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    "RAY_prestart_worker_first_driver": "0",
    "SPT_NOENV": "1",
}
os.environ.update({name: os.environ.get(name, value) for name, value in _SETTINGS.items()})
