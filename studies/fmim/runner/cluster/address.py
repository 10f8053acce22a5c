"""Whether a Ray cluster can be at an address, found out in seconds; Ray itself would try for minutes."""

from __future__ import annotations

import os
import re
import socket

PATIENCE_S = 5.0  # for each of: a connection, and an answer
GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04" + bytes(5)  # of HTTP/2, with settings of length 0
HEADER, SETTINGS = 9, 4  # bytes of a frame's header; the kind, in its fourth byte, of what a server answers with


def knock(address: str, patience_s: float = PATIENCE_S) -> None:
    """Check that somebody at the address speaks as Ray does (HTTP/2); `auto` is for Ray to look up.

    Raises:
        ValueError: it is no address, nobody is there or answers, or it is something else.
    """
    if address == "auto":
        return
    named = re.fullmatch(r"(?:ray://)?(?:\[(?P<ipv6>[^\[\]]+)\]|(?P<host>[^\[\]:/]+)):(?P<port>\d{1,5})", address)
    if named is None or not 0 < int(named["port"]) < 2**16:
        raise ValueError(f"--address {address} is no address: give HOST:PORT, ray://HOST:PORT, or auto")
    try:
        fault = _fault(named["ipv6"] or named["host"], int(named["port"]), patience_s)
    except OSError as error:
        fault = str(error)
    if fault:
        nobody = f"no Ray cluster can be reached at --address {address}"
        raise ValueError(f"{nobody}: {fault}; --backend inline needs no Ray")


def _fault(host: str, port: int, patience_s: float) -> str | None:
    with socket.create_connection((host, port), timeout=patience_s) as line:
        if os.environ.get("RAY_USE_TLS", "0") not in ("0", ""):
            return None  # it answers to those alone who have a certificate
        line.sendall(GREETING)
        try:
            answer = line.recv(HEADER, socket.MSG_WAITALL)
        except TimeoutError:
            return f"somebody accepts connections, but said nothing for {patience_s:g} s"
    spoken = len(answer) == HEADER and answer[3] == SETTINGS
    return None if spoken else "what listens there is no Ray cluster, it speaks another protocol"
