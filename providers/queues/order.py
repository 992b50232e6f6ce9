"""What a user asks of a queue run, and what the service's limits make of the plan before it begins."""

from dataclasses import dataclass, replace

from vmtrace.providers.errors import UsageError
from vmtrace.providers.order import ServiceOrder
from vmtrace.providers.queues import contract
from vmtrace.providers.queues.plan import LARGEST, QueuePlan, Stage
from vmtrace.providers.queues.prices import QueuePriceTable
from vmtrace.providers.queues.two_hosts import Half, Other


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueOrder(ServiceOrder):
    """A run of messages."""

    plan: QueuePlan
    queue: str | None = None
    """None: the run makes one of its own, and removes it."""
    fifo: bool = False
    half: Half | None = None
    """What this host does of a run over two; None: all of it."""
    other: Other | None = None
    """The receiving run, on a host that sends."""
    clock: tuple[str, int] | None = None
    """Where the receiving host is reached by the sending one, so that their clocks can be set against each other."""
    capture_s: float | None = None
    """At most so much of each stage is recorded; None: all of it."""
    prices: QueuePriceTable | None = None


def fitted(plan: QueuePlan, limits: contract.Limits, provider: str) -> QueuePlan:
    """The plan with the service's largest batches and longest poll in it; `UsageError` for what it does not take."""
    return replace(plan, stages=tuple(_fitted(stage, limits, provider) for stage in plan.stages))


def _fitted(stage: Stage, limits: contract.Limits, provider: str) -> Stage:
    size = stage.size_bytes if stage.sends else 1
    if size > limits.message_bytes:
        raise UsageError(
            f"stage {stage.name}: a message of {size:,} bytes is too large: {provider} takes at most "
            f"{limits.message_bytes:,} bytes"
        )
    if stage.visibility_s > limits.longest_visibility_s:
        raise UsageError(f"stage {stage.name}: {provider} hides messages for at most {limits.longest_visibility_s:g} s")
    largest = min(limits.send_batch, limits.message_bytes // size)
    return replace(
        stage,
        send_batch=_batch(stage.send_batch, largest, stage, provider, f"messages of {size:,} bytes"),
        receive_batch=_batch(stage.receive_batch, limits.receive_batch, stage, provider, "messages received"),
        delete_batch=_batch(stage.delete_batch, limits.delete_batch, stage, provider, "messages deleted"),
        wait_s=min(stage.wait_s, limits.longest_wait_s),
    )


def _batch(wanted: int, largest: int, stage: Stage, provider: str, what: str) -> int:
    if wanted > largest:
        raise UsageError(f"stage {stage.name}: {wanted} {what} at once: {provider} takes at most {largest}")
    return largest if wanted == LARGEST else wanted
