"""Whether a Ray cluster can be at an address, found out in seconds; Ray itself would try for minutes."""

from __future__ import annotations

import os
import re
import socket

PATIENCE_S = 10.0  # for each of: a connection, and an answer
GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04" + bytes(5)  # of HTTP/2, with settings of length 0
HEADER, SETTINGS = 9, 4  # bytes of a frame's header; the kind, in its fourth byte, of what a server answers with


def knock(address: str, patience_s: float = PATIENCE_S) -> None:
    """Check that somebody at the address speaks as Ray does (HTTP/2); `auto` is for Ray to look up.

    Raises:
        ValueError: it is no address.
        OSError: nobody is there, nobody answers, or it is something else.
    """
    if address == "auto":
        return
    named = re.fullmatch(r"(?:ray://)?(?:\[(?P<ipv6>[^\[\]]+)\]|(?P<host>[^\[\]:/]+)):(?P<port>\d{1,5})", address)
    if named is None or not 0 < int(named["port"]) < 2**16:
        raise ValueError(f"--address {address} is no address: give HOST:PORT, ray://HOST:PORT, or auto")
    with socket.create_connection((named["ipv6"] or named["host"], int(named["port"])), timeout=patience_s) as line:
        if os.environ.get("RAY_USE_TLS", "0") not in ("0", ""):
            return  # it answers to those alone who have a certificate
        line.sendall(GREETING)
        try:
            answer = line.recv(HEADER, socket.MSG_WAITALL)
        except TimeoutError as error:
            raise TimeoutError(f"somebody accepts connections, but said nothing for {patience_s:g} s") from error
    if len(answer) < HEADER or answer[3] != SETTINGS:
        raise ConnectionError("what listens there is no Ray cluster, it speaks another protocol")
