"""Spoiled requests for every operation of CloudWatch and Application Auto Scaling, in all their forms:
a success or an error, never anything else.

`HASHRANGE_FUZZ_REQUESTS` sets the number of requests per operation, `HASHRANGE_FUZZ_SEED` the first seed.
"""

import json
import logging
import os
import random
import time
from typing import Any
from urllib.parse import urlencode

import cbor2
import pytest

from hashrange.autoscaling.api.registry import SCALING_OPERATIONS
from hashrange.settings import Settings
from hashrange.testing import server
from hashrange.testing.in_process import InProcess
from tests.fuzz.mutations import spoiled

REQUESTS = int(os.environ.get("HASHRANGE_FUZZ_REQUESTS", "250")) // 5
SEED = int(os.environ.get("HASHRANGE_FUZZ_SEED", "1"))
NOW = int(time.time())
METRIC = {"Namespace": "shop", "MetricName": "Orders", "Dimensions": [{"Name": "Shop", "Value": "Ulm"}]}
WINDOW = {"StartTime": NOW - 3600, "EndTime": NOW + 60}
PLACE = {
    "ServiceNamespace": "dynamodb",
    "ResourceId": "table/orders",
    "ScalableDimension": "dynamodb:table:ReadCapacityUnits",
}
ALARM_ARN = "arn:aws:cloudwatch:us-east-1:000000000000:alarm:load"
TARGET_ARN = "arn:aws:application-autoscaling:us-east-1:000000000000:scalable-target/a"
QUERY = {"Id": "m1", "MetricStat": {"Metric": METRIC, "Period": 60, "Stat": "p90", "Unit": "Count"}, "ReturnData": True}
CLOUDWATCH: dict[str, dict[str, Any]] = {
    "DeleteAlarms": {"AlarmNames": ["load"]},
    "DescribeAlarmHistory": {
        "AlarmName": "load",
        "MaxRecords": 5,
        "ScanBy": "TimestampAscending",
        "StartDate": NOW - 3600,
    },
    "DescribeAlarms": {"AlarmNames": ["load"], "AlarmTypes": ["MetricAlarm"], "StateValue": "OK", "MaxRecords": 5},
    "DescribeAlarmsForMetric": METRIC | {"Statistic": "Sum", "Period": 60, "Unit": "Count"},
    "DescribeInsightRules": {"MaxResults": 5, "NextToken": "NQ=="},
    "DisableAlarmActions": {"AlarmNames": ["load"]},
    "EnableAlarmActions": {"AlarmNames": ["load"]},
    "GetInsightRuleReport": WINDOW | {"RuleName": "rule", "Period": 60, "MaxContributorCount": 5, "Metrics": ["Sum"]},
    "GetMetricData": WINDOW
    | {
        "MetricDataQueries": [
            QUERY,
            {"Id": "e1", "Expression": "IF(m1 > 5, m1, FILL(m1, 0)) + SUM(METRICS())", "Label": "a"},
        ],
        "ScanBy": "TimestampAscending",
        "MaxDatapoints": 10,
    },
    "GetMetricStatistics": METRIC | WINDOW | {"Period": 60, "Statistics": ["Sum"], "Unit": "Count"},
    "ListMetrics": METRIC | {"RecentlyActive": "PT3H"},
    "ListTagsForResource": {"ResourceARN": ALARM_ARN},
    "PutCompositeAlarm": {"AlarmName": "any", "AlarmRule": "ALARM(load) OR NOT TRUE", "OKActions": ["arn:aws:sns:a"]},
    "PutMetricAlarm": METRIC
    | {
        "AlarmName": "load",
        "Statistic": "Sum",
        "Period": 60,
        "EvaluationPeriods": 2,
        "DatapointsToAlarm": 1,
        "Threshold": 1.5,
        "ComparisonOperator": "LessThanThreshold",
        "TreatMissingData": "breaching",
        "Tags": [{"Key": "a", "Value": "b"}],
        "Unit": "Count",
    },
    "PutMetricData": {
        "Namespace": "shop",
        "MetricData": [
            {"MetricName": "Orders", "Values": [1.5, 2], "Counts": [1, 2], "Unit": "Count", "Timestamp": NOW},
            {"MetricName": "Orders", "StatisticValues": {"SampleCount": 2, "Sum": 3, "Minimum": 1, "Maximum": 2}},
        ],
    },
    "SetAlarmState": {"AlarmName": "load", "StateValue": "OK", "StateReason": "a", "StateReasonData": "{}"},
    "TagResource": {"ResourceARN": ALARM_ARN, "Tags": [{"Key": "a", "Value": "b"}]},
    "UntagResource": {"ResourceARN": ALARM_ARN, "TagKeys": ["a"]},
}
TRACKING = {
    "TargetValue": 70.0, "PredefinedMetricSpecification": {"PredefinedMetricType": "DynamoDBReadCapacityUtilization"},
    "ScaleOutCooldown": 5, "ScaleInCooldown": 5, "DisableScaleIn": False,
}  # fmt: skip
SCALING: dict[str, dict[str, Any]] = {
    "DeleteScalingPolicy": PLACE | {"PolicyName": "reads"},
    "DeleteScheduledAction": PLACE | {"ScheduledActionName": "daily"},
    "DeregisterScalableTarget": PLACE,
    "DescribeScalableTargets": {"ServiceNamespace": "dynamodb", "ResourceIds": ["table/orders"], "MaxResults": 5},
    "DescribeScalingActivities": {"ServiceNamespace": "dynamodb", "IncludeNotScaledActivities": True, "MaxResults": 5},
    "DescribeScalingPolicies": {"ServiceNamespace": "dynamodb", "PolicyNames": ["reads"], "NextToken": "NQ=="},
    "DescribeScheduledActions": {"ServiceNamespace": "dynamodb", "ScheduledActionNames": ["daily"]},
    "GetPredictiveScalingForecast": PLACE | WINDOW | {"PolicyName": "reads"},
    "ListTagsForResource": {"ResourceARN": TARGET_ARN},
    "PutScalingPolicy": PLACE
    | {
        "PolicyName": "reads",
        "PolicyType": "TargetTrackingScaling",
        "TargetTrackingScalingPolicyConfiguration": TRACKING,
    },
    "PutScheduledAction": PLACE
    | {
        "ScheduledActionName": "daily",
        "Schedule": "cron(0 8 ? * MON-FRI *)",
        "Timezone": "Europe/Berlin",
        "StartTime": NOW,
        "ScalableTargetAction": {"MinCapacity": 5, "MaxCapacity": 9},
    },
    "RegisterScalableTarget": PLACE
    | {"MinCapacity": 1, "MaxCapacity": 5, "SuspendedState": {"ScheduledScalingSuspended": True}, "Tags": {"a": "b"}},
    "TagResource": {"ResourceARN": TARGET_ARN, "Tags": {"a": "b"}},
    "UntagResource": {"ResourceARN": TARGET_ARN, "TagKeys": ["a"]},
}
KNOWN_STATUS = {200, 400, 403, 404, 409, 413, 429}


def authorization(service: str) -> dict[str, str]:
    """Headers of a request, whose signature nobody checks."""
    day = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    scope = f"key/{day[:8]}/us-east-1/{service}/aws4_request"
    signed = f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host;x-amz-date, Signature={'0' * 64}"
    return {"host": "localhost", "x-amz-date": day, "authorization": signed}


def flat(node: Any, prefix: str = "") -> dict[str, str]:
    """Members as the Query form has them."""
    if isinstance(node, dict):
        pairs = {f"{prefix}.{name}" if prefix else str(name): value for name, value in node.items()}
    elif isinstance(node, list):
        pairs = {f"{prefix}.member.{place}": value for place, value in enumerate(node, 1)}
    else:
        return {prefix: str(node)}
    return {name: value for one, below in pairs.items() for name, value in flat(below, one).items()}


def requests_of(operation: str, members: dict[str, Any], rng: random.Random) -> list[tuple[str, dict[str, str], bytes]]:
    """Path, headers and body of a spoiled request in each form."""
    body = spoiled(members, rng)
    headers = authorization("monitoring")
    target = {
        "x-amz-target": f"GraniteServiceVersion20100801.{operation}",
        "content-type": "application/x-amz-json-1.0",
    }
    found = [("/", headers | target, body)]
    try:
        node = json.loads(body)
        packed = bytearray(cbor2.dumps(node))
        text = urlencode({"Action": operation, "Version": "2010-08-01", **flat(node)}, errors="replace")
    except (ValueError, RecursionError, UnicodeEncodeError):
        return found
    if rng.random() < 0.3 and packed:
        packed[rng.randrange(len(packed))] = rng.randrange(256)
    path = f"/service/GraniteServiceVersion20100801/operation/{operation}"
    cbor = {"smithy-protocol": "rpc-v2-cbor", "content-type": "application/cbor"}
    form = {"content-type": "application/x-www-form-urlencoded"}
    return [*found, (path, headers | cbor, bytes(packed)), ("/", headers | form, text.encode())]


@pytest.fixture(scope="module")
def process() -> Any:
    with server(Settings(data_dir=None)) as database:
        database.clock.freeze()
        database.client().create_table(
            TableName="orders",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            ProvisionedThroughput={"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
        )
        yield database._process
        database.clock.advance(600)  # whatever alarms and schedules there are now, they are evaluated


def check(
    process: InProcess, path: str, headers: dict[str, str], body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    answer = process.ask("POST", path, headers, body)
    assert answer.status in KNOWN_STATUS, (path, body, answer)
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR], (path, body)


def test_every_operation_has_members() -> None:
    assert set(SCALING) == {operation.name for operation in SCALING_OPERATIONS}


@pytest.mark.parametrize("operation", CLOUDWATCH)
def test_cloudwatch(process: InProcess, operation: str, caplog: pytest.LogCaptureFixture) -> None:
    rng = random.Random(f"{SEED} {operation}")
    for _ in range(REQUESTS):
        for path, headers, body in requests_of(operation, CLOUDWATCH[operation], rng):
            check(process, path, headers, body, caplog)


@pytest.mark.parametrize("operation", SCALING)
def test_application_auto_scaling(process: InProcess, operation: str, caplog: pytest.LogCaptureFixture) -> None:
    rng = random.Random(f"{SEED} {operation}")
    target = {"x-amz-target": f"AnyScaleFrontendService.{operation}", "content-type": "application/x-amz-json-1.1"}
    headers = authorization("application-autoscaling") | target
    for _ in range(REQUESTS):
        check(process, "/", headers, spoiled(SCALING[operation], rng), caplog)
