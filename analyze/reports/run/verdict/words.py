"""The verdict on a run for people: the sentence, how sure it is, and the first places to look."""

from collections.abc import Iterator

from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.verdict.evidence import Evidence
from vmtrace.analyze.reports.run.verdict.findings import finding_lines
from vmtrace.analyze.reports.run.verdict.of_run import RunVerdict, run_verdicts
from vmtrace.analyze.words.units import count, printable, share

_PIECES_SHOWN = 3


def verdict_lines(results: RunResults) -> Iterator[str]:
    """The answer on the terminal; nothing where nothing was captured."""
    whole, *parts = run_verdicts(results)
    if not whole.judged:
        return
    yield f"verdict: {whole.sentence}{confidence_words(whole)}"
    for part in parts:
        if part.judged and part.factor != whole.factor:
            yield f"  {part.scope}: {part.sentence}{confidence_words(part)}"
    yield from (f"  {line}" for line in finding_lines(results))
    for piece in whole.evidence[:_PIECES_SHOWN]:
        yield f"  see {place(piece)}: {piece.text}; {piece.display_filter}"


def confidence_words(found: RunVerdict) -> str:
    """` (confidence 87.1 %)`, if there is any."""
    return "" if found.confidence is None else f" (confidence {share(found.confidence)})"


def place(piece: Evidence) -> str:
    """Which transfer, and the capture that the frames are of."""
    where = f" ({printable(piece.file)})" if piece.file else ""
    return f"pair {count(piece.sequence)} {piece.role}{where}"
