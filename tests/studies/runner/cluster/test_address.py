"""Addresses where no cluster is are told apart in seconds; real sockets answer, or do not."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from fmim.runner.cluster.address import GREETING, SETTINGS, knock
from fmim.runner.cluster.start import starting

from tests.support.services import free_port


@contextmanager
def answering(answer: bytes | None) -> Iterator[str]:
    """The address of a socket that answers the first who says something; None: accepts and stays silent."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with listener.accept()[0] as line:
                line.recv(len(GREETING), socket.MSG_WAITALL)
                line.sendall(answer or b"")

        if answer is not None:
            threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"


def test_one_who_accepts_and_stays_silent_is_named_in_time() -> None:
    begun = time.monotonic()
    with answering(None) as address, pytest.raises(ValueError, match=f"--address {address}: .* said nothing for 0.2 s"):
        knock(address, patience_s=0.2)
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-2.0", b""])
def test_another_protocol_is_named(answer: bytes) -> None:
    with answering(answer) as address, pytest.raises(ValueError, match=f"{address}: .* speaks another protocol"):
        knock(address)


def test_a_server_that_speaks_as_ray_does_is_let_pass() -> None:
    with answering(bytes(3) + bytes([SETTINGS]) + bytes(5)) as address:
        knock(f"ray://{address}")


@pytest.mark.parametrize("address", ["local", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:70000", "http://127.0.0.1:80", ""])
def test_what_is_no_address_is_refused(address: str) -> None:
    words = re.escape(f"--address {address} is no address: give HOST:PORT")
    with pytest.raises(ValueError, match=words):
        knock(address)


def test_nobody_there_ends_the_start_with_the_address() -> None:
    address = f"127.0.0.1:{free_port()}"
    refused = pytest.raises(ValueError, match=rf"no Ray cluster .* --address {address}: .*Connection refused")
    with refused, starting("ray", address):
        pass
    with pytest.raises(ValueError, match=r"--address no\.such\.host\.invalid:6379: "):
        knock("no.such.host.invalid:6379")
