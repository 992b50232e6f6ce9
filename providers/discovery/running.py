"""The course of a discovery run: rounds of questions, then certificates, round trips, routes and reverse names.

Every result is a line of a file as soon as it is there, so that a run can be stopped at any moment and still be
reported on. What a step cannot do (no rights, no tool) is written into `run.json` and the rest goes on.
"""

import asyncio
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from vmtrace.capture.campaign import COMPLETE, FAILED, INTERRUPTED, End, begun, outcome_of
from vmtrace.capture.ending import Ending
from vmtrace.capture.errors import CaptureError
from vmtrace.capture.interfaces import interface_towards
from vmtrace.capture.interruption import Interruption
from vmtrace.capture.settings import ANY, CaptureSettings
from vmtrace.formats.quantities import plural
from vmtrace.formats.schemas import DISCOVERY_RUN
from vmtrace.providers.course import status_of
from vmtrace.providers.discovery import traceroute
from vmtrace.providers.discovery.certificates import Shown
from vmtrace.providers.discovery.display import Display
from vmtrace.providers.discovery.distances import Distances
from vmtrace.providers.discovery.front_ends import FrontEnds, Pair
from vmtrace.providers.discovery.honesty import CertificateAsking, Honesty
from vmtrace.providers.discovery.order import DiscoveryOrder
from vmtrace.providers.discovery.question import Reply
from vmtrace.providers.discovery.resolving import Round, ask_all, questions_for
from vmtrace.providers.recording import Recording, check_capture
from vmtrace.providers.reverse_names import MOST_ADDRESSES, reverse_names
from vmtrace.providers.round_trips import Echo
from vmtrace.providers.run_folder import RunFolder


class DiscoveryFolder(RunFolder):
    """One run's folder, open for writing."""

    schema: ClassVar[str] = DISCOVERY_RUN
    lines: ClassVar[tuple[str, ...]] = ("answers", "certificates", "round_trips", "traces", "reverse_names")


Record = dict[str, Any]
_MOST_INTERFACE_LOOKUPS = 64


@dataclass(frozen=True)
class DiscoveryEnd(End):
    """How a run ended, and the number of front ends it found."""

    found: int = 0


def discover(order: DiscoveryOrder, display: Display) -> DiscoveryEnd:
    """Do what is ordered; raises `ProvidersError` where it cannot begin."""
    ended = threading.Event()
    with ExitStack() as stack:
        shown = f"stopped immediately: what was measured is in {order.out}"
        interruption = stack.enter_context(Ending(shown, ended.set))
        folder = DiscoveryFolder.create(order.out, _first_state(order))
        stack.callback(folder.close)
        stack.callback(display.ended)
        return _Run(order, folder, display, interruption, ended).run()


class _Run:
    def __init__(
        self,
        order: DiscoveryOrder,
        folder: DiscoveryFolder,
        display: Display,
        interruption: Interruption,
        ended: threading.Event,
    ) -> None:
        self._order, self._folder, self._display, self._interruption = order, folder, display, interruption
        self._ended = ended
        self._front_ends = FrontEnds()
        asking = CertificateAsking(order.port, order.ca_bundle, order.most_measured)
        self._honesty = Honesty(self._front_ends, asking, self._on_shown, self._on_liar)
        self._traced: set[tuple[str, str]] = set()
        self._named: set[str] = set()
        self._distances = Distances(order.port, order.spacing, self._ended)
        self._notes: list[str] = []
        self._rounds = 0

    def run(self) -> DiscoveryEnd:
        outcome = outcome_of(self._work, status_of)
        self._ended.set()
        status, error = outcome.status, None if outcome.error is None else str(outcome.error)
        if status == INTERRUPTED:
            error = "stopped before its end: what was measured is kept"
        if status == COMPLETE and not len(self._front_ends):
            status, error = FAILED, _nothing_found(self._folder.state)
        self._folder.end(status, error, None)
        outcome.raise_defect()
        return DiscoveryEnd(status, error, self._folder.state, found=len(self._front_ends))

    def _work(self) -> None:
        with self._interruption.allowed():
            self._all_rounds()

    def _all_rounds(self) -> None:
        repeats, began_s = self._order.repeats, time.monotonic()
        while True:
            self._round()
            next_s = began_s + self._rounds * (repeats.every_s or 0.0)
            if repeats.every_s is None or next_s - began_s > (repeats.for_s or 0.0):
                return
            self._display.step(
                f"round {self._rounds} is over; the next begins in {max(0, next_s - time.monotonic()):.0f} s"
            )
            time.sleep(max(0.0, next_s - time.monotonic()))

    def _round(self) -> None:
        self._rounds += 1
        self._resolve()
        if not len(self._front_ends):
            self._note(rounds=self._rounds)
            return
        self._look_at_certificates()
        addresses = self._believed()
        self._measure(addresses)
        routers = self._trace(addresses)
        self._name(list(dict.fromkeys([*addresses, *routers])))
        self._folder.sync()
        self._note(rounds=self._rounds)

    # The steps of a round.

    def _resolve(self) -> None:
        order = self._order
        names = [one.name for one in order.targets]
        questions = questions_for(names, order.kinds, order.client_subnets)
        total = len(names) * len(order.kinds) * len(order.client_subnets) * len(order.resolvers)
        what = f"{plural(len(names), 'name')} to {plural(len(order.resolvers), 'resolver')}"
        self._display.step(f"round {self._rounds}: {plural(total, 'question')} for {what}")
        done = 0

        def on_reply(reply: Reply) -> None:
            nonlocal done
            done += 1
            self._folder.append("answers", _answer_record(reply, self._rounds))
            self._front_ends.add(reply)
            self._display.progress(f"{done:,} of {total:,} questions, {len(self._front_ends):,} front ends")

        outcome = asyncio.run(ask_all(questions, order.resolvers, order.asking, on_reply))
        self._resolved(outcome)

    def _resolved(self, outcome: Round) -> None:
        given_up = [{"resolver": one.label, "last": str(status)} for one, status in outcome.given_up.items()]
        self._note(
            questions=self._folder.state["questions"] + outcome.asked,
            replied=self._folder.state["replied"] + outcome.replied,
            not_asked=self._folder.state["not_asked"] + outcome.not_asked,
            given_up=given_up,
            addresses_left_out=self._front_ends.left_out,
        )
        self._display.step(
            f"  {outcome.replied:,} of {outcome.asked:,} questions got a reply; {len(self._front_ends):,} front ends"
            + (f"; {len(given_up)} resolvers given up" if given_up else "")
        )

    def _look_at_certificates(self) -> None:
        self._honesty.look()
        trusted, asked = self._honesty.shown.trusted, len(self._honesty.shown)
        self._display.step(f"  {trusted:,} of {asked:,} addresses show a trusted certificate for their name")

    def _on_shown(self, one: Shown) -> None:
        self._folder.append("certificates", {"time_ns": time.time_ns(), **one.as_record()})

    def _on_liar(self, label: str, given: Sequence[Pair]) -> None:
        example = f"{given[0][1]} for {given[0][0]}"
        reason = f"gives addresses that no other gives and that do not speak TLS for the name: {example}"
        aside = [*self._folder.state["set_aside"], {"resolver": label, "reason": reason, "addresses": len(given)}]
        self._note(set_aside=aside)
        self._display.step(f"  resolver {label} set aside: {reason}")

    def _believed(self) -> list[str]:
        """The addresses to measure: those that a resolver gave which does not lie."""
        found = [one.address for one in self._front_ends.all() if self._honesty.is_believed((one.name, one.address))]
        addresses = list(dict.fromkeys(found))
        most = self._order.most_measured
        if len(addresses) > most:
            self._tell(f"{len(addresses) - most:,} of {len(addresses):,} addresses are not measured (--most {most:,})")
        return addresses[:most]

    def _measure(self, addresses: list[str]) -> None:
        targets = list(dict.fromkeys([*addresses, *(one.address for one in self._order.landmarks)]))
        if not targets:
            return
        spacing = self._order.spacing
        self._display.step(f"  {spacing.count} round trips of each kind to {len(targets):,} addresses")
        done = 0

        def on_echo(echo: Echo) -> None:
            nonlocal done
            done += 1
            self._folder.append("round_trips", {"round": self._rounds, **asdict(echo)})
            self._display.progress(f"{done:,} of at most {2 * spacing.count * len(targets):,} round trips")

        recording = self._recording(targets)
        if recording is not None:
            recording.start()
        try:
            self._distances.measure(targets, on_echo)
        finally:
            if recording is not None:
                captures = [*self._folder.state["captures"], recording.stop().capture]
                self._note(captures=captures)
        if self._distances.icmp_refused is not None:
            self._tell(f"no ICMP: {self._distances.icmp_refused}: round trips are those of TCP handshakes alone")

    def _recording(self, targets: Sequence[str]) -> Recording | None:
        """None where packets cannot be recorded; then the program's clock is all there is, and that is noted."""
        if not self._order.capture:
            return None
        try:
            interface = self._order.interface or _interface_for(targets)
            # The handshakes and the echoes, and no more of anybody's packets.
            chosen = f"(tcp port {self._order.port} and tcp[tcpflags] & (tcp-syn|tcp-fin|tcp-rst|tcp-ack) != 0) or icmp"
            settings = CaptureSettings(interface, f"({chosen}) or (ip6 and tcp port {self._order.port}) or icmp6", 128)
            check_capture(settings)
        except CaptureError as error:
            self._tell(f"no packets recorded: {error}: round trips are by this program's clock")
            return None
        return Recording(None, settings, self._folder.capture_path(self._rounds))

    def _trace(self, addresses: Sequence[str]) -> list[str]:
        """New addresses, by each method; returns the routers on the way."""
        routers: list[str] = []
        if not self._order.traceroute:
            return routers
        for method in traceroute.METHODS:
            new = [address for address in addresses if (address, method) not in self._traced]
            if not new:
                continue
            self._display.step(f"  traceroute by {method} to {len(new):,} addresses")
            try:
                found = traceroute.traces(new, method, self._order.port, self._ended)
            except traceroute.TracerouteError as error:
                self._tell(str(error))
                continue
            self._traced |= {(address, method) for address in new}
            for trace in found:
                self._folder.append("traces", {"time_ns": time.time_ns(), "round": self._rounds, **trace.as_record()})
                routers += [hop.address for hop in trace.hops]
        return list(dict.fromkeys(routers))

    def _name(self, addresses: Sequence[str]) -> None:
        new = [address for address in addresses if address not in self._named]
        self._display.step(f"  reverse names of {len(new):,} addresses")
        for start in range(0, len(new), MOST_ADDRESSES):
            part = new[start : start + MOST_ADDRESSES]
            for address, name in reverse_names(part).items():
                self._named.add(address)
                self._folder.append("reverse_names", {"address": address, "name": name})

    def _tell(self, text: str) -> None:
        if text not in self._notes:
            self._notes.append(text)
            self._note(notes=list(self._notes))
            self._display.step(f"  {text}")

    def _note(self, **values: Any) -> None:
        self._folder.note(**values)


def _first_state(order: DiscoveryOrder) -> Record:
    return {
        **begun(None, order.out, order.vantage, order.command, time.time_ns()),
        "vantage": order.vantage,
        "position": None if order.position is None else asdict(order.position),
        "names": [one.as_record() for one in order.targets],
        "resolvers": [one.as_record() for one in order.resolvers],
        "landmarks": [asdict(one) for one in order.landmarks],
        "kinds": list(order.kinds),
        "client_subnets": [one for one in order.client_subnets if one is not None],
        "asking": asdict(order.asking),
        "spacing": asdict(order.spacing),
        "port": order.port,
        "rounds": 0,
        "questions": 0,
        "replied": 0,
        "not_asked": 0,
        "given_up": [],
        "set_aside": [],
        "addresses_left_out": 0,
        "captures": [],
        "notes": [],
    }


def _answer_record(reply: Reply, number: int) -> Record:
    return {
        "time_ns": reply.time_ns,
        "round": number,
        "name": reply.question.name,
        "kind": reply.question.kind,
        "client_subnet": reply.question.client_subnet,
        "resolver": reply.resolver.label,
        "status": str(reply.status),
        "addresses": list(reply.addresses),
        "aliases": list(reply.aliases),
        "ttl_s": reply.ttl_s,
        "rtt_s": reply.rtt_s,
        "over_tcp": reply.over_tcp,
        "attempts": reply.attempts,
    }


def _interface_for(addresses: Iterable[str]) -> str:
    """The one towards all of these, or `any`; raises `CaptureError` where there is a route to none."""
    found: set[str] = set()
    trouble: CaptureError | None = None
    for address in list(addresses)[:_MOST_INTERFACE_LOOKUPS]:
        try:
            found.add(interface_towards(address))
        except CaptureError as error:
            trouble = error
    if not found and trouble is not None:
        raise trouble
    return found.pop() if len(found) == 1 else ANY


def _nothing_found(state: Record) -> str:
    if not state["replied"]:
        return "no resolver replied: check the network, or give other resolvers with --resolvers FILE"
    return "no name has an address: check the names (answers.jsonl has each reply)"
