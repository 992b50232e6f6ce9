"""Further programs are told where to listen and whom to ask, and their transfers have limits that are known."""

from __future__ import annotations

import pwd
from pathlib import Path

import pytest

from vmtrace.lab.accuracy import program_others, programs, s3_upload
from vmtrace.lab.accuracy.program_clients import (
    aria2,
    copy_in,
    copy_out,
    h2load,
    postgres,
    s3_server,
    sftp_of_few_requests,
)
from vmtrace.lab.accuracy.program_commands import Ends


@pytest.fixture
def ends(tmp_path: Path) -> Ends:
    return Ends(tmp_path, "fd00:18:1::1")


def test_a_seed_draws_the_same_transfers_again_and_another_seed_others() -> None:
    assert [one.setting for one in program_others.draw(7)] == [one.setting for one in program_others.draw(7)]
    assert [one.setting for one in program_others.draw(7)] != [one.setting for one in program_others.draw(8)]


def test_no_two_transfers_have_one_name() -> None:
    names = [one.name for one in programs.draw(7)]
    assert len(set(names)) == len(names) > 60


def test_a_window_of_an_application_is_a_third_of_the_path_at_most() -> None:
    for seed in range(5):
        for one in program_others.draw(seed):
            if "application_window" in one.factors:
                path_bytes = one.path.forward.rate_bps / 8 * 2 * one.path.forward.delay_s
                assert path_bytes >= 3 * 64_000


def test_kernel_limits_are_far_below_the_path() -> None:
    limited = [one for one in program_others.draw(3) if one.kernel_limit]
    assert {one.kernel_limit.queue for one in limited if one.kernel_limit} == {"tbf", "htb", "nft"}
    assert all(one.kernel_limit and 3 * one.kernel_limit.rate_bps <= one.path.forward.rate_bps for one in limited)
    assert all("`" in one.setting or "nftables" in one.setting for one in limited)


def test_clients_ask_the_server_of_their_transfer(ends: Ends) -> None:
    assert aria2("-x1").command(ends)[-1] == h2load().command(ends)[-1].replace("https", "http")
    assert sftp_of_few_requests(3, 32_768).command(ends)[1:6] == ["-q", "-R", "3", "-B", "32768"]
    assert ends.server in s3_server().command(ends)
    assert "generate_series(1, 5)" in copy_out(5).command(ends)[-1]
    assert "head -n 5 | psql" in copy_in(5).command(ends)[-1]


@pytest.mark.root
@pytest.mark.untimed
def test_a_database_of_its_own_belongs_to_its_user(ends: Ends) -> None:
    if not any(entry.pw_name == "postgres" for entry in pwd.getpwall()):
        pytest.skip("PostgreSQL is not installed")
    command = postgres().command(ends)[-1]
    assert "initdb" in command
    assert f"listen_addresses={ends.server}" in command
    assert (ends.folder / "postgres").stat().st_uid == pwd.getpwnam("postgres").pw_uid


def test_an_upload_needs_a_number_of_parts() -> None:
    with pytest.raises(SystemExit):
        s3_upload.main(["http://localhost", "file", "many"])
