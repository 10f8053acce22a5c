"""The places where trials run: in this process, or on Ray.

Ray reads settings from the environment when it is imported, so that they are made here, before any module of this
package imports it; what the user has set stays.
"""

import os

_SETTINGS = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # listen on the loopback interface alone, as on those systems
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",  # workers run on our interpreter, not on one that `uv run` makes for each
    "RAY_prestart_worker_first_driver": "0",  # Ray would wait for first workers without a word where none can start
    "RAY_DISABLE_FAILURE_SIGNAL_HANDLER": "1",  # it would replace ours: SIGTERM would abort us with a stack of C++
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DEDUP_LOGS": "1",
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_CHDIR_TO_TRIAL_DIR": "0",  # a relative path of a study's own leads where it does in this process
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",  # the records are ours,
    "TUNE_GLOBAL_CHECKPOINT_S": "1000000000",  # and what a study resumes from
    "TUNE_DISABLE_SIGINT_HANDLER": "1",  # Ctrl-C reaches us as everywhere else
    "TUNE_WARN_THRESHOLD_S": "10",
}
os.environ.update({name: os.environ.get(name, value) for name, value in _SETTINGS.items()})
