"""Plans: the study's, and those in TOML files, strictly read."""

from pathlib import Path

import pytest

from vmtrace.providers.errors import UsageError
from vmtrace.providers.plan import Plan, Workload
from vmtrace.providers.plans import BOCCHI2014, BUILT_IN, load_plan, plan_of_toml


def test_the_plan_of_the_study_is_that_of_its_section_on_workloads() -> None:
    assert [(one.name, one.files, one.size_bytes) for one in BOCCHI2014.workloads] == [
        ("1MB", 1, 10**6),
        ("10MB", 1, 10**7),
        ("100MB", 1, 10**8),
        ("1GB", 1, 10**9),
        ("10x100kB", 10, 100_000),
        ("100x10kB", 100, 10_000),
        ("1000x4kB", 1000, 4_000),
    ]
    assert (BOCCHI2014.repeat, BOCCHI2014.wait_s, BOCCHI2014.idle_s) == (20, 120.0, 180.0)
    assert load_plan("bocchi2014") is BOCCHI2014


def test_its_full_cycle_moves_the_45_gb_of_the_study_in_more_than_its_ten_hours() -> None:
    assert BOCCHI2014.bytes / 1e9 == pytest.approx(45, abs=0.5)
    assert 10 * 3600 < BOCCHI2014.pause_s < 12 * 3600


def test_a_plan_of_ones_own_has_sizes_and_times_as_people_write_them() -> None:
    plan = plan_of_toml(
        b"""
        name = "mine"
        repeat = 3
        wait = "2min"
        idle = 1.5
        [[workload]]
        files = 10
        size = "4 KiB"
        [[workload]]
        name = "big"
        size = 7000000
        """,
        "file",
    )
    assert isinstance(plan, Plan)
    assert plan.name == "mine"
    assert plan.workloads == (Workload("10x4096B", 10, 4096), Workload("big", 1, 7_000_000))
    assert (plan.repeat, plan.wait_s, plan.idle_s, plan.transactions) == (3, 120.0, 1.5, 12)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no [[workload]]"),
        ("workload = 1", "no [[workload]]"),
        ("workload = [1]", "workload 1: expected a table"),
        ("[[workload]]\nfiles = 2", "workload 1: size is missing"),
        ("repeats = 2\n[[workload]]\nsize = 1", "the plan: 'repeats' is unknown: did you mean repeat?"),
        ("[[workload]]\nsize = 1\nfile = 2", "workload 1: 'file' is unknown: did you mean files?"),
        ("repeat = 0\n[[workload]]\nsize = 1", "repeat: expected a whole number from 1"),
        ("repeat = true\n[[workload]]\nsize = 1", "repeat: expected a whole number from 1"),
        ("wait = -1\n[[workload]]\nsize = 1", "wait: from 0 to 7 days"),
        ("wait = 'soon'\n[[workload]]\nsize = 1", "wait: 'soon' is not a duration"),
        ("wait = nan\n[[workload]]\nsize = 1", "wait: expected a number or a text"),
        ("[[workload]]\nsize = 0", "size: from 1 byte to 5 GB"),
        ("[[workload]]\nsize = '6 GB'", "size: from 1 byte to 5 GB"),
        ("[[workload]]\nsize = 1.5", "size: from 1 byte to 5 GB"),
        ("[[workload]]\nsize = '1 furlong'", "size: '1 furlong' is not a size"),
        ("[[workload]]\nsize = [1]", "size: expected a number or a text"),
        ("[[workload]]\nsize = 1\nfiles = 100001", "files: expected a whole number from 1 to 100,000"),
        ("[[workload]]\nsize = 1\nname = 'a/b'", "name: expected up to 64 letters"),
        ("[[workload]]\nsize = 1\n[[workload]]\nsize = 1", "two workloads are called 1x1B"),
        ("name = 3\n[[workload]]\nsize = 1", "name: expected up to 64 letters"),
        ("[[workload", "Expected"),
    ],
)
def test_a_plan_that_cannot_be_meant_is_refused_with_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"\w") as refused:
        plan_of_toml(text.encode(), "file")
    assert message in str(refused.value)


def test_bytes_that_are_no_text_and_files_that_are_not_there_are_reported(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="byte 0: not UTF-8"):
        plan_of_toml(b"\xff", "file")
    with pytest.raises(ValueError, match="this is no plan"):
        plan_of_toml(b" " * (2 << 20), "file")
    with pytest.raises(UsageError, match=r"plan .*none.toml: No such file.*bocchi2014"):
        load_plan(str(tmp_path / "none.toml"))
    (tmp_path / "bad.toml").write_text("x = 1")
    with pytest.raises(UsageError, match=r"plan .*bad.toml: the plan: 'x' is unknown"):
        load_plan(str(tmp_path / "bad.toml"))


@pytest.mark.parametrize(
    ("text", "record"),
    [
        (
            'kind = "probes"\nmean_interval = "1 s"\nsizes = ["1 B", "1 kB"]\nfor = "10 min"\npair = 3',
            {
                "kind": "probes",
                "mean_interval_s": 1.0,
                "every_s": None,
                "sizes_bytes": [1, 1000],
                "duration_s": 600.0,
                "pair": 3,
            },
        ),
        (
            'kind = "availability"\nevery = "15 min"\nsizes = ["1 MB"]',
            {"kind": "availability", "every_s": 900.0, "directions": ["download"], "pair": 1},
        ),
        (
            'kind = "locations"\nevery = "6h"\nfor = "7d"',
            {"kind": "locations", "every_s": 21_600.0, "every_size": True, "duration_s": 604_800.0},
        ),
        (
            'kind = "surge"\nthreads = [1, 2]\nstep = 10\nsize = "1 MB"\ndirections = ["download"]\nfor = 40',
            {"kind": "surge", "threads": [1, 2], "step_s": 10.0, "size_bytes": 1_000_000, "directions": ["download"]},
        ),
        (
            'kind = "sweep"\nconnections = [1, 64]\npart_sizes = ["5 MiB"]\nsources = ["tmpfs"]\n[merge]\nparts = []',
            {
                "kind": "sweep",
                "connections": [1, 64],
                "part_sizes_bytes": [5 << 20],
                "sources": ["tmpfs"],
                "merge": None,
            },
        ),
    ],
)
def test_a_plan_of_another_kind_says_what_it_is(text: str, record: dict[str, object]) -> None:
    made = plan_of_toml(text.encode(), "mine").as_record()
    assert {name: made[name] for name in record} == record
    assert made["name"] == "mine"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('kind = "probe"', "kind: 'probe' is unknown: known are benchmark, probes, surge"),
        ('kind = "probes"\nevery = 3', "'every' is unknown"),
        ('kind = "probes"\nmean_interval = 0', "mean_interval: more than 0"),
        ('kind = "probes"\nsizes = []', "sizes: expected a list of sizes"),
        ('kind = "probes"\nsizes = ["6 GB"]', "sizes: from 1 byte to 5 GB"),
        ('kind = "locations"\ndirections = ["up"]', "directions: expected a list of upload and download"),
        ('kind = "locations"\nevery_size = 1', "every_size: expected true or false"),
        ('kind = "surge"\nthreads = [0]', "threads: expected a whole number from 1 to 256"),
        ('kind = "surge"\nstep = "nan"', "step"),
        ('kind = "sweep"\nsources = ["tape"]', "sources: expected a list of disk and tmpfs"),
        ('kind = "sweep"\nmerge = 3', "merge: expected a table"),
        ('kind = "sweep"\nconnections = 8', "connections: expected a list of whole numbers"),
    ],
)
def test_what_a_plan_of_another_kind_cannot_mean_is_refused(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        plan_of_toml(text.encode(), "mine")


def test_every_study_s_plan_is_built_in() -> None:
    assert set(BUILT_IN) == {
        "bocchi2014", "garfinkel2007-probes", "garfinkel2007-surge", "palankar2008-availability",
        "palankar2008-locations", "sdk-subjects", "yoon-upload",
    }  # fmt: skip
