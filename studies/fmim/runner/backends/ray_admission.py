"""What Ray needs before it starts or joins a cluster: limits of this machine, an address that answers, and a token."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from fmim_core.machine import cores, free_processes, open_files

CONNECT_S = 5.0
"""Seconds in which the machine of a cluster must answer at all."""
PROCESSES, PROCESSES_PER_CORE, FILES, FILES_PER_CORE = 200, 50, 48, 16
"""The needs of Ray, threads among the processes: measured were 190 and 55 on 2 cores, before its workers train."""


def check_limits() -> None:
    """Raise a `ValueError` where this process may not start what Ray needs, which would hang."""
    asked = (
        ("processes and threads (ulimit -u, or a container's limit)", free_processes(), PROCESSES, PROCESSES_PER_CORE),
        ("open files (ulimit -n)", open_files(), FILES, FILES_PER_CORE),
    )
    for what, there, fixed, per_core in asked:
        needed = fixed + per_core * cores()
        if there < needed:
            raise ValueError(
                f"Ray needs about {needed} {what} on {cores()} cores, but this process may only use {there:g} more: "
                "raise the limit, or use --backend inline, which needs no Ray"
            )


def check_address(address: str) -> None:
    """Raise a `ValueError` where nobody listens at an address, for which Ray would try for a minute."""
    if address == "auto":  # for Ray to look up
        return
    if fault := fault_of(address):
        raise ValueError(
            f"cannot reach a Ray cluster at --address {address}: {fault}; give HOST:PORT or auto; --backend inline "
            "needs no Ray"
        )


def fault_of(address: str) -> Exception | None:
    """Return why nobody can be reached at HOST:PORT, or None."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
    except (OSError, ValueError, OverflowError) as error:
        return error
    return None


def knock(address: str) -> None:
    """Ask a cluster for its name, which it refuses at once without its token: `ray.init` would try for 20 s."""
    from ray._private.services import canonicalize_bootstrap_address
    from ray._raylet import GcsClient  # type: ignore[attr-defined]

    if found := canonicalize_bootstrap_address(address):  # None: no cluster is noted on this machine, says `ray.init`
        GcsClient(found)


@contextmanager
def token_for(address: str | None) -> Iterator[None]:
    """Set the token for the block that the processes of a cluster show each other.

    A cluster of our own has one of its own: Ray's would lie in the home directory, for every cluster the same. To a
    cluster at HOST:PORT Ray shows its token only if told to; one without does not mind.
    """
    kept = Path(os.environ.get("RAY_AUTH_TOKEN_PATH") or os.path.expanduser("~/.ray/auth_token"))
    if address is None:
        variables = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    elif "RAY_AUTH_MODE" not in os.environ and ("RAY_AUTH_TOKEN" in os.environ or kept.is_file()):
        variables = {"RAY_AUTH_MODE": "token"}
    else:
        variables = {}
    before = {name: os.environ.get(name) for name in variables}
    _set_token(variables)
    try:
        yield
    finally:
        _set_token(before)


def _set_token(variables: Mapping[str, str | None]) -> None:
    from ray._raylet import AuthenticationTokenLoader, Config  # type: ignore[attr-defined]

    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    Config.initialize("")  # Ray reads mode and token once, and a process may have had another cluster before
    AuthenticationTokenLoader.instance().reset_cache()
