"""What keeps a swarm from being measured; every message is one line that says what to do."""

from vmtrace.providers.errors import ProvidersError


class SwarmError(ProvidersError):
    """A torrent, a seed, a tracker or a web seed is not what it must be."""


def one_line(text: str) -> str:
    """Words of libtorrent or of a peer as one printable line of bounded length."""
    plain = "".join(character if character.isprintable() else "?" for character in " ".join(text.split()))
    return plain[:200]
