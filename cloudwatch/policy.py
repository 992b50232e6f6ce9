"""The least that an IAM identity must be allowed for this room's work."""

import json


def policy_text(*, publish: bool) -> str:
    """The policy document. CloudWatch knows no resources for these actions: `*` is all that can stand there."""
    statements: list[dict[str, object]] = [
        {
            "Sid": "VmtraceFetch",
            "Effect": "Allow",
            "Action": ["cloudwatch:GetMetricData", "cloudwatch:ListMetrics"],
            "Resource": "*",
        }
    ]
    if publish:
        statements.append(
            {
                "Sid": "VmtracePublish",
                "Effect": "Allow",
                "Action": "cloudwatch:PutMetricData",
                "Resource": "*",
                "Condition": {"StringEquals": {"cloudwatch:namespace": "vmtrace"}},
            }
        )
    return json.dumps({"Version": "2012-10-17", "Statement": statements}, indent=2)
