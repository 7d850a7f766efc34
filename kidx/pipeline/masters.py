"""Spark's master URLs: their forms, whether they are local, whether something listens there."""

from __future__ import annotations

import re
import socket

from kidx.errors import CannotRead, UsageError

CONNECT_SECONDS = 5
_PORTS = {"spark": 7077, "k8s": 443}


def is_local(master: str) -> bool:
    """Whether the executors are threads of a local JVM, which import kidx from where this process does."""
    return re.fullmatch(r"local(\[[^\]]*\])?", master) is not None


def check_master(master: str) -> None:
    """Raises UsageError for a URL that Spark does not know, CannotRead if none of its addresses can be reached."""
    if is_local(master) or master == "yarn" or master.startswith("local-cluster["):
        return
    match = re.fullmatch(r"(spark|k8s)://(?:https?://)?([^/]+)/?", master)
    if match is None:
        raise UsageError(f"--master {master}: not a Spark master; use local[N], spark://HOST:PORT, yarn or k8s://URL")
    reasons = []
    for address in match[2].split(","):
        host, _, port = address.rpartition(":") if address.rpartition(":")[0] else (address, "", "")
        try:
            number = int(port) if port else _PORTS[match[1]]
            socket.create_connection((host.strip("[]"), number), timeout=CONNECT_SECONDS).close()
            return
        except ValueError:
            raise UsageError(f"--master {master}: {port} is not a port") from None
        except OSError as e:
            reasons.append((e.strerror or str(e)).lower())
    raise CannotRead(f"--master {master}: no connection ({reasons[0]}); is the master running?")


def on_loopback(master: str) -> bool:
    """Whether driver, master and executors run on this machine, so that they can use the loopback address."""
    return is_local(master) or bool(re.match(r"spark://(127\.|localhost|\[::1\])", master))
