"""What must not be committed: names of one machine, addresses of registries, unfinished work, words of insiders."""

import ast
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from vmtrace.command_line import dress, every_parser
from vmtrace.commands.rooms import COMMANDS

ROOT = Path(__file__).parents[2]
# Written by cargo: names the registry of each crate.
GENERATED = {"Cargo.lock"}

# Each is written so that it does not match itself.
MACHINE = re.compile(r"/wor[k]/|/tmp/targe[t]|/tmp/ven[v]|/roo[t]/|/home/[a-z]")
REGISTRY = re.compile(
    r"pypi\.or[g]|pythonhosted\.or[g]|crates\.i[o]|npmjs\.(or[g]|com)|(static\.rust-lang|deb\.debian)\.or[g]"
)
UNFINISHED = re.compile(r"\bTOD[O]\b|\bFIXM[E]\b|\bXX[X]\b|NotImplemente[d]|unimplemented[!]|\btodo[!]")


def committed_texts() -> list[tuple[str, str]]:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        check=True,
        capture_output=True,
        text=True,
    )
    texts = []
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        if path.name in GENERATED or not path.is_file():
            continue
        data = path.read_bytes()
        if b"\0" not in data[:8192]:
            texts.append((name, data.decode("utf-8", "replace")))
    return texts


@pytest.mark.parametrize("pattern", [MACHINE, REGISTRY, UNFINISHED], ids=["machine", "registry", "unfinished"])
def test_no_committed_text_has(pattern: re.Pattern[str]) -> None:
    found = [
        f"{name}:{number}: {line.strip()[:100]}"
        for name, text in committed_texts()
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]
    assert found == []


# What users read is in the field's words (CONTRIBUTING.md, "Words"). Each is left of what is to be written instead.
WORDS = {
    r"\b(stood|stands?|standing) still\b": "stalled, stalls",
    r"\bbeside (the|its|their) (sender|receiver|server)\b": "at the sender",
    r"\b(is|are|was|were) told\b|\btold (of|so|by)\b|\btells? of\b": "reported, shown, identified by",
    r"\bcannot be told\b(?! from)": "is not known, unclear",
    r"\bsent again\b": "retransmitted",
    r"\b(without|unnecessary|needless|no) repeats\b|\brepeats of (data|what)\b": "retransmissions",
    r"\bS/P/R\b": "sender, path, receiver",
    r"\bthe path's (rate|bandwidth)\b": "bottleneck bandwidth",
    r"\bmarks of congestion\b": "congestion marks (ECN)",
    r"\b(oversize|packet) spacings?\b|\boversize gaps?\b": "unusually long pause, time between packets",
    r"\bwhat was lost to\b|\bshare of what was lost\b": "shortfall",
    r"\b[Nn]o answer to\b|\bgot no answer\b|\bwithout an answer\b|\bhas not answered\b": "no reply to, got no reply",
    r"\banswered (with a reset|by something)\b": "replied",
    r"\bsomebody had\b|\bhad forgotten\b": "a host or device had dropped",
    r"\bgave (too little|nothing) to send\b": "did not supply data fast enough",
    r"\ba beginning is enough\b": "any unique prefix",
    r"\bfolder to be made\b": "output folder (must not exist)",
    r"\bspeaks? (version|again|at once)\b": "has version, sends",
    r"\bis (no|not a) number that is one\b|\bthat is none\b": "not valid",
    r"(\d|\}) us\b|(\d|\}) K(B|bit)\b": "µs, kB, kbit",
}
QUOTED = {
    r"\bNo change of [\w ]+ is established\b": "no significant change",
    r"\bunstable or not\b": "stability inconclusive",
    r"\bthat can be judged\b": "long enough to judge",
    r"\breads at once\b": "never closes its window",
    r"\b[Nn]ot predicted[,:]": "no prediction: ...",
    r"\bseem to be of the same place\b": "same host?",
    r"\bblotted out\b": "redacted",
    r"\bbeginning of the name is enough\b": "any unique prefix works",
    r"\blet in by themselves\b": "return traffic is allowed automatically",
    r"\bcannot be had\b": "is not available",
    r"\bdelivered again: none\b": "duplicates: none",
    r"(\d|\}) data in\b": "data points",
    r"\blost segments ipid\b|\blossless seed\b": "lost (by IP ID); the seed without loss",
    r"\b\d+ of \d+: \w+\. Connection\b": "Loss (1 of 2 connections), e.g. connection 1",
    r"\bgoes into: ": "is ... time",
    r"\blimited by nothing but\b": "limited only by",
    r"\bturn it round\b": "swap the roles",
    r"\bWho insists\b|\bgets out at once\b": "press Ctrl-C three times to exit immediately",
    r"\bmakes? no sense\b": "malformed",
    r"\b[Tt]he question is wrong\b": "SQL error",
    r"\bits SDK is not installed\b": "boto3 (the SDK of s3) is not installed",
    r"\bthe run is not good\b": "run discarded as a reference",
    r"\bits bands\b": "drawn as",
    r"\bnone at all, not the cause\b": "always zero: ruled out",
    r"\bturns beyond\b": "pauses over",
    r"\bbelongs? into\b": "belongs in",
    r"\bsomebody in between\b": "someone in the middle",
    r"\bfor want of\b": "because ... is missing",
    r"\bis no (size|duration|number of|IP address|host name|instance id)\b": "is not a ...",
}
"""Sentences that no native writer would write, as they once stood in the product."""
WORDS |= QUOTED
MESSAGE_WORDS = WORDS | {r"\b(is|are) due\b": "expected ..."}
HELP_WORDS = MESSAGE_WORDS | {r"<bool>|%%": "a name for the value, one percent sign"}
ROOMS = ("analyze", "capture", "cloudwatch", "corpus", "lab", "providers", "receiver", "sender", "vmtrace")
DOCUMENTS = ("README.md", "CONTRIBUTING.md", *sorted(
    path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("docs/*.md"), *ROOT.glob("*/README.md"))
))  # fmt: skip
OLDEST_WORDS = ("still", "beside", "sent again", "repeats", "oversize", "marks of")
"""Of those in WORDS, what comments and names of tests had most of: none may come back."""


def test_messages_are_in_the_fields_words() -> None:
    found = [
        place
        for room in ROOMS
        for path in sorted((ROOT / room).rglob("*.py"))
        for place in wrong_words(str(path.relative_to(ROOT)), strings_of(path.read_text()), MESSAGE_WORDS)
    ]
    assert found == []


def test_sentences_of_the_engine_are_in_the_fields_words() -> None:
    folders = [ROOT / "analyze/engine/core/src/tcp" / name for name in ("verdict", "outcome", "summary")]
    found = [
        place
        for folder in folders
        for path in sorted(folder.rglob("*.rs"))
        for place in wrong_words(str(path.relative_to(ROOT)), rust_strings(path.read_text()))
    ]
    assert found == []


def test_documents_are_in_the_fields_words() -> None:
    assert [place for name in DOCUMENTS for place in wrong_words(name, prose((ROOT / name).read_text()))] == []


def oldest_words() -> dict[str, str]:
    return {pattern: better for pattern, better in WORDS.items() if any(word in pattern for word in OLDEST_WORDS)}


def test_comments_of_the_engine_are_in_the_fields_words() -> None:
    found = [
        place
        for path in sorted((ROOT / "analyze/engine").rglob("*.rs"))
        for place in wrong_words(str(path.relative_to(ROOT)), rust_comments(path.read_text()), oldest_words())
    ]
    assert found == []


def test_names_of_tests_are_in_the_fields_words() -> None:
    found = [
        place
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for place in wrong_words(
            str(path.relative_to(ROOT)),
            [name.replace("_", " ") for name in re.findall(r"def (test_\w+)", path.read_text())],
            oldest_words(),
        )
    ]
    assert found == []


def test_schemas_describe_their_fields_in_the_fields_words() -> None:
    found = [
        place
        for path in sorted((ROOT / "analyze/tables/schema").glob("*.json"))
        for place in wrong_words(path.name, re.findall(r'"description": "([^"]*)"', path.read_text()))
    ]
    assert found == []


def test_help_of_every_command_is_in_the_fields_words_and_has_examples() -> None:
    for name, command in COMMANDS.items():
        parser = command.parser(name)
        dress(parser)
        for one in every_parser(parser):
            text = one.format_help()
            assert wrong_words(one.prog, [text], HELP_WORDS) == []
            assert "xamples:" in text, f"{one.prog}: no examples"


@pytest.mark.parametrize(
    "sentence",
    [
        "A host stood still for 2 s",
        "a number from 0 to 1 is due",
        "No answer to 3 SYNs",
        "captured beside the sender",
        "No change of data throughput is established: 1.23 times.",
        "probe throughput may be unstable or not",
        "limited 20 of 33 transfers that can be judged",
        "with a receiver that reads at once",
        "not predicted, the model does not reproduce the transfer as it was within 15 %",
        "1 of 2: loss. Connection 1: Losses kept the window small",
        "nothing takes time between the captures: they seem to be of the same place",
        "it is blotted out",
        "A beginning of the name is enough",
        "Answers to what was sent out are let in by themselves",
        "It cannot be had afterwards for the time before",
        "delivered again: none",
        "307 data in 2 requests",
        "lost segments ipid",
        "lossless seed",
        "'5' is no duration",
    ],
)
def test_old_words_are_found(sentence: str) -> None:
    assert wrong_words("x", [sentence], MESSAGE_WORDS)


def wrong_words(name: str, texts: Iterable[str], words: Mapping[str, str] = WORDS) -> list[str]:
    """Where one of the words is, and what to write instead."""
    return [
        f"{name}: {found[0]!r} in {text[:90]!r}: {better}"
        for text in texts
        for pattern, better in words.items()
        if (found := re.search(pattern, text)) is not None
    ]


def strings_of(source: str) -> list[str]:
    """The strings of a Python file that are sentences: no documentation, no expressions inside of f-strings."""
    tree = ast.parse(source)
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in said)
    return [node.value for node in constants if isinstance(node.value, str) and " " in node.value.strip()]


def rust_strings(source: str) -> list[str]:
    """The string literals of a Rust file, without its tests and comments."""
    code = re.sub(r"^\s*//.*$", "", source.split("#[cfg(test)]", maxsplit=1)[0], flags=re.MULTILINE)
    return [re.sub(r"\\\n\s*", "", text) for text in re.findall(r'"((?:[^"\\]|\\.|\\\n)*)"', code) if " " in text]


def rust_comments(source: str) -> list[str]:
    """The comments of a Rust file that stand on lines of their own. Rules are quoted by their headings."""
    return [line for line in re.findall(r"^\s*//.*$", source, re.MULTILINE) if "Rule:" not in line]


def prose(document: str) -> list[str]:
    """The lines of a document without headings (rules are quoted by them), code and the targets of links."""
    text = re.sub(r"^```.*?^```$", "", document, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"`[^`\n]*`|\]\([^)]*\)|\[[^\]]*\](?=\()", "", text)
    return [line for line in text.splitlines() if not line.startswith("#")]
