"""The token that the processes of a Ray cluster show each other: a secret of the cluster's own."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MODE, TOKEN, PATH = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"


@contextmanager
def own_token() -> Iterator[None]:
    """A new secret for the cluster that is started in the block; whoever does not know it is refused.

    It stands in the environment of the cluster's processes, which nobody but their user can read. Without it Ray would
    keep one in the home directory, for every cluster the same.
    """
    with _environment({MODE: "token", TOKEN: secrets.token_hex(32)}):
        yield


@contextmanager
def kept_token() -> Iterator[None]:
    """Have Ray show its token to the cluster at HOST:PORT, if there is one; one that asks for none does not mind.

    `ray start` makes clusters that ask for it, and keeps it in a file; Ray sends it by itself to the cluster that it
    finds on this machine alone.
    """
    kept = os.environ.get(PATH) or os.path.expanduser("~/.ray/auth_token")
    known = os.environ.get(TOKEN) or Path(kept).is_file()
    with _environment({MODE: "token"} if known and MODE not in os.environ else {}):
        yield


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
