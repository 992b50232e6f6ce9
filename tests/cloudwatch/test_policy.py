"""The policy allows what is used, and nothing more."""

import json

from vmtrace.cloudwatch.policy import policy_text


def test_fetching_needs_two_actions() -> None:
    (statement,) = json.loads(policy_text(publish=False))["Statement"]
    assert statement["Action"] == ["cloudwatch:GetMetricData", "cloudwatch:ListMetrics"]


def test_publishing_is_allowed_in_one_namespace() -> None:
    statement = json.loads(policy_text(publish=True))["Statement"][1]
    assert statement["Action"] == "cloudwatch:PutMetricData"
    assert statement["Condition"] == {"StringEquals": {"cloudwatch:namespace": "vmtrace"}}
