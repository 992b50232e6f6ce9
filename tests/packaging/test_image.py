"""The image of the Containerfile, built by buildah from a Debian that debootstrap makes: minutes, and a registry."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging.made import ROOT

pytestmark = [pytest.mark.long, pytest.mark.root, pytest.mark.may_skip]


def ran(*words: str, folder: Path) -> str:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, timeout=1800)
    assert done.returncode == 0, f"{words}: {done.stdout[-2000:]} {done.stderr[-2000:]}"
    return done.stdout.strip()


@pytest.fixture(scope="module")
def buildah(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[str]]]:
    """A folder with a context to build in, and the command with a store of its own, which holds the base image."""
    wheels = sorted((ROOT / "build/wheels").glob("vmtrace-*.whl"))
    absent = [name for name in ("buildah", "debootstrap") if shutil.which(name) is None]
    if absent or not wheels:
        pytest.skip(f"{absent[0]} is not installed" if absent else "there is no wheel: make wheel")
    folder = tmp_path_factory.mktemp("image")
    release = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    sites = ran("apt-get", "indextargets", "--format", "$(REPO_URI)", folder=folder).split()
    mirror = next(site for site in sites if "security" not in site)
    ran("debootstrap", "--variant=minbase", release["VERSION_CODENAME"], "base", mirror, folder=folder)
    ran("tar", "-C", "base", "-cf", "base.tar", ".", folder=folder)
    context = folder / "context"
    (context / "build/wheels").mkdir(parents=True)
    shutil.copy(wheels[-1], context / "build/wheels")
    for name in ("LICENSE", "CHANGELOG.md"):
        shutil.copy(ROOT / name, context)
    shutil.copytree(ROOT / "packaging", context / "packaging")
    command = ["buildah", "--root", str(folder / "store"), "--runroot", str(folder / "run")]
    base = ran(*command, "from", "scratch", folder=folder)
    ran(*command, "add", "--quiet", base, "base.tar", "/", folder=folder)
    ran(*command, "commit", "--quiet", base, "docker.io/library/debian:bookworm-slim", folder=folder)
    yield context, command
    subprocess.run([*command, "rm", "--all"], capture_output=True, check=False)


def test_the_image_analyzes_as_a_user_without_rights(buildah: tuple[Path, list[str]]) -> None:
    context, command = buildah
    volumes = []
    bundle = os.environ.get("PIP_CERT")
    if bundle:  # a registry behind an authority of its own
        (context / "pip.conf").write_text("[global]\ncert = /etc/registry.pem\n")
        volumes = ["-v", f"{bundle}:/etc/registry.pem:ro", "-v", f"{context / 'pip.conf'}:/etc/pip.conf:ro"]
    build = ["build", "--pull=never", "--isolation", "chroot", "--network", "host", *volumes]
    ran(*command, *build, "--file", "packaging/Containerfile", "--tag", "vmtrace", ".", folder=context)
    made = ran(*command, "from", "--pull=never", "localhost/vmtrace", folder=context)
    run = [*command, "run", "--isolation", "chroot", "-v", f"{ROOT / 'samples'}:/samples:ro", made, "--"]
    assert ran(*run, "id", "-un", folder=context) == "vmtrace"
    assert "client wait" in ran(*run, "vmtrace", "analyze", "/samples/tls13.pcap", folder=context)
    assert ran(*run, "vmtrace", "analyze", "/samples/tls13.pcap", "--report", "x.html", folder=context)
