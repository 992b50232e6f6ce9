from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.receiver.storage import NoSuchRun, Storage


def test_a_run_is_made_with_its_owners_rights_and_found_again(tmp_path: Path) -> None:
    storage = Storage(tmp_path / "out")
    run = storage.new_run()
    assert run.folder.stat().st_mode & 0o777 == 0o700
    path = run.path("packets", 12, "probe")
    assert path == run.folder / "packets/receiver/0012-probe.pcap"
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert storage.existing_run(run.run_id) == run


@given(st.text() | st.sampled_from(["..", ".", "/etc", "../" + "a" * 32, "a" * 32 + "\n"]))
def test_any_other_name_is_no_run(name: str) -> None:
    with pytest.raises(NoSuchRun, match="no such run"):
        Storage(Path("/")).existing_run(name)


def test_a_folder_elsewhere_is_no_run_whatever_is_in_it(tmp_path: Path) -> None:
    storage = Storage(tmp_path / "out")
    storage.new_run()
    elsewhere = Storage(tmp_path).new_run()
    for name in (f"../{elsewhere.run_id}", elsewhere.run_id):
        with pytest.raises(NoSuchRun, match="no such run"):
            storage.existing_run(name)


def test_only_files_of_a_run_are_listed(tmp_path: Path) -> None:
    run = Storage(tmp_path).new_run()
    run.path("packets", 1, "data").write_bytes(b"p")
    run.log_transfer({"a": 1})
    (run.folder / "packets/receiver/notes.txt").write_text("x")
    (run.folder / "packets/receiver/0002-data.pcap").symlink_to("/etc/passwd")
    (run.folder / "other.jsonl").write_text("x")
    assert [str(name) for name in run.files()] == ["packets/receiver/0001-data.pcap", "receiver.jsonl"]
    described = run.describe(0, run.files()[0])
    assert (described.kind, described.sequence, described.part, described.bytes) == ("packets", 1, "data", 1)


def test_what_a_crash_left_half_written_is_dropped(tmp_path: Path) -> None:
    run = Storage(tmp_path).new_run()
    run.log_transfer({"a": 1})
    with (run.folder / "receiver.jsonl").open("a") as file:
        file.write('{"a":')
    run.repair()
    assert (run.folder / "receiver.jsonl").read_text() == '{"a": 1}\n'
