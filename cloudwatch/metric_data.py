"""GetMetricData until all is here: batches, pages, and again what came in part.

PartialData means that more is to be had with the page's token; where there is none, what is missing is asked for from
the last point on. InternalError is asked for again. A server that never ends is left.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from vmtrace.cloudwatch.answers import UNFINISHED, Query, samples_of
from vmtrace.cloudwatch.backoff import Backoff
from vmtrace.cloudwatch.discovery import Ask
from vmtrace.cloudwatch.periods import NS, Range
from vmtrace.cloudwatch.queries import MOST_POINTS, batches
from vmtrace.cloudwatch.records import Record, moment, one_line, records, text

_MOST_PAGES = 1000
_MOST_BARREN_PAGES = 50
"""Pages in a row without a new point."""
_MOST_ROUNDS = 6


@dataclass
class Fetch:
    """Asks for a range of time; what is answered is kept by whoever `ask` belongs to."""

    ask: Ask
    span: Range
    backoff: Backoff = field(default_factory=Backoff)
    tell: Callable[[str], object] = lambda _: None
    problems: list[str] = field(default_factory=list)
    """What could not be had, a line each."""
    points: int = 0
    """Points so far."""

    def run(self, queries: Sequence[Query]) -> None:
        """Ask all queries."""
        done = 0
        for batch in batches(queries, self.span.length_s):
            self._complete(batch)
            done += len(batch)
            self.tell(f"{done} of {len(queries)} statistics, {self.points:,} points")

    def _complete(self, batch: Sequence[Query]) -> None:
        """Ask a batch, then what came in part."""
        state = _State(batch, self.span)
        self._pages(batch, self.span, state)
        for round_ in range(1, _MOST_ROUNDS):
            missing = [query for query in batch if state.status.get(query.id) in UNFINISHED]
            if not missing:
                break
            self.backoff.wait(round_)
            for start_ns in sorted({state.resume_ns(query) for query in missing}):
                part = [query for query in missing if state.resume_ns(query) == start_ns]
                if start_ns < self.span.end_ns:
                    self._pages(part, Range(start_ns, self.span.end_ns), state)
                else:  # the last point of the range is here, whatever the server thinks of it
                    state.status |= {query.id: "Complete" for query in part}
        self._tell_unfinished(batch, state)

    def _pages(self, batch: Sequence[Query], span: Range, state: "_State") -> None:
        request = _request(batch, span)
        tokens, barren = set[str](), 0
        for _ in range(_MOST_PAGES):
            answer = self.ask("get_metric_data", request)
            new = state.take(answer)
            self.points += new
            barren = 0 if new else barren + 1
            token = text(answer.get("NextToken"))
            if token is None:
                return
            if token in tokens or barren >= _MOST_BARREN_PAGES or state.surplus > MOST_POINTS:
                break
            tokens.add(token)
            request = request | {"NextToken": token}
            self.tell(f"{self.points:,} points")
        self.problems.append(f"GetMetricData: pages without an end: left after {self.points:,} points")
        state.status |= {query.id: "Complete" for query in batch}

    def _tell_unfinished(self, batch: Sequence[Query], state: "_State") -> None:
        shown = Counter(state.status.get(query.id, "no answer") for query in batch)
        for status, reason in (
            ("PartialData", "came in part only: try again later"),
            ("InternalError", "were not given (InternalError): try again later"),
            ("Forbidden", "are not for these credentials (Forbidden): allow cloudwatch:GetMetricData"),
            ("no answer", "were not answered"),
        ):
            if shown[status]:
                names = sorted(
                    {query.metric.name for query in batch if state.status.get(query.id, "no answer") == status}
                )
                self.problems.append(f"GetMetricData: {', '.join(names[:5])}{' ...' if names[5:] else ''} {reason}")
        self.problems += [line for line in state.messages if line not in self.problems]


class _State:
    """What is known of a batch: status of each query, the starts of the points it has."""

    def __init__(self, batch: Sequence[Query], span: Range) -> None:
        self.status = dict[str, str]()
        self.messages = list[str]()
        self.surplus = 0
        """Points that were not asked for, or given before."""
        self._span = span
        self._queries = {query.id: query for query in batch}
        self._starts_ns: dict[str, set[int]] = {query.id: set() for query in batch}

    def take(self, answer: Record) -> int:
        """Take in a page; returns how many points are new."""
        new = 0
        for result in records(answer.get("MetricDataResults")):
            name = str(result.get("Id"))
            if name not in self._queries:
                self.surplus += 1
                continue
            self.status[name] = text(result.get("StatusCode")) or "Complete"
            wrong = Counter[str]()
            starts_ns = samples_of(result, self._span, wrong).keys() - self._starts_ns[name]
            self._starts_ns[name] |= starts_ns
            new += len(starts_ns)
            self.surplus += wrong.total()
            self._note(result)
        self._note(answer)
        return new

    def resume_ns(self, query: Query) -> int:
        """Where the points of a query end."""
        starts_ns = self._starts_ns[query.id]
        return max(starts_ns) + query.period_s * NS if starts_ns else self._span.start_ns

    def _note(self, answer: Record) -> None:
        for message in records(answer.get("Messages")):
            line = f"CloudWatch says: {one_line(message.get('Code') or '')}: {one_line(message.get('Value') or '')}"
            if line not in self.messages and len(self.messages) < 20:
                self.messages.append(line)


def _request(batch: Sequence[Query], span: Range) -> Record:
    return {
        "MetricDataQueries": [query.as_record() for query in batch],
        "StartTime": moment(span.start_ns),
        "EndTime": moment(span.end_ns),
        "ScanBy": "TimestampAscending",
    }
