"""What a process of a stage is given: a file of settings that all of a stage share, and its own role, place and slot.

The file holds no credentials: those are the SDK's own business, in the environment. The key that signs messages lies in
a file of its own, which only the owner can read.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vmtrace.providers.budget import Limits
from vmtrace.providers.queues.plan import Kind, Role, Stage
from vmtrace.providers.queues.prices import QueuePrices, Usage
from vmtrace.providers.service import Target

KEY_FILE = "key"


@dataclass(frozen=True, slots=True)
class StageTask:
    """A stage as its processes need it; batches are the service's by now."""

    folder: Path
    run: str
    target: Target
    stage: Stage
    number: int
    """Of the stage in the run, from 1."""
    session: int
    """How often the run was begun or resumed, from 1."""
    first_message: int
    """Number of the first message that may be met in this stage."""
    messages: int
    """How many may be met."""
    first_batch: tuple[int, ...]
    """Of each sender, the batch that it begins with: 0 unless the run is resumed."""
    limits: Limits
    prices: QueuePrices | None
    used: Usage

    @property
    def board_path(self) -> Path:
        """Of the board of this stage and session."""
        return self.folder / "boards" / f"{self.number:03d}-{self.session}.bin"

    def log_path(self, role: Role, place: int) -> Path:
        """Of a process."""
        return self.folder / "logs" / f"{self.number:03d}-{self.session}-{role}-{place}.jsonl"

    def key(self) -> bytes:
        """What signs the messages."""
        return bytes.fromhex((self.folder / KEY_FILE).read_text().strip())

    def as_json(self) -> str:
        """For the file of settings."""
        record = asdict(self)
        record["folder"] = str(self.folder.resolve())
        bundle = self.target.ca_bundle
        record["target"] = {**record["target"], "ca_bundle": None if bundle is None else str(bundle.resolve())}
        return json.dumps(record)


def task_of_json(text: str) -> StageTask:
    """The settings that `as_json` wrote."""
    record: dict[str, Any] = json.loads(text)
    target, stage, prices = record["target"], record["stage"], record["prices"]
    if target["ca_bundle"] is not None:
        target["ca_bundle"] = Path(target["ca_bundle"])
    return StageTask(
        **{
            **record,
            "folder": Path(record["folder"]),
            "target": Target(**target),
            "stage": Stage(**{**stage, "kind": Kind(stage["kind"])}),
            "first_batch": tuple(record["first_batch"]),
            "limits": Limits(**record["limits"]),
            "prices": None if prices is None else QueuePrices(**prices),
            "used": Usage(**record["used"]),
        }
    )
