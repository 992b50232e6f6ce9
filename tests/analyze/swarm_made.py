"""Swarm runs made in the open: folders with captures of connections to a store and to seeds."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scapy.packet import Packet
from scapy.utils import wrpcap

from tests.analyze.storage_made import START_NS, talk
from vmtrace.analyze.reports.swarm.measured import measure_run
from vmtrace.analyze.reports.swarm.run_folder import read_swarm_run
from vmtrace.analyze.reports.swarm.tables import Report

STORE, SEEDS = ("192.0.2.1", 80), (("198.18.0.1", 6881), ("198.18.0.2", 6881))
RESPONSE_BYTES = 1000


def answers(size_bytes: int) -> list[tuple[int, int]]:
    """Requests of 100 bytes that are answered with 1,000 each, until so much came."""
    return [(100, RESPONSE_BYTES)] * (size_bytes // RESPONSE_BYTES)


def shown(peer: tuple[str, int]) -> str:
    return f"{peer[0]}:{peer[1]}"


class MadeSwarm:
    """A run folder being written, as docs/swarm.md describes it."""

    def __init__(self, folder: Path, **given: Any) -> None:
        self.folder, self._number = folder, 0
        (folder / "packets").mkdir(parents=True)
        record = {
            "schema": "vmtrace.swarm_run/1", "name": folder.name, "status": "complete", "error": None,
            "client": {"name": "libtorrent", "version": "2.1.1.0"}, "start_ns": START_NS, "trackers": [],
            "torrent": {"name": "data.bin", "size_bytes": 20_000, "piece_bytes": 16_384, "pieces": 2},
            "web_seed": "http://192.0.2.1/data.bin", "downloads_planned": 1, "interface": "eth0",
        } | given  # fmt: skip
        (folder / "run.json").write_text(json.dumps(record))

    def download(
        self, store_bytes: int | None, *seeds_bytes: int, client_bytes: Sequence[int] | None = None, **given: Any
    ) -> None:
        """A download of so much from the store (None: there is none) and from each seed, 50 blocks a second."""
        self._number += 1
        sources = [("web_seed", STORE, store_bytes)] if store_bytes is not None else []
        sources += [("seed", peer, size) for peer, size in zip(SEEDS, seeds_bytes, strict=False)]
        packets: list[Packet] = []
        for place, (_, peer, size) in enumerate(sources):
            packets += talk(40_000 + place, 0, answers(size or 0), peer)
        wrpcap(str(self.folder / f"packets/{self._number:04}.pcap"), sorted(packets, key=lambda packet: packet.time))
        counted = [size for _, _, size in sources] if client_bytes is None else list(client_bytes)
        record = {
            "number": self._number, "purpose": "swarm", "web_seed": "none" if store_bytes is None else "public",
            "seeds": len(seeds_bytes), "repeat": 1, "status": "finished", "error": None, "digest_ok": True,
            "start_ns": START_NS, "duration_s": 0.5, "payload_bytes": sum(filter(None, counted)),
            "redundant_bytes": 0, "failed_bytes": 0, "hash_failures": 0, "unattributed_bytes": 0,
            "sources": [
                {"kind": kind, "address": shown(peer), "bytes": size, "connections": 1, "errors": {}, "banned": False}
                for (kind, peer, _), size in zip(sources, counted, strict=True)
            ],
            "capture": {"file": f"packets/{self._number:04}.pcap", "dropped": 0, "written": len(packets)},
        } | given  # fmt: skip
        with (self.folder / "downloads.jsonl").open("a") as file:
            file.write(json.dumps(record) + "\n")

    def report(self, prices: Any = None) -> Report:
        return Report(measure_run(read_swarm_run(self.folder)), prices)
