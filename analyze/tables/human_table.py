"""The short answer: a line for each input, a table of connections by size, and what could not be measured.

Built with rich, so that it fits the width it is given: details give way, and where the others do not fit either, each
connection is a card. Everything that comes from a capture goes through `printable`, because names in it may hold
terminal escapes.
"""

import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import PurePath
from textwrap import fill
from typing import TYPE_CHECKING, Any

from vmtrace.analyze.findings.connection_order import NOTABLE, ordered
from vmtrace.analyze.findings.lines import answer_lines
from vmtrace.analyze.tables.table import Cell, Column, Row, Table, of_texts, shown
from vmtrace.analyze.tables.terminal_table import cards, terminal_table
from vmtrace.analyze.words import beyond_tcp
from vmtrace.analyze.words.human_causes import why
from vmtrace.analyze.words.path_rtt import median_of_path_s, path_rtt_min_s
from vmtrace.analyze.words.server_names import cell
from vmtrace.analyze.words.units import ABSENT, count, instant, printable, ratio, seconds, share, si
from vmtrace.analyze.words.verdict import is_on_the_clients_data
from vmtrace.formats.quantities import plural

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from vmtrace.analyze.findings.providers import Provider
    from vmtrace.analyze.trace import Trace

DIRECTIONS = ("client_to_server", "server_to_client")
_COLUMN_GAP = 2
_DETAILS = 2
"""Columns of this rank and above are there where there is room; JSON, CSV and `--connection` have them."""
_INPUTS_SHOWN = 10
_INTERRUPTED = "interrupted: the numbers cover the part that was read"
_LINKS = {"EN10MB": "Ethernet", "RAW": "raw IP", "LINUX_SLL": "Linux cooked", "LINUX_SLL2": "Linux cooked v2"}

_SORTED_BY = {"goodput": "goodput", "time": "time", "rtt": "RTT min", "retrans": "retrans"}
"""The columns that show an order; those of the other orders are always there."""

Record = dict[str, Any]
Cells = dict[Column[Record], list[str]]
"""Columns with their cells."""


def _tls(row: Record) -> str:
    return printable(str(row.get("tls_version") or ABSENT)).removeprefix("TLS ")


def _of(name: str) -> Callable[[Record], Any]:
    return lambda row: row.get(name)


def _main(name: str) -> Callable[[Record], Any]:
    """Of the direction that the verdict is about."""
    return lambda row: row.get(f"{main_direction(row)}_{name}")


def _positive(name: str) -> Callable[[Record], bool]:
    return lambda row: (_main(name)(row) or 0) > 0


def _figure(
    title: str, rank: int, value: Callable[[Record], Any], said: Callable[[Any], str], **more: Any
) -> Column[Record]:
    """A number as it is printed, sorted by itself."""
    return Column(title, lambda row: Cell(said(value(row)), value(row)), rank=rank, **more)


COLUMNS: tuple[Column[Record], ...] = (
    _figure("id", 0, _of("id"), str),
    Column("client", lambda row: printable(row["client"]), left=True),
    Column("", lambda row: "→" if main_direction(row) == DIRECTIONS[0] else "←", rank=1),
    Column("server", lambda row: printable(cell(row["server"], row.get("server_name"))), left=True),
    _figure("bytes", 0, _of("ledger_wire_bytes"), lambda size: si(size, "B")),
    _figure("time", 1, _of("duration_s"), seconds, absent="its packets have no time"),
    _figure(
        "goodput",
        1,
        _main("goodput_bps"),
        lambda rate_bps: si(rate_bps, "bit/s"),
        absent="no data, none of it acknowledged, or all in one flight",
    ),
    Column("why", why, left=True, absent="too little was seen for a verdict"),
    _figure(
        "RTT min",
        1,
        path_rtt_min_s,
        seconds,
        absent="neither its handshake nor data with a clean ACK is in the capture",
    ),
    _figure(
        "median",
        3,
        lambda row: median_of_path_s(row, main_direction(row)),
        seconds,
        absent="the capture is not at the sender of the data, or no ACK gives a clean sample",
    ),
    _figure(
        "retrans",
        2,
        _main("loss_retransmitted_segments"),
        count,
        absent="no data",
        warns=_positive("loss_retransmitted_segments"),
    ),
    _figure(
        "lost",
        4,
        _main("loss_lost_segments_inferred"),
        count,
        absent="no data",
        warns=_positive("loss_lost_segments_inferred"),
    ),
    _figure(
        "win. limit",
        5,
        _main("window_limited_fraction"),
        share,
        absent="no data, or a window whose scale is unknown",
        warns=lambda row: (_main("window_limited_fraction")(row) or 0) > 0.1,
    ),
    _figure(
        "zero win.",
        7,
        _main("window_zero_windows"),
        count,
        absent="the receiver advertised no window",
        warns=_positive("window_zero_windows"),
    ),
    _figure(
        "pauses",
        6,
        _main("spacing_oversize"),
        count,
        absent="fewer than two data packets",
        warns=_positive("spacing_oversize"),
    ),
    Column("TLS", _tls, rank=4, absent="no TLS"),
    Column("close", lambda row: str(row.get("close") or ABSENT), rank=8, warns=lambda row: row.get("close") == "reset"),
)


def main_direction(row: Record) -> str:
    """The direction that the verdict is about."""
    forth, back = (row.get(f"{d}_unique_payload_bytes") or 0 for d in DIRECTIONS)
    return DIRECTIONS[0] if is_on_the_clients_data(forth, back) else DIRECTIONS[1]


def show(trace: "Trace", console: "Console", *, limit: int, sort: str = NOTABLE) -> None:
    """Print the summary."""
    from rich.text import Text

    for line, style in inputs_lines(trace.header()["inputs"], limit):
        console.print(Text(line, style), soft_wrap=True)
    if trace.interrupted:
        console.print(Text(_INTERRUPTED, "bold yellow"), soft_wrap=True)
    total = len(trace)
    console.print()
    for line in answer_lines(trace.findings, trace.header(), total):
        # Wrapped here: Rich leaves the blank at which it wraps.
        console.print(Text(fill(line, console.width, break_on_hyphens=False)), soft_wrap=True)
    dashes: list[str] = []
    if total:
        console.print()
        rows = [trace.named_row(index) for index in ordered(trace, sort, limit)]
        cells = connection_cells(trace, rows, console.width, sort)
        console.print(_drawn(rows, cells, console.width))
        if limit < total:
            text = f"{plural(total - limit, 'more connection')} not shown (--limit {total} shows all)"
            console.print(Text(text, "dim"), soft_wrap=True)
        dashes = list(_dashes(cells))
    for number, line in enumerate(beyond_tcp.lines(trace.header())):
        console.print(Text(line if number else f"\n{line}"), soft_wrap=True)
    for line in (*dashes, *unmeasured(trace)):
        console.print(Text(line, "dim"))


def _dashes(cells: Cells) -> Iterator[str]:
    """What the dashes of the table mean, column by column."""
    meant = [f"{column.title}: {column.absent}" for column, texts in cells.items() if column.absent and ABSENT in texts]
    if meant:
        yield f"{ABSENT} means: {'; '.join(meant)}."


def connection_cells(trace: "Trace", rows: Sequence[Record], width: int, sort: str = NOTABLE) -> Cells:
    """These connections, in the columns that fit; that of the order is always there."""
    by = _SORTED_BY.get(sort)
    columns = [replace(column, rank=0) if column.title == by else column for column in _with_file(trace)]
    read = shown(columns, rows).rows
    cells = {column: [row.texts[place] for row in read] for place, column in enumerate(columns)}
    cells = {one: texts for one, texts in cells.items() if one.rank <= 2 or any(t not in (ABSENT, "0") for t in texts)}
    return fitting(cells, width) or cells


def _with_file(trace: "Trace") -> Sequence[Column[Record]]:
    """All columns; of several captures, with the name of each connection's file."""
    if len(trace.paths) < 2:
        return COLUMNS
    names = [printable(name) for name in short_names(trace.paths)]
    return (COLUMNS[0], Column("file", lambda row: names[row["input"]], left=True), *COLUMNS[1:])


def _drawn(rows: Sequence[Record], cells: Cells, width: int) -> "RenderableType":
    """A row for each connection, or a card where the columns do not fit."""
    made = [Row(texts) for texts in zip(*cells.values(), strict=True)]
    warned = {id(row): record for row, record in zip(made, rows, strict=True)}
    table = Table(tuple(cells), tuple(made))

    def style(row: Row, place: int) -> str:
        return "yellow" if table.columns[place].warns(warned[id(row)]) else ""

    return terminal_table(table, width, style=style) if _width(cells) <= width else cards(_named(table), width)


def _named(table: Table) -> Table:
    """The same with one column that names the connection, for cards: `1 host:50074 → server:443`."""
    name = [place for place, title in enumerate(table.head) if title in ("id", "file", "client", "", "server")]
    rest = [place for place in range(len(table.head)) if place not in name]
    rows = (
        Row((" ".join(row.texts[place] for place in name), *(row.texts[place] for place in rest))) for row in table.rows
    )
    columns: tuple[Column[Any], ...] = (Column("connection", left=True), *(Column(table.head[place]) for place in rest))
    return Table(columns, tuple(rows))


def fitting(cells: Cells, width: int) -> Cells:
    """The columns that must be there, and as many of the others as fit, the most telling first; none where not even
    the former fit."""
    kept = {column: texts for column, texts in cells.items() if column.rank < _DETAILS}
    if _width(kept) > width:
        return {}
    for column in sorted(cells, key=lambda one: one.rank):
        wider = kept | {column: cells[column]}
        if _width(wider) <= width:
            kept = wider
    return {column: texts for column, texts in cells.items() if column in kept}


def _width(cells: Cells) -> int:
    widths = (max((len(t) for t in [column.title, *texts]), default=0) for column, texts in cells.items())
    return sum(width + _COLUMN_GAP for width in widths) - _COLUMN_GAP


def inputs_lines(headers: list[Record], most: int = _INPUTS_SHOWN) -> Iterator[tuple[str, str]]:
    """A line for each input, and its trouble; of more than `most` inputs only for those with trouble."""
    if len(headers) > 1:
        packets, tcp = (sum(header[key] for header in headers) for key in ("packets", "tcp_packets"))
        yield f"{len(headers):,} captures: {packets:,} packets ({tcp:,} TCP)", "bold"
    if len(headers) <= most:
        yield from (line for header in headers for line in input_lines(header))
        return
    troubled = [header for header in headers if header["format"] is None or any(trouble(header))]
    yield from (line for header in troubled[:_INPUTS_SHOWN] for line in input_lines(header))
    if len(troubled) > _INPUTS_SHOWN:
        yield f"and {plural(len(troubled) - _INPUTS_SHOWN, 'more capture')} with trouble (see --json)", "yellow"


def input_lines(header: Record) -> Iterator[tuple[str, str]]:
    """What there is to say of one input, with a style for each line."""
    if header["format"] is None:
        yield f"{printable(header['path'])}: could not be read", "yellow"
        return
    form = header["format"] + (f", {header['compression']}" if header.get("compression") else "")
    links = ", ".join(_LINKS.get(name, printable(str(name))) for name in header["link_types"]) or "no link type"
    text = f"{printable(header['path'])}: {form}, {links}, {plural(header['packets'], 'packet')}"
    text += f" ({header['tcp_packets']:,} TCP)"
    if header.get("start_ns") is not None and header.get("end_ns") is not None:
        text += f", {instant(header['start_ns'])} + {seconds((header['end_ns'] - header['start_ns']) / 1e9)}"
    yield text, "bold"
    undecoded = header.get("undecoded_packets") or {}
    if undecoded:
        reasons = ", ".join(f"{_words(reason)} {number:,}" for reason, number in list(undecoded.items())[:6])
        yield f"  not analysed: {reasons}", ""
    yield from ((f"  {line}", "yellow") for line in trouble(header))


def trouble(header: Record) -> Iterator[str]:
    """Damage of the file and loss in the capture: what makes the numbers less than the whole truth."""
    damage = header.get("damage") or []
    if damage:
        first = damage[0]
        skipped = sum(d["skipped_bytes"] for d in damage)
        where = f"{printable(first['what'])} at byte {first['offset']:,}"
        more = f" (first of {len(damage)} places)" if len(damage) > 1 else ""
        yield f"damage: {where}{more}; {si(skipped, 'B') if skipped else 'nothing'} skipped"
    capture = header.get("capture") or {}
    for name, text in (
        ("dropped_by_kernel", "packets dropped by the capturing kernel"),
        ("dropped_by_interface", "packets dropped by the interface"),
    ):
        if capture.get(name):
            yield f"capture loss: {capture[name]:,} {text}"
    if capture.get("unseen_acked_bytes"):
        yield f"capture loss: {si(capture['unseen_acked_bytes'], 'B')} were acknowledged but are not in the capture"
    if capture.get("one_direction_connections"):
        one_way = plural(capture["one_direction_connections"], "connection")
        yield f"only one direction of {one_way} is in the capture: the other takes another path"
    yield from time_order(header)
    if capture.get("packets_without_time"):
        timeless = capture["packets_without_time"]
        those = "no packet has" if timeless == header["packets"] else f"{plural(timeless, 'packet')} without"
        yield f"{those} a plausible time"
    if capture.get("duplicates"):
        yield f"{plural(capture['duplicates'], 'packet')} captured twice (left out of the analysis)"
    if capture.get("bad_checksums"):
        wrong = plural(capture["bad_checksums"], "packet")
        yield f"{wrong} with a wrong TCP checksum (of those checked): receivers drop them"
    if capture.get("clock_steps"):
        yield f"{plural(capture['clock_steps'], 'step')} of the capture's clock"
    if capture.get("lag_s"):
        what = f"one side was recorded {seconds(capture['lag_s'])} late"
        if capture["lag_removed"]:
            yield f"{what} (taken away)"
        else:
            yield f"{what}: times and retransmissions are wrong; save the capture as a file, which can be read twice"


def time_order(header: Record) -> Iterator[str]:
    """Records out of the order of their times, and capture points whose clocks differ."""
    disorder = header.get("out_of_time_order") or {}
    if disorder.get("records"):
        what = f"{plural(disorder['records'], 'record')} stored out of time order"
        put = "" if disorder["left"] else " (put in order)"
        left = f"; {disorder['left']:,} came too late to be put in order" if disorder["left"] else ""
        yield f"{what}{put}, by up to {seconds(disorder['largest_step_s'])}{left}"
    if disorder.get("appended"):
        yield f"{disorder['appended'] + 1} captures appended in one file, whose times overlap (put in order of time)"
    if disorder.get("appended_left"):
        what = f"{disorder['appended_left'] + 1} captures appended, whose times overlap, are read one behind the other"
        yield f"{what}: connections in several are split; save it as a plain file, or sort it with reordercap"
    capture = header.get("capture") or {}
    if capture.get("clock_offset_s") is not None:
        ahead_s = capture["clock_offset_s"]
        direction = "ahead" if ahead_s > 0 else "behind"
        missed = "; some copies are too far apart to be found" if capture.get("copies_may_be_missed") else ""
        yield f"two capture points, the other one's clock {seconds(abs(ahead_s))} {direction} (left out){missed}"


def unmeasured(trace: "Trace") -> Iterator[str]:
    """What could not be measured, in how many connections, and why."""
    total = len(trace)
    reasons: list[str] = []

    def note(number: int, what: str) -> None:
        if number:
            reasons.append(f"{what} in {'all' if number == total > 1 else f'{number:,}'} of {total:,}")

    trace.load(["handshake_complete", *(f"{d}_{what}" for d in DIRECTIONS for what in ("rtt_samples", "window_scale"))])
    samples = zip(*(trace.values(f"{d}_rtt_samples") for d in DIRECTIONS), strict=True)
    note(sum(1 for complete in trace.values("handshake_complete") if complete is False), "handshake incomplete")
    note(sum(1 for forth, back in samples if not forth and not back), "no clean RTT sample")
    scales = zip(*(trace.values(f"{d}_window_scale") for d in DIRECTIONS), strict=True)
    incomplete = trace.values("handshake_complete")
    unknown = sum(1 for pair, c in zip(scales, incomplete, strict=True) if pair == (None, None) and c is False)
    note(unknown, "window scale unknown (its handshake was not captured)")
    if reasons:
        yield f"Not measured: {'; '.join(reasons)}."


_PROVIDER_NAMES = ("provider", "service", "identified by")
_PROVIDER_HEADS = ("conns", "resumed", "bytes", "application", "overhead", "TLS handshake", "TLS rec", "retrans")
_PROVIDER_TIMES = ("TCP RTT", "TLS time")
_PROVIDER_DASHES = (
    f"{ABSENT} means: service: not known; resumed: no TLS; overhead: no application data;"
    " TCP RTT, TLS time: no complete handshake in the capture."
)


def show_providers(providers: Iterable["Provider"], console: "Console") -> None:
    """Print connections and their cost by service."""
    from rich.text import Text

    rows = [_provider_cells(provider) for provider in providers]
    head = (*_PROVIDER_NAMES, *_PROVIDER_HEADS, *_PROVIDER_TIMES)
    console.print(terminal_table(of_texts("providers", "", head, rows, len(_PROVIDER_NAMES)), console.width))
    if any(ABSENT in cells for cells in rows):
        console.print(Text(_PROVIDER_DASHES, "dim"))


def _provider_cells(provider: "Provider") -> list[str]:
    row, sums = provider.as_record(), provider.overhead
    return [
        provider.name,
        provider.service or ABSENT,
        _identified_by(provider.identified_by),
        count(sums.connections),
        f"{sums.tls_resumed}/{sums.tls_connections}" if sums.tls_connections else ABSENT,
        si(sums.wire_bytes, "B"),
        si(sums.application_bytes, "B"),
        ratio(sums.overhead_ratio),
        *(si(sums.parts[part], "B") for part in ("tls_handshake_bytes", "tls_record_bytes", "retransmitted_bytes")),
        seconds(_float(row["handshake_rtt_s"])),
        seconds(_float(row["tls_handshake_s"])),
    ]


_IDENTIFIED_BY = {"sni": "TLS name", "dns": "DNS", "range": "IP range"}
"""How a service was identified, where the key of the JSON is not a word of the field."""


def _identified_by(counts: dict[str, int]) -> str:
    """What identified most, and how many other ways there were: `TLS name +1`."""
    most = max(counts, key=lambda by: counts[by])
    name = _IDENTIFIED_BY.get(most, most)
    return name if len(counts) == 1 else f"{name} +{len(counts) - 1}"


def summary_text(trace: "Trace", *, limit: int, width: int) -> str:
    """The summary without colour."""
    from rich.console import Console

    out = io.StringIO()
    show(trace, Console(file=out, width=width, no_color=True, highlight=False), limit=limit)
    return out.getvalue()


def summary_html(trace: "Trace", limit: int = 20) -> str:
    """The summary as a notebook shows it."""
    from html import escape

    lines = [line for line, _ in inputs_lines(trace.header()["inputs"])]
    if trace.interrupted:
        lines.append(_INTERRUPTED)
    table = shown(COLUMNS, (trace.named_row(index) for index in trace.largest(limit)))
    head = "".join(f"<th>{escape(title)}</th>" for title in table.head)
    body = "".join(f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in row.texts)}</tr>" for row in table.rows)
    left_out = len(trace) - limit
    more = f"<p>{plural(left_out, 'smaller connection')} not shown</p>" if left_out > 0 else ""
    return f"<p>{'<br>'.join(map(escape, lines))}</p><table><tr>{head}</tr>{body}</table>{more}"


def _words(reason: str) -> str:
    return printable(reason).replace("_", " ")


def _float(value: object) -> float | None:
    return value if isinstance(value, float) else None


def short_names(paths: Sequence[str]) -> list[str]:
    """For each path its last parts: the name alone, or with as many folders as it takes to be the only one."""
    parts = [PurePath(path).parts or (path,) for path in paths]
    lengths = [1] * len(paths)
    for _ in range(max(map(len, parts), default=0)):
        names = ["/".join(one[-length:]) for one, length in zip(parts, lengths, strict=True)]
        counted = Counter(names)
        if max(counted.values(), default=0) <= 1:
            break
        lengths = [length + (counted[name] > 1) for length, name in zip(lengths, names, strict=True)]
    return ["/".join(one[-length:]).removeprefix("//") for one, length in zip(parts, lengths, strict=True)]
