"""Which addresses to believe: certificates are looked at, and resolvers that lie are found by them.

An address that only a liar gave is asked for its certificate (a few of each liar's) and for nothing more: a resolver
could send us to anybody.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from vmtrace.providers.discovery.certificates import Shown, ShownCertificates, shown_by
from vmtrace.providers.discovery.front_ends import FrontEnds, Pair, liars


@dataclass(frozen=True, slots=True)
class CertificateAsking:
    """How certificates are asked for: the port, whom to trust, and how many addresses at most."""

    port: int
    ca_bundle: Path | None
    most: int


class Honesty:
    """Remembers every certificate and every liar, so that a round asks for what is new alone."""

    def __init__(
        self,
        front_ends: FrontEnds,
        asking: CertificateAsking,
        on_shown: Callable[[Shown], None],
        on_liar: Callable[[str, Sequence[Pair]], None],
    ) -> None:
        self._front_ends, self._asking = front_ends, asking
        self._on_shown, self._on_liar = on_shown, on_liar
        self._liars: set[str] = set()
        self.shown = ShownCertificates()

    def look(self) -> None:
        """Ask for the certificates of new addresses, and find the resolvers that lie."""
        rare = self._front_ends.rare()
        suspected = {(name, one) for names in rare.values() for name, found in names.items() for one in found}
        pairs = [(one.name, one.address) for one in self._front_ends.all()]
        usual = [pair for pair in pairs if pair not in suspected][: self._asking.most]
        self._show(usual)
        for label, given in liars(rare, self._speaking, partial(self.shown.believed, suspected)).items():
            if label not in self._liars:
                self._liars.add(label)
                self._on_liar(label, given)
        rest = [pair for pair in pairs if pair in suspected and self.is_believed(pair)]
        self._show(rest[: max(0, self._asking.most - len(usual))])

    def is_believed(self, pair: Pair) -> bool:
        """Whether a resolver gave this address that does not lie."""
        return self._front_ends.seen_by_others(*pair, self._liars)

    def _speaking(self, pairs: list[Pair]) -> dict[Pair, bool]:
        self._show(pairs)
        return {pair: self.shown.speaks(pair) for pair in pairs}

    def _show(self, pairs: Sequence[Pair]) -> None:
        new = [pair for pair in pairs if pair not in self.shown]
        for one in shown_by(new, self._asking.port, self._asking.ca_bundle):
            self.shown.add(one)
            self._on_shown(one)
