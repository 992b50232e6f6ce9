"""`vmtrace cloudwatch`: `fetch` metrics of a run's instance, `publish` the run's own numbers, print the `policy`.

Exit status: 0 done; 1 could not do (all of) its job, what could be had is written; 2 wrong usage; 130 interrupted.
"""

import argparse
import json
import sys
from pathlib import Path

from vmtrace.capture.afterwards import command, show_afterwards
from vmtrace.capture.options import add_json_printed, add_quiet
from vmtrace.cloudwatch.catalog import AGENT
from vmtrace.cloudwatch.errors import UsageError
from vmtrace.cloudwatch.fetching import DEFAULT_MARGIN_S, Result, Wish, fetch_run
from vmtrace.cloudwatch.importing import Saved, import_answers
from vmtrace.cloudwatch.periods import checked_period
from vmtrace.cloudwatch.policy import policy_text
from vmtrace.cloudwatch.progress import Progress
from vmtrace.cloudwatch.publishing import NAMESPACE, Published, Selection, publish_run
from vmtrace.cloudwatch.records import as_json, one_line
from vmtrace.cloudwatch.run_facts import SIDES, is_instance_id
from vmtrace.cloudwatch.service import Account
from vmtrace.cloudwatch.store import RAW, TABLE
from vmtrace.cloudwatch.summary import summary_record, summary_text

_DONE, _FAILED, _USAGE = 0, 1, 2
_DRY_RUN_LINES = 20
_LONGEST_MARGIN_S = 86_400
_EXAMPLES = """examples:
  vmtrace cloudwatch fetch run1
  vmtrace cloudwatch fetch run1 --instance-id i-0123456789abcdef0 --region eu-west-1 --profile lab
  vmtrace cloudwatch fetch run1 --from response.json
  vmtrace cloudwatch publish run1 --dry-run
  vmtrace cloudwatch policy --publish
"""
_FETCH_EXAMPLES = """examples:
  vmtrace cloudwatch fetch run1
  vmtrace cloudwatch fetch run1 --instance-id i-0123456789abcdef0 --region eu-west-1 --profile lab
  vmtrace cloudwatch fetch run1 --no-wait
  vmtrace cloudwatch fetch run1 --from response.json --queries queries.json
  aws cloudwatch get-metric-statistics ... --output json | vmtrace cloudwatch fetch run1 --from -

Credentials, regions, profiles and roles are boto3's: what works for the AWS CLI works here.
"""
_PUBLISH_EXAMPLES = """examples:
  vmtrace cloudwatch publish run1 --dry-run
  vmtrace cloudwatch publish run1 --region eu-west-1
"""
_POLICY_EXAMPLES = """examples:
  vmtrace cloudwatch policy
  vmtrace cloudwatch policy --publish
"""


def build_parser() -> argparse.ArgumentParser:
    """The options of `vmtrace cloudwatch`."""
    parser = argparse.ArgumentParser(
        prog="vmtrace cloudwatch",
        description="Fetch CloudWatch metrics of a run's instance, and publish the run's numbers as custom metrics.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, add_options, line, examples in (
        ("fetch", _add_fetch, "Fetch the metrics of a run's instance into the run folder.", _FETCH_EXAMPLES),
        (
            "publish",
            _add_publish,
            "Publish a run's loss, RTT, time between packets and throughput as custom metrics.",
            _PUBLISH_EXAMPLES,
        ),
        ("policy", _add_policy, "Print the IAM policy with the fewest rights needed.", _POLICY_EXAMPLES),
    ):
        formatter = argparse.RawDescriptionHelpFormatter
        add_options(commands.add_parser(name, help=line, description=line, epilog=examples, formatter_class=formatter))
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Do what the options say; returns the exit status."""
    commands = {"fetch": _fetch, "publish": _publish, "policy": _policy}
    try:
        return commands[arguments.command](arguments)
    except UsageError as error:
        _complain(f"{error} (see vmtrace cloudwatch {arguments.command} --help)")
        return _USAGE


def _add_fetch(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("run", metavar="RUN", type=Path, help="folder of the run")
    add("--instance-id", metavar="ID", type=_instance_id, help="the instance (default: the run's, by its host facts)")
    add("--side", choices=SIDES, help="whose instance, where both are on EC2 (default: the sender's)")
    _add_account(parser)
    add("--period", metavar="S", type=int, help="length of a period (default: the shortest that is kept, from 60 s on)")
    add(
        "--margin",
        metavar="S",
        type=_margin,
        default=DEFAULT_MARGIN_S,
        help=f"also fetch this many seconds before the run, as a baseline (default {DEFAULT_MARGIN_S})",
    )
    add("--no-wait", action="store_true", help="do not wait for the end of the last periods")
    add(
        "--agent-namespace",
        metavar="NAME",
        default=AGENT,
        help=f"where the CloudWatch agent publishes (default {AGENT})",
    )
    add("--from", dest="saved", metavar="FILE", action="append", help="import a saved response; -: standard input")
    add("--queries", metavar="FILE", type=Path, help="with --from: the queries that get-metric-data was given")
    _add_output(parser)


def _add_publish(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", type=Path, help="folder of the run")
    _add_account(parser)
    parser.add_argument("--dry-run", action="store_true", help="print what would be published, without contacting AWS")
    parser.add_argument("--again", action="store_true", help="also publish earlier values again: they then count twice")
    parser.add_argument(
        "--detailed",
        action="store_true",
        help="each metric by index, and all of verdicts: hundreds of custom metrics (default: at most 40)",
    )
    parser.add_argument(
        "--no-verdict", action="store_true", help="leave out what limited transfers: fewer custom metrics to pay for"
    )
    _add_output(parser)


def _add_policy(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--publish", action="store_true", help="include what publish needs")


def _add_account(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--region", metavar="R", help="default: the instance's, else that of boto3")
    add("--profile", metavar="P", help="profile of the AWS configuration")
    add("--role-arn", metavar="ARN", help="role to assume with these credentials")
    add("--endpoint-url", metavar="URL", help="a compatible server instead of AWS")


def _add_output(parser: argparse.ArgumentParser) -> None:
    add_json_printed(parser, "print the result as JSON")
    add_quiet(parser)


def _fetch(arguments: argparse.Namespace) -> int:
    period_s = None if arguments.period is None else checked_period(arguments.period)
    if arguments.queries is not None and not arguments.saved:
        raise UsageError("--queries: goes with --from")
    if arguments.saved:
        saved = Saved(tuple(arguments.saved), arguments.queries, arguments.instance_id, arguments.region, period_s)
        return _tell_fetched(import_answers(arguments.run, saved), arguments)
    progress = Progress(wanted=not arguments.quiet)
    wish = Wish(
        instance_id=arguments.instance_id,
        side=arguments.side,
        period_s=period_s,
        margin_s=arguments.margin,
        wait=not arguments.no_wait,
        agent_namespace=arguments.agent_namespace,
    )
    try:
        result = fetch_run(arguments.run, wish, _account(arguments), progress)
    finally:
        progress.clear()
    return _tell_fetched(result, arguments)


def _tell_fetched(result: Result, arguments: argparse.Namespace) -> int:
    files = [str(arguments.run / name) for name in (RAW, TABLE)]
    if arguments.json:
        print(json.dumps(summary_record(result, files), indent=1))
    elif not arguments.quiet:
        print(summary_text(result))
        show_afterwards(files, command("vmtrace", "report", arguments.run))
    return _tell_trouble(result.notes, result.problems, arguments)


def _publish(arguments: argparse.Namespace) -> int:
    progress = Progress(wanted=not arguments.quiet)
    try:
        published = publish_run(
            arguments.run,
            _account(arguments),
            progress,
            Selection(
                arguments.dry_run, arguments.again, verdicts=not arguments.no_verdict, detailed=arguments.detailed
            ),
            lambda due: _complain(_charge_text(due)) if due.metrics and not arguments.quiet else None,
        )
    finally:
        progress.clear()
    if arguments.json:
        print(json.dumps(_published_record(published, dry_run=arguments.dry_run), default=as_json, indent=1))
    elif not arguments.quiet:
        print(_published_text(published, dry_run=arguments.dry_run))
    return _tell_trouble(published.notes, published.problems, arguments)


def _published_text(published: Published, *, dry_run: bool) -> str:
    lines = []
    if dry_run:
        for one in (datum.as_record() for datum in published.data[:_DRY_RUN_LINES]):
            dimensions = " ".join(f"{dimension['Name']}={dimension['Value']}" for dimension in one["Dimensions"])
            values = " ".join(f"{value:g}" for value in one["Values"])
            lines.append(f"{as_json(one['Timestamp'])} {one['MetricName']} {dimensions} {values} {one['Unit']}")
        more = len(published.data) - _DRY_RUN_LINES
        lines += [f"... and {more:,} more: --json lists all"] if more > 0 else []
    verb = "would be published" if dry_run else "published"
    where = f" in {published.region}" if published.region else ""
    lines.append(
        f"{published.values:,} values {verb} as {len(published.data):,} data points"
        f" in {published.requests:,} requests, {published.metrics:,} custom metrics: namespace {NAMESPACE}{where}"
    )
    if dry_run:
        lines.append(_charge_text(published))
    return "\n".join(lines)


def _charge_text(published: Published) -> str:
    """What will be charged, in one line."""
    return (
        f"{published.metrics:,} custom metrics, each charged by AWS for the hours in which it has values: at most "
        f"{published.most_usd_a_month:,.2f} USD a month at the list price of us-east-1"
    )


def _published_record(published: Published, *, dry_run: bool) -> dict[str, object]:
    return {
        "schema": "vmtrace.cloudwatch_published/1",
        "dry_run": dry_run,
        "namespace": NAMESPACE,
        "region": published.region,
        "values": published.values,
        "requests": published.requests,
        "metrics": published.metrics,
        "data": [datum.as_record() for datum in published.data],
        "notes": list(published.notes),
        "problems": list(published.problems),
    }


def _policy(arguments: argparse.Namespace) -> int:
    print(policy_text(publish=arguments.publish))
    return _DONE


def _account(arguments: argparse.Namespace) -> Account:
    return Account(arguments.region, arguments.profile, arguments.role_arn, arguments.endpoint_url).checked()


def _tell_trouble(notes: tuple[str, ...], problems: tuple[str, ...], arguments: argparse.Namespace) -> int:
    for line in problems if arguments.quiet else (*notes, *problems):
        _complain(line)
    return _FAILED if problems else _DONE


def _complain(line: str) -> None:
    print(f"vmtrace: {one_line(line)}", file=sys.stderr)


def _instance_id(text: str) -> str:
    if not is_instance_id(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not an instance ID (i-0123456789abcdef0)")
    return text


def _margin(text: str) -> int:
    try:
        seconds = int(text)
    except ValueError:
        seconds = -1
    if not 0 <= seconds <= _LONGEST_MARGIN_S:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds from 0 to {_LONGEST_MARGIN_S}")
    return seconds
