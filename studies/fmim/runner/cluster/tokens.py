"""The token that the processes of a Ray cluster show each other: a secret of the cluster's own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MODE, TOKEN, PATH = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"


def variables_of(token: str) -> dict[str, str]:
    """The environment of a cluster's processes, which nobody but their user can read.

    Without a token there Ray would keep one in the home directory, for every cluster the same.
    """
    return {MODE: "token", TOKEN: token}


@contextmanager
def own_token(token: str) -> Iterator[None]:
    """Show the cluster of our own its token in the block."""
    with _environment(variables_of(token)):
        yield


@contextmanager
def kept_token() -> Iterator[None]:
    """Have Ray show its token to the cluster at HOST:PORT in the block."""
    with _environment(kept_variables()):
        yield


def kept_variables() -> dict[str, str]:
    """What Ray needs to show its token, if there is one, to the cluster at HOST:PORT; one without does not mind.

    `ray start` makes clusters that ask for it, and keeps it in a file; Ray sends it by itself to the cluster that it
    finds on this machine alone.
    """
    kept = os.environ.get(PATH) or os.path.expanduser("~/.ray/auth_token")
    known = os.environ.get(TOKEN) or Path(kept).is_file()
    return {MODE: "token"} if known and MODE not in os.environ else {}


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    _read_again()
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        _read_again()


def _read_again() -> None:
    """Ray reads the mode and the token once, and a process may have had another cluster before."""
    from ray._raylet import AuthenticationTokenLoader, Config  # type: ignore[attr-defined]

    Config.initialize("")
    AuthenticationTokenLoader.instance().reset_cache()
