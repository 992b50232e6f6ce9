"""`python -m vmtrace.providers.queues.worker SETTINGS ROLE PLACE SLOT [DESCRIPTOR]`: one process of a stage.

It makes its client, reports that it is ready, waits for the beginning, works, and reports its end. Only `crew` starts
it. Exit status: 0 it did what it should; 1 it could not, and reported why.
"""

import socket
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from vmtrace.providers.errors import ErrorKind, ProvidersError, ServiceError
from vmtrace.providers.exchanges import HttpObserver
from vmtrace.providers.queues import registry
from vmtrace.providers.queues.board import Board
from vmtrace.providers.queues.call_log import CallLog
from vmtrace.providers.queues.desk import Desk
from vmtrace.providers.queues.message import Seal
from vmtrace.providers.queues.meter import SharedMeter
from vmtrace.providers.queues.plan import Role
from vmtrace.providers.queues.post import Post, StoppedError, end_by_signal
from vmtrace.providers.queues.receiving import delete_all, drain, receive_all
from vmtrace.providers.queues.sending import send_all
from vmtrace.providers.queues.task import StageTask, task_of_json


def main(words: list[str]) -> int:
    """Run one process; returns its exit status."""
    task = task_of_json(Path(words[0]).read_text(encoding="utf-8"))
    role, place, slot = Role(words[1]), int(words[2]), int(words[3])
    way = socket.socket(fileno=int(words[4])) if len(words) > 4 else None
    post = Post()
    end_by_signal()
    try:
        with ExitStack() as stack:
            desk = _desk(stack, task, role, place, slot, post)
            _work(desk, role, way)
    except StoppedError:
        return 0
    except ServiceError as error:
        post.report("error", kind=str(error.kind), text=str(error), remedy=error.remedy)
        return 1
    except (ProvidersError, OSError, ValueError) as error:
        post.report("error", kind=str(ErrorKind.OTHER), text=str(error), remedy="")
        return 1
    return 0


def _work(desk: Desk, role: Role, way: socket.socket | None) -> None:
    desk.post.report("ready")
    start_ns = desk.post.wait_for_start()
    if start_ns is None:
        return
    desk.begin()
    try:
        if desk.post.sleep_until(start_ns) or role == Role.DELETER:
            _job(role, way)(desk, start_ns)
    except StoppedError:
        pass  # all is logged but the call under way, of which nothing is known
    finally:
        desk.note_memory()
    desk.post.report("done")


def _job(role: Role, way: socket.socket | None) -> Callable[[Desk, int], None]:
    if role == Role.SENDER:
        return send_all
    if role == Role.TAKER:
        return drain
    assert way is not None
    return partial(receive_all if role == Role.RECEIVER else delete_all, way=way)


def _desk(stack: ExitStack, task: StageTask, role: Role, place: int, slot: int, post: Post) -> Desk:
    board = stack.enter_context(Board(task.board_path, task.messages))
    meter = SharedMeter(board, slot, task.limits, task.prices, task.used)
    observer = stack.enter_context(HttpObserver(meter))
    provider = registry.find(task.target.provider)
    service = registry.build(provider, task.target)
    stack.callback(service.close)
    try:
        service.facts()  # a first request pays for name lookup, handshake, and what SDKs load late
    except Exception as error:
        raise provider.error_of(error) from error
    log = stack.enter_context(CallLog(task.log_path(role, place)))
    seal = Seal(task.run, task.key())
    return Desk(task, place, slot, service, provider.error_of, observer, meter, board, log, post, seal)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
