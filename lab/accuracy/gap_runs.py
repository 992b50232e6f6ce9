"""Transfers whose pauses are known: one end is a guest kernel that gets stopped, or the path holds or loses all.

Each leaves captures at the sender, at the receiver and in the middle of the path, and what stood still when.
"""

from __future__ import annotations

import csv
import io
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from vmtrace.lab import cpu_quota, fate_log, namespaces, scenario, timing
from vmtrace.lab.accuracy import middle
from vmtrace.lab.accuracy.gap_truth import HOSTS, Event, Truth
from vmtrace.lab.accuracy.gap_unplanned import Passage, unplanned, waits
from vmtrace.lab.capture_run import capturing
from vmtrace.lab.description import Scenario
from vmtrace.lab.emulator import EmulatorSettings
from vmtrace.lab.fate_log import PacketFate
from vmtrace.lab.guest import kernel
from vmtrace.lab.hosts import (
    ADDRESSES,
    PREFIX_LENGTH,
    ROUTERS,
    EmulatedPath,
    HostSettings,
    Topology,
    joined_hosts,
    module_environment,
)
from vmtrace.lab.impairments import Impairments
from vmtrace.lab.pcap_file import read_packets
from vmtrace.lab.stalls import GuestKernelHost, Stalling, Stalls, read, write_log
from vmtrace.lab.transfer import PORT, Kind, NotDoneError, Transfer

_NS = 1_000_000_000
_OUTSIDE = bytes((198, 18, 2, 1))
_ENDS = ("sender", "receiver")
QUOTA = "quota.json"


@dataclass(frozen=True, slots=True)
class Made:
    """A transfer with its captures (`sender`, `receiver` of the data, `middle`), and what stood still."""

    name: str
    captures: dict[str, Path]
    data_sender: str
    """Address whose data is meant."""
    events: list[Event]
    otherwise: Truth = Truth.NOTHING


@dataclass(frozen=True, slots=True)
class StalledGuest:
    """A transfer of one end in a guest kernel that is stopped now and then."""

    name: str
    forward: Impairments
    reverse: Impairments
    stalls: Stalls
    seed: int
    seconds: float = 8.0
    guest_receives: bool = False
    payload_bytes: int = 1 << 40
    """The transfer ends earlier once so much was sent."""
    quota_share: float | None = None
    """It is not stopped by a plan but may use so much of a processor in each period, which it always wants more of."""
    period_s: float = cpu_quota.PERIOD_S


def run_stalled_guest(wanted: StalledGuest, folder: Path) -> Made:
    """Carries it out. The guest has the place of the host `sender`; with `guest_receives` the data flows to it."""
    namespaces.require()
    folder = folder.absolute()  # The guest's working folder is another.
    folder.mkdir(parents=True, exist_ok=True)
    # `forward` is the way of the data; the emulator's leads away from the guest.
    ways = (wanted.reverse, wanted.forward) if wanted.guest_receives else (wanted.forward, wanted.reverse)
    emulator = EmulatorSettings(*ways, wanted.seed)
    settings = {"sender": HostSettings(), "receiver": HostSettings()}
    transfer = Transfer(
        Kind.DOWNLOAD if wanted.guest_receives else Kind.UPLOAD,
        payload_bytes=wanted.payload_bytes,
        seconds=wanted.seconds,
    )
    with joined_hosts(Topology.GUEST, 4, 1500, settings, emulator, folder) as path:
        outside = path.hosts["receiver"]
        captured = {"outside": (outside.namespace, outside.device, folder / "outside.pcap")}
        with capturing(captured, 128) as captures, _server(path, transfer, folder):
            _guest_transfers(path, transfer, wanted, folder)
            health = {name: capture.stop() for name, capture in captures.items()}
        path.finish()
    if not all(each.whole for each in health.values()):
        raise RuntimeError(f"{wanted.name}: the capture outside lost packets")
    inside, outside_pcap = folder / "guest.pcap", folder / "outside.pcap"
    truth = Truth.RECEIVER_HOST if wanted.guest_receives else Truth.SENDER_HOST
    events = [
        Event(stall.start_ns, stall.start_ns + round(stall.duration_s * _NS), truth)
        for stall in read(folder / "stalls.csv")
    ]
    at = (outside_pcap, inside) if wanted.guest_receives else (inside, outside_pcap)
    sender = ADDRESSES[4]["receiver" if wanted.guest_receives else "sender"]
    # The host outside never stands still: a tap on the path sees what it sees, a part of the way earlier or later.
    shift_s = _tap_s(wanted.seed, wanted.forward) * (1 if wanted.guest_receives else -1)
    tap = _tap(folder, outside_pcap, sender, shift_s)
    return Made(wanted.name, {"sender": at[0], "receiver": at[1], "middle": tap}, sender, events)


def _tap_s(seed: int, way: Impairments) -> float:
    """How far from its edge the path is tapped: a third to two thirds of the way."""
    return random.Random(f"{seed}/tap").uniform(1 / 3, 2 / 3) * way.delay_s


def _tap(folder: Path, edge: Path, data_sender: str, shift_s: float) -> Path:
    tap = folder / "tap.pcap"
    tap.write_bytes(middle.tapped(edge, data_sender, shift_s))
    return tap


def _document(path: EmulatedPath, transfer: Transfer, end: str, role: str, folder: Path) -> Path:
    document = {"end": end, "address": path.hosts["receiver"].address, "port": PORT, "transfer": asdict(transfer)}
    document["congestion_control"] = "cubic"
    document["tcp_info"], document["result"] = str(folder / f"tcp_info.{role}.csv"), str(folder / f"{end}.json")
    settings = folder / f"{end}.settings.json"
    settings.write_text(json.dumps(document))
    return settings


@contextmanager
def _server(path: EmulatedPath, transfer: Transfer, folder: Path) -> Iterator[None]:
    host = path.hosts["receiver"]
    settings = _document(path, transfer, "server", "receiver", folder)
    command = [*namespaces.exec_prefix(host.namespace), sys.executable, "-m", "vmtrace.lab.endpoint", str(settings)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=module_environment())
    try:
        if process.stdout is None or process.stdout.readline().strip() != "ready":
            raise RuntimeError("the server of the transfer did not start")
        yield
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _guest_transfers(path: EmulatedPath, transfer: Transfer, wanted: StalledGuest, folder: Path) -> None:
    host = path.hosts["sender"]
    settings = _document(path, transfer, "client", "sender", folder)
    capture = f"tcpdump -i eth0 -w {folder}/guest.pcap -s 128 -B 16384 -n -p -Z root --time-stamp-precision=nano tcp"
    # The kernel keeps a block of packets for up to a second until tcpdump gets it.
    script = (
        f"{capture} & sleep 1.5; {sys.executable} -m vmtrace.lab.endpoint {settings}; sleep 1.5; kill -INT $!; wait $!"
    )
    if wanted.quota_share is not None:
        script = f"nice sh -c 'while :; do :; done' & busy=$!; sleep 0.1; {script}; kill $busy"
    guest_settings = kernel.GuestSettings(
        address=host.address,
        router=ROUTERS[4]["sender"],
        prefix_length=PREFIX_LENGTH[4],
        mtu=1500,
        sysctls=HostSettings().as_sysctls(),
        segmentation_offload=True,
        receive_offload=True,
        writable=(folder,),
        program=("sh", "-c", script),
        environment={**module_environment(), "PATH": os.environ.get("PATH", os.defpath)},
        terminal_size=None,
    )
    with kernel.running(guest_settings, host.namespace, io.BytesIO(), folder / "guest.log") as guest:
        time.sleep(3.0)  # tcpdump and the endpoint are up, slow start is over
        with _stopped(wanted, guest.process_id, folder / "stalls.csv"):
            guest.wait(wanted.seconds + 60)


@contextmanager
def _stopped(wanted: StalledGuest, guest: int, log: Path) -> Iterator[None]:
    """Lets a guest's kernel stand still now and then, by plan or by a quota."""
    if wanted.quota_share is not None:
        with cpu_quota.of_running(wanted.name, guest, wanted.quota_share, period_s=wanted.period_s) as group:
            yield
            stops, stopped_s = cpu_quota.throttled(group)
        log.with_name(QUOTA).write_text(json.dumps({"stops": stops, "stopped_s": stopped_s}))
        write_log(log, [])
        return
    stalling = Stalling(wanted.stalls, wanted.seed, GuestKernelHost(guest), log)
    stalling.start()
    try:
        yield
    finally:
        stalling.finish()


def throttled_s(folder: Path) -> float:
    """For how long the quota of a guest stopped it, by the kernel's account, seconds; 0 without one."""
    account = folder / QUOTA
    return float(json.loads(account.read_text())["stopped_s"]) if account.exists() else 0.0


def run_sound_stalled_guest(wanted: StalledGuest, folder: Path, attempts: int = 3) -> Made | None:
    """The same, repeated where the machine was too busy: the emulator itself stood still, or the guest's tcpdump ended
    before it had written all. None if it always was."""
    longest_way_ns = round(max(wanted.forward.delay_s, wanted.reverse.delay_s) * _NS)
    for _ in range(attempts):
        made = run_stalled_guest(wanted, folder)
        if longest_standstill_ns(folder) <= LONGEST_STANDSTILL_NS and end_together(made, longest_way_ns):
            return made
    return None


_LAST_PACKETS_APART_NS = 50_000_000
"""By so much more than their way takes the last packets may be apart: an acknowledgement is delayed for up to 40 ms."""


def end_together(made: Made, longest_way_ns: int) -> bool:
    """The captures of both ends end with the same packets, as far as one can tell by the time."""
    ends = [max((packet.time_ns for packet in read_packets(made.captures[place])), default=0) for place in _ENDS]
    return max(ends) - min(ends) <= longest_way_ns + _LAST_PACKETS_APART_NS


LONGEST_STANDSTILL_NS = 12_000_000
"""A path that stands still for longer would look like a stall of a guest."""


def longest_standstill_ns(folder: Path) -> int:
    """For how long at most the emulator of a guest's transfer stood still."""
    standstills = timing.Standstills([])
    for fate in emulated(folder):
        standstills.add(fate)
    return max((each.end_ns - each.start_ns for each in standstills.merged()), default=0)


def emulated(folder: Path) -> list[PacketFate]:
    """What the emulator of a guest's transfer did with each packet."""
    report = json.loads((folder / "emulator.json").read_text())
    return fate_log.read_binary(folder / "fates.bin", report["unix_offset_ns"])


def unplanned_stalls(made: Made, folder: Path) -> list[Event]:
    """Stalls of the guest that were not ordered, by what waited at its door."""
    planned = [event for event in made.events if event.truth in HOSTS]
    if not planned or not (folder / "guest.pcap").exists():
        return []
    fates = sorted(
        (fate for fate in emulated(folder) if fate.direction == "reverse" and not fate.lost),
        key=lambda fate: fate.time_out_ns,
    )
    delivered = [Passage(fate.seq, fate.payload_bytes, fate.time_out_ns) for fate in fates]
    taken_in = [
        Passage(packet.seq, packet.payload_bytes, packet.time_ns)
        for packet in read_packets(folder / "guest.pcap")
        if packet.source == _OUTSIDE
    ]
    return unplanned(waits(delivered, taken_in), planned, planned[0].truth)


def no_false_stall(done: scenario.Run) -> bool:
    """Good enough to be a transfer without a stall: what the machine did to its times looks like none."""
    return done.agreed and done.longest_standstill_s * _NS <= LONGEST_STANDSTILL_NS


def run_path(
    description: Scenario,
    folder: Path,
    otherwise: Truth = Truth.NOTHING,
    good_enough: Callable[[scenario.Run], bool] = attrgetter("good"),
) -> Made | None:
    """A scenario with holds in its path; None if the machine was too busy to rely on it, or the path is so bad that the
    transfer takes minutes."""
    try:
        done = scenario.run(description, folder, attempts=5, good_enough=good_enough)
    except NotDoneError as error:
        print(f"{description.name}: {error}", file=sys.stderr, flush=True)
        return None
    if not good_enough(done):
        return None
    first_ns = min(row.time_in_ns for row in done.fates())
    events = [
        Event(
            first_ns + round(hold.start_s * _NS),
            first_ns + round((hold.start_s + hold.duration_s) * _NS) + round(_round_trip_ns(description)),
            Truth.LOSSES if hold.drop else Truth.PATH,
        )
        for hold in {*description.forward.holds, *description.reverse.holds}
    ]
    sender = ADDRESSES[description.ip_version]["sender"]
    tap_s = _tap_s(description.seed, description.forward)
    # With offload the receiver's capture has joined packets, which no tap sees: there the path's entry is moved on.
    offload = description.topology is Topology.OFFLOAD
    edge, shift_s = (done.middle_pcap, tap_s) if offload else (done.receiver_pcap, -tap_s)
    captures = {"sender": done.sender_pcap, "receiver": done.receiver_pcap}
    captures["middle"] = _tap(folder, edge, sender, shift_s)
    return Made(description.name, captures, sender, sorted(events, key=lambda event: event.start_ns), otherwise)


def _round_trip_ns(description: Scenario) -> float:
    """What a hold delays shows up to a round trip after its end."""
    return (description.forward.delay_s + description.reverse.delay_s) * _NS


def save(made: Made, folder: Path) -> None:
    """Keep the truth beside the captures; those in the folder by their names alone, so that it can be moved."""
    with (folder / "events.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("start_ns", "end_ns", "truth"))
        writer.writerows((event.start_ns, event.end_ns, str(event.truth)) for event in made.events)
    facts = {"name": made.name, "data_sender": made.data_sender, "otherwise": str(made.otherwise)}
    facts |= {place: _name_in(folder, path) for place, path in made.captures.items()}
    (folder / "made.json").write_text(json.dumps(facts))


def is_there(run: Callable[[Path], Made | None], folder: Path, *, no_runs: bool) -> bool:
    """Whether the transfer is in its folder; a missing one is made now, if it may be and can be relied on."""
    kept = folder / "made.json"
    if not kept.exists() and not no_runs and (made := run(folder)) is not None:
        save(made, folder)
    return kept.exists()


def _name_in(folder: Path, path: Path) -> str:
    whole, within = path.absolute(), folder.absolute()
    return str(whole.relative_to(within) if whole.is_relative_to(within) else whole)


class Runner(NamedTuple):
    """A transfer that has nothing but a name, and how to run it."""

    name: str
    run: Callable[[Path], Made | None]


class Wanted(Protocol):
    """A transfer that is to be made."""

    @property
    def name(self) -> str:
        """As its folder is called."""

    @property
    def run(self) -> Callable[[Path], Made | None]:
        """Makes it in a folder."""


_Wanted = TypeVar("_Wanted", bound=Wanted)


def each_made(
    wanted: Iterable[_Wanted], out: Path, seed: int, refused: list[str], *, no_runs: bool
) -> Iterator[tuple[_Wanted, Made]]:
    """Makes the transfers that are missing; what cannot be relied on goes to `refused`, with the reason."""
    for one in wanted:
        folder = out / f"{one.name}-seed{seed}"
        if is_there(one.run, folder, no_runs=no_runs):
            yield one, load(folder)
        else:
            refused.append(f"{one.name} ({'not made' if no_runs else 'no run to rely on'})")
            print(refused[-1], flush=True)


def load(folder: Path) -> Made:
    """What `save` kept."""
    facts = json.loads((folder / "made.json").read_text())
    with (folder / "events.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    events = [Event(int(row["start_ns"]), int(row["end_ns"]), Truth(row["truth"])) for row in rows]
    captures = {place: folder / facts[place] for place in ("sender", "receiver", "middle") if place in facts}
    return Made(facts["name"], captures, facts["data_sender"], events, Truth(facts["otherwise"]))
