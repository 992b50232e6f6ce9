"""The studies' five campaigns, scaled to a minute or two, against an S3 stand-in behind the emulated path.

`python -m vmtrace.lab.services.campaigns_demo --out FOLDER` is the second half of `make providers-demo`. What is
planted: the path becomes 20 ms longer in the middle of the probes, and the services offer no window scaling; a token
bucket holds the surge. `truth.json` says so, beside the runs and the report. Needs root, for the namespaces.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from vmtrace.capture.options import add_out
from vmtrace.lab import namespaces
from vmtrace.lab.hosts import module_environment
from vmtrace.lab.impairments import DelayStep, TokenBucket
from vmtrace.lab.services import certificates, delayed_path, swift
from vmtrace.lab.services.delayed_path import Planted

RTT_S = 0.02
_NOTHING = Planted()
_STEP = DelayStep(35.0, RTT_S)
_BUCKET = TokenBucket(40e6, 200_000, 200_000)


@dataclass(frozen=True, slots=True)
class Campaign:
    """One run: the plan, what makes it short, and what the path has in store."""

    name: str
    words: tuple[str, ...]
    planted: Planted = _NOTHING


CAMPAIGNS = (
    Campaign(
        "probes",
        ("--plan", "garfinkel2007-probes", "--for", "60s", "--mean-interval", "0.6s", "--sizes", "1B,1kB,200kB"),
        Planted(delay_steps=(_STEP,), window_scaling=False, ttl_s=5),
    ),
    Campaign(
        "surge", ("--plan", "garfinkel2007-surge", "--scale", "0.007", "--for", "51s"), Planted(token_bucket=_BUCKET)
    ),
    Campaign(
        "availability", ("--plan", "palankar2008-availability", "--for", "30s", "--every", "1s", "--sizes", "100kB")
    ),
    Campaign(
        "locations",
        (
            "--plan",
            "palankar2008-locations",
            "--for",
            "30s",
            "--every",
            "5s",
            "--sizes",
            "1B,1kB,1MB",
            "--location",
            "lab",
        ),
    ),
    Campaign("sweep", ("--plan", "yoon-upload", "--quick")),
)


def build_parser() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(
        prog="python -m vmtrace.lab.services.campaigns_demo", description=__doc__.splitlines()[0]
    )
    add_out(parser, "where runs and report go", "FOLDER", required=True)
    names = [one.name for one in CAMPAIGNS]
    parser.add_argument("--only", action="append", choices=names, help="only this one (repeatable; default: all)")
    return parser


def main(words: Sequence[str] | None = None) -> int:
    """Run them one after the other, then report on all; returns the exit status."""
    arguments = build_parser().parse_args(words)
    reason = namespaces.missing_requirement()
    if reason is not None:
        print(f"vmtrace: {reason}", file=sys.stderr)
        return 1
    out: Path = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    chosen = [one for one in CAMPAIGNS if not arguments.only or one.name in arguments.only]
    done = [one for one in chosen if run(one, out)]
    (out / "truth.json").write_text(json.dumps({one.name: asdict(one.planted) for one in chosen}, indent=1))
    if not done:
        return 1
    page = out / "campaigns.html"
    report = [sys.executable, "-m", "vmtrace", "storage", "report", *(str(out / one.name) for one in done)]
    status = subprocess.run([*report, "--html", str(page)], env=module_environment(), check=False).returncode
    if status == 0:
        print(f"report on campaigns: {page.resolve()}", flush=True)
    return int(status != 0 or len(done) < len(chosen))


def run(campaign: Campaign, out: Path) -> bool:
    """Over a path of its own; whether it went through."""
    print(f"{campaign.name}: vmtrace storage run {' '.join(campaign.words)}", flush=True)
    with tempfile.TemporaryDirectory(prefix="vmtrace-campaign-") as name:
        folder = Path(name)
        chain = certificates.make(folder / "certificates", names=delayed_path.CERTIFICATE_NAMES)
        with (
            delayed_path.joined(folder, RTT_S, 100e6, 1_000_000, campaign.planted) as path,
            swift.started(chain, path.places["s3"]) as service,
        ):
            words = [sys.executable, "-m", "vmtrace", "storage", "run", "--provider", "s3"]
            words += ["--out", str(out / campaign.name), "--interface", path.client_device, *campaign.words]
            client = subprocess.run(
                path.client_command(words),
                stdin=subprocess.DEVNULL,
                env={**module_environment(), **service.environment},
                check=False,
            )
    return client.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
