"""`HOST:PORT`, `[fd00::1]:PORT`: as a user writes it, and as it stands in reports and records."""

from __future__ import annotations


def host_and_port(text: str) -> tuple[str, int] | None:
    """The host without brackets, and the port; None for what is neither."""
    host, _, port = text.rpartition(":")
    if not host or not (port.isascii() and port.isdigit()) or not 0 < int(port) < 65_536:
        return None
    return host.strip("[]"), int(port)


def shown_endpoint(endpoint: tuple[str, int]) -> str:
    """`198.18.1.1:6881`, `[fd00::1]:6881`."""
    host, port = endpoint
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
