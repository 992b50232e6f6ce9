"""Which runs of captures can be analysed one behind the other, and which have to be read as one.

Two runs stand apart if all frames of the first are older than those of the second (or as old, where names put them
first, too), and every frame of the second has a time of its own.

Datagrams whose fragments lie in two captures are not put together by one process either. But where many wait at the end
of a run, they take room from those of the next ones.
"""

from collections.abc import Iterable, Sequence

from vmtrace.corpus.errors import CorpusError
from vmtrace.corpus.splitting import Manifest

_REACH_NS = 2_000_000_000
"""Frames so close to the border may have been put into order across it: a lag of a host is a second at most."""
_FEW_DATAGRAMS = 128
"""A quarter of the room that the engine has for fragments, if all were as long as can be."""


def current(found: Sequence[Manifest]) -> list[Manifest]:
    """Without those that a larger run has taken the place of; in time order.

    Raises `CorpusError` for captures that are in several runs, of which none has all.
    """
    sets = [(one, frozenset(one.names)) for one in found]
    kept = [one for one, names in sets if not any(names < other for _, other in sets)]
    seen: dict[str, Manifest] = {}
    for one in kept:
        for name in one.names:
            if name in seen and seen[name] is not one:
                raise CorpusError(
                    f"{name}: it was split twice, in runs or versions that differ; use another folder, or remove one of"
                    f" {seen[name].name} and {one.name}"
                )
            seen[name] = one
    return in_time_order(kept)


def in_time_order(found: Iterable[Manifest]) -> list[Manifest]:
    """Earliest first. Before all others what has no time: it takes that of the frames before it."""
    return sorted(found, key=lambda one: (one.start_ns if one.start_ns is not None else -(1 << 63), one.names))


def runs_to_join(ordered: Sequence[Manifest], *, lagging: bool = False) -> list[list[Manifest]]:
    """Runs in time order, in lists of those that have to be read as one."""
    joined: list[list[Manifest]] = []
    end_ns: int | None = None
    last_name = ""
    # From here on datagrams of an earlier run may still wait.
    waiting_from: int | None = None
    for one in ordered:
        reach_ns = _REACH_NS if lagging else 0 if last_name < min(one.names, default="") else 1
        apart = bool(joined) and _stands_apart(end_ns, one, reach_ns)
        if joined and waiting_from is not None and one.fragments:
            joined[waiting_from:] = [[run for some in joined[waiting_from:] for run in some]]
            apart = False
        if apart or not joined:
            joined.append([one])
        else:
            joined[-1].append(one)
        if one.open_datagrams > _FEW_DATAGRAMS and waiting_from is None:
            waiting_from = len(joined) - 1
        if waiting_from is not None:
            waiting_from = min(waiting_from, len(joined) - 1)
        last_name = max(last_name, *one.names)
        end_ns = max((time for time in (end_ns, one.end_ns) if time is not None), default=None)
    return joined


def _stands_apart(end_ns: int | None, one: Manifest, reach_ns: int) -> bool:
    if not any(header["packets"] for header in one.header):
        return True
    if one.has_frames_without_time or one.start_ns is None or end_ns is None:
        return False
    return one.start_ns - end_ns >= reach_ns


def checked(found: Sequence[Manifest]) -> list[Manifest]:
    """The runs to analyse, in order. Raises `CorpusError` if some have to be split together first."""
    ordered = current(found)
    if not ordered:
        raise CorpusError("nothing was split here: vmtrace corpus split FILE... --buckets B --to URL comes first")
    if len({one.buckets for one in ordered}) > 1:
        raise CorpusError("the runs here have different numbers of buckets: split them with one --buckets")
    for some in runs_to_join(ordered):
        if len(some) > 1:
            names = " ".join(sorted(name for one in some for name in one.names))
            raise CorpusError(f"these captures overlap and have to be split in one command: {names}")
    return ordered
