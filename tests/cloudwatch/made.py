"""What tests of this room work on: run folders, and two servers to ask. conftest has the fixtures that start them."""

import csv
import json
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

INSTANCE = "i-0123456789abcdef0"
REGION = "eu-west-1"
NS = 10**9
ACCESS_KEY, SECRET_KEY, TOKEN = (
    "AKIAEXAMPLEEXAMPLE00",
    "wJalrXUtnFEMI+K7MDENG/bPxRfiCYEXAMPLEKEY",
    "IQoJb3JpZ2luX2VjTOKEN==",
)
START_S = int(time.time()) // 300 * 300 - 7200
"""When runs begin, unless told otherwise: two hours ago, so that nothing is open."""

Command = Callable[..., int]
Answer = tuple[int, Any]


class RunMaker:
    """A run folder, made file by file."""

    def __init__(self, folder: Path, start_s: int = START_S, length_s: int = 1800) -> None:
        self.folder = folder
        self.start_ns, self.end_ns = start_s * NS, (start_s + length_s) * NS
        folder.mkdir(mode=0o700)
        self.state: dict[str, Any] = {
            "schema": "vmtrace.run/1",
            "name": "run1",
            "status": "complete",
            "start_ns": self.start_ns,
            "end_ns": self.end_ns,
            "sender": {"host": "vm"},
            "receiver": {"host": "native"},
        }
        self.save()

    def save(self) -> None:
        (self.folder / "run.json").write_text(json.dumps(self.state))

    def facts(
        self, side: str = "sender", instance_id: str | None = INSTANCE, region: str | None = REGION
    ) -> "RunMaker":
        (self.folder / "host").mkdir(exist_ok=True)
        instance = {"provider": "aws", "instance_id": instance_id, "region": region}
        facts = {"schema": "vmtrace.host_facts/1", "system": {"host": "ip-10-0-0-1"}, "instance": instance}
        (self.folder / f"host/{side}.facts.json").write_text(json.dumps(facts))
        return self

    def pair(self, sequence: int, start_s: float = 0.0, **more: Any) -> None:
        """Append a complete pair that begins so long after the run."""
        start_ns = self.start_ns + int(start_s * NS)

        def transfer(offset_s: float, goodput_bps: float) -> dict[str, Any]:
            begin_ns = start_ns + int(offset_s * NS)
            kernel = {"retransmitted_segments": 2, "segments_out": 100, "min_rtt_s": 0.02}
            return {"start_ns": begin_ns, "end_ns": begin_ns + NS, "goodput_bps": goodput_bps, "tcp": kernel}

        line = {
            "sequence": sequence,
            "index": "I_0",
            "status": "complete",
            "start_ns": start_ns,
            "end_ns": start_ns + 10 * NS,
            "rtt": {"mean_s": 0.021},
            "probe": transfer(0, 1e6),
            "data": transfer(5, 2e6),
        }
        with (self.folder / "pairs.jsonl").open("a") as file:
            file.write(json.dumps(line | more) + "\n")


@dataclass
class Moto:
    """moto's server, with boto3 clients to fill it."""

    url: str

    def client(self) -> Any:
        import boto3

        return boto3.client("cloudwatch", region_name=REGION, endpoint_url=self.url)

    def reset(self) -> None:
        """Forget everything."""
        request = urllib.request.Request(f"{self.url}/moto-api/reset", method="POST")
        urllib.request.urlopen(request, timeout=10).close()

    def put(
        self,
        metric: str,
        values: list[float],
        start_ns: int,
        *,
        step_s: int = 60,
        namespace: str = "AWS/EC2",
        **dimensions: str,
    ) -> None:
        """A value for each period from the start on."""
        named = [{"Name": name, "Value": value} for name, value in ({"InstanceId": INSTANCE} | dimensions).items()]
        data = [
            {"MetricName": metric, "Dimensions": named, "Timestamp": start_ns / 1e9 + step_s * place, "Value": value}
            for place, value in enumerate(values)
        ]
        for first in range(0, len(data), 500):
            self.client().put_metric_data(Namespace=namespace, MetricData=data[first : first + 500])


@dataclass
class Scripted:
    """A server that answers what it is told to, and keeps what it was asked."""

    url: str = ""
    answers: list[Answer] = field(default_factory=list)
    """Status and body of each answer; the last is given for ever. Bodies that are no bytes are sent as JSON."""
    decide: Callable[[str, dict[str, Any]], Answer] | None = None
    """Instead of `answers`: operation and request to an answer."""
    headers: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    raw: list[str] = field(default_factory=list)
    """All that came in, headers included."""

    def answer(self, operation: str, request: dict[str, Any]) -> Answer:
        self.asked.append((operation, request))
        if self.decide is not None:
            return self.decide(operation, request)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def error(code: str, message: str = "no", status: int = 400) -> Answer:
    """An error as the JSON protocol has it."""
    return status, {"__type": code, "message": message}


def rows(folder: Path) -> list[dict[str, str]]:
    """The rows of a run's table."""
    lines = (folder / "cloudwatch.csv").read_text().splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def result(id_: str, points: dict[int, float], status: str = "Complete", **more: Any) -> dict[str, Any]:
    """A result of GetMetricData; times in seconds."""
    return {"Id": id_, "Timestamps": list(points), "Values": list(points.values()), "StatusCode": status} | more
