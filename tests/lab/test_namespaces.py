"""Namespaces come and go by name, threads return home, and what is missing is said in one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab.packets import own_namespaces
from vmtrace.lab import namespaces


@pytest.mark.root
@pytest.mark.untimed
@pytest.mark.usefixtures("real_hosts")
def test_a_thread_returns_home_also_after_a_failure() -> None:
    name = namespaces.namespace_name("home", 0)
    namespaces.create(name)
    home = Path("/proc/thread-self/ns/net").readlink()
    seen = []

    def fail_inside() -> None:
        with namespaces.inside(name):
            seen.append(Path("/proc/thread-self/ns/net").readlink())
            raise ZeroDivisionError

    try:
        with pytest.raises(ZeroDivisionError):
            fail_inside()
    finally:
        namespaces.delete(name)
    assert seen != [home]
    assert Path("/proc/thread-self/ns/net").readlink() == home


def test_a_failing_command_is_named_with_what_it_said() -> None:
    with pytest.raises(RuntimeError, match=r"sh -c .*exit 3: no luck"):
        namespaces.run_program(["sh", "-c", "echo no luck >&2; exit 3"])


@pytest.mark.root
@pytest.mark.untimed
@pytest.mark.usefixtures("real_hosts")
def test_leftovers_of_a_killed_process_are_removed_and_a_living_one_s_are_not() -> None:
    died = subprocess.Popen([sys.executable, "-c", ""])
    died.wait()
    abandoned, living = f"vmt{died.pid}-1sender", namespaces.namespace_name("kept", 0)
    for name in (abandoned, living):
        namespaces.create(name)
    try:
        namespaces.delete_stale()
        assert own_namespaces(died.pid) == []
        assert own_namespaces(os.getpid()) == [living]
    finally:
        namespaces.delete(living)
        namespaces.delete(abandoned)


def test_without_tun_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    exists = Path.exists
    monkeypatch.setattr(Path, "exists", lambda path: str(path) != "/dev/net/tun" and exists(path))
    assert "/dev/net/tun" in (namespaces.missing_requirement() or "")
