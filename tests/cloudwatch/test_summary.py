"""The short answer and the record say the same."""

from vmtrace.cloudwatch.answers import Metric, Series
from vmtrace.cloudwatch.counters import Sample
from vmtrace.cloudwatch.fetching import Result
from vmtrace.cloudwatch.summary import summary_record, summary_text

NS = 10**9


def result() -> Result:
    samples = tuple(Sample(60 * place * NS, float(place)) for place in range(4))
    cpu = Series(Metric("AWS/EC2", "CPUUtilization"), "Average", 60, "Percent", samples, 100 * NS)
    counter = Series(Metric("CWAgent", "ethtool_x", (("interface", "eth0"),)), "Maximum", 60, None, samples, None)
    return Result("i-0", "eu-west-1", 0, 240 * NS, "detailed", (cpu, counter), ("note",), ())


def test_a_line_for_each_statistic() -> None:
    text = summary_text(result())
    assert "i-0 in eu-west-1, detailed monitoring, 1970-01-01T00:00:00Z to 1970-01-01T00:04:00Z" in text
    cpu = next(line for line in text.splitlines() if line.startswith("CPUUtilization"))
    assert cpu.split() == ["CPUUtilization", "Average", "60", "s", "4", "0", "1.5", "3", "Percent"]
    counter = next(line for line in text.splitlines() if line.startswith("ethtool_x"))
    assert counter.split() == ["ethtool_x", "interface=eth0", "(counted)", "Maximum", "60", "s", "4", "1", "1", "1"]
    assert text.endswith("8 points of 2 metrics")


def test_the_record_has_what_a_program_needs() -> None:
    record = summary_record(result(), ["a", "b"])
    assert (record["monitoring"], record["notes"], record["files"]) == ("detailed", ["note"], ["a", "b"])
    assert record["series"][0] == {
        "metric": "CPUUtilization",
        "namespace": "AWS/EC2",
        "dimensions": "",
        "statistic": "Average",
        "period_s": 60,
        "unit": "Percent",
        "cumulative": False,
        "points": 4,
        "open_points": 4,
        "first_ns": 0,
        "last_ns": 180 * NS,
    }
