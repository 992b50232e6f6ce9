"""`python -m tools.audit`: what we depend on, without a network: licences, duplicates and sources of crates by
`deny.toml`, checksums in `Cargo.lock`, and hashes of the Python packages for developing (`tools/locked.txt`).

`--sbom FOLDER` writes what was found as CycloneDX. Advisories and yanked versions need the network: `cargo deny check`
and `pip-audit` look there. Exit status: 0 all is as it may be, 1 it is not.
"""

import argparse
import json
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
_WORDS = re.compile(r"[()]|[^\s()]+")
_PINNED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^\s;\\]+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Package:
    """Something that is installed or built in; `kind` as package URLs have it, `sha256` of each file it may come as."""

    kind: str
    name: str
    version: str
    licence: str | None
    sha256: tuple[str, ...]
    source: str | None = None

    def as_component(self) -> dict[str, Any]:
        """Of a CycloneDX document."""
        found: dict[str, Any] = {
            "type": "library",
            "bom-ref": f"pkg:{self.kind}/{self.name}@{self.version}",
            "name": self.name,
            "version": self.version,
            "purl": f"pkg:{self.kind}/{self.name}@{self.version}",
        }
        if self.licence is not None:
            found["licenses"] = [{"expression": self.licence.replace("/", " OR ")}]
        if self.sha256:
            found["hashes"] = [{"alg": "SHA-256", "content": one} for one in self.sha256]
        return found


def crates(root: Path = ROOT) -> list[Package]:
    """Those that the engine is built of, without our own."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--offline", "--all-features"]
    shown = json.loads(subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout)
    lock = tomllib.loads((root / "Cargo.lock").read_text())["package"]
    sums = {(one["name"], one["version"]): one.get("checksum") for one in lock}
    used = {node["id"] for node in shown["resolve"]["nodes"]}
    return sorted(
        (
            Package(
                "cargo", one["name"], one["version"], one["license"],
                tuple(filter(None, [sums.get((one["name"], one["version"]))])), one["source"],
            )
            for one in shown["packages"]
            if one["id"] in used and one["id"] not in shown["workspace_members"]
        ),
        key=lambda one: (one.name, one.version),
    )  # fmt: skip


def locked(text: str) -> list[Package]:
    """The Python packages of a lock."""
    found = []
    for entry in text.replace("\\\n", " ").splitlines():
        if entry.strip() and not entry.startswith("#"):
            pinned = _PINNED.match(entry)
            name, version = (entry.split()[0], "") if pinned is None else pinned.groups()
            found.append(Package("pypi", name.lower(), version, None, tuple(_HASH.findall(entry))))
    return found


def problems_of_crates(found: Sequence[Package], policy: Mapping[str, Any]) -> Iterator[str]:
    """What `deny.toml` does not allow."""
    allowed, skipped = policy["licenses"]["allow"], policy["bans"]["skip"]
    versions = defaultdict(set)
    for one in found:
        versions[one.name].add(one.version)
        if not one.licence or not is_allowed(one.licence, allowed):
            yield f"crate {one.name} {one.version}: licence {one.licence or 'unknown'} is not allowed"
        if one.source is None or not one.source.startswith("registry+"):
            yield f"crate {one.name} {one.version}: comes from {one.source or 'a folder'}, no registry"
        elif not one.sha256:
            yield f"crate {one.name} {one.version}: has no checksum in Cargo.lock"
    known = {entry["crate"].partition("@")[0] for entry in skipped}
    for name, some in versions.items():
        if len(some) > 1 and name not in known:
            yield f"crate {name}: {len(some)} versions ({', '.join(sorted(some))})"
    for name in sorted(known - {name for name, some in versions.items() if len(some) > 1}):
        yield f"deny.toml: skips {name}, which is there once"


def problems_of_lock(found: Sequence[Package]) -> Iterator[str]:
    """Whatever is not one version with its hashes."""
    for one in found:
        if not one.version:
            yield f"{one.name}: no single version"
        elif not one.sha256:
            yield f"{one.name} {one.version}: no hash"


def is_allowed(expression: str, allowed: Collection[str]) -> bool:
    """Whether an SPDX expression can be met by allowed licences; a slash is the old way to say OR."""
    words = _WORDS.findall(expression.replace("/", " OR "))

    def any_of() -> bool:
        found = all_of()
        while words and words[0] == "OR":
            words.pop(0)
            found = all_of() or found
        return found

    def all_of() -> bool:
        found = one()
        while words and words[0] == "AND":
            words.pop(0)
            found = one() and found
        return found

    def one() -> bool:
        if not words:
            return False
        word = words.pop(0)
        if word == "(":
            found = any_of()
            return bool(words) and words.pop(0) == ")" and found
        if words[:1] == ["WITH"]:
            word = f"{word} WITH {words[1] if len(words) > 1 else ''}"
            del words[:2]
        return word in allowed

    return any_of() and not words


def sbom(name: str, version: str, found: Sequence[Package]) -> dict[str, Any]:
    """CycloneDX 1.5; without a time or a serial number, so that the same input gives the same bytes."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": name, "version": version}},
        "components": [one.as_component() for one in found],
    }


def main(words: Sequence[str]) -> int:
    """See the head of this module."""
    parser = argparse.ArgumentParser(prog="python -m tools.audit")
    parser.add_argument("--sbom", type=Path, metavar="FOLDER", help="write CycloneDX documents there")
    arguments = parser.parse_args(words)
    engine, python = crates(), locked((ROOT / "tools/locked.txt").read_text())
    if arguments.sbom is not None:
        arguments.sbom.mkdir(parents=True, exist_ok=True)
        version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
        for kind, found in (("engine", engine), ("python", python)):
            text = json.dumps(sbom(f"vmtrace-{kind}", version, found), indent=1) + "\n"
            (arguments.sbom / f"{kind}.cdx.json").write_text(text)
    policy = tomllib.loads((ROOT / "deny.toml").read_text())
    problems = [*problems_of_crates(engine, policy), *problems_of_lock(python)]
    for one in problems:
        print(one)
    print(f"{len(engine)} crates, {len(python)} Python packages: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
