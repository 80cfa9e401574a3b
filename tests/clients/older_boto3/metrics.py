"""CloudWatch and Application Auto Scaling with boto3, whatever form it asks in. Prints what it has heard as JSON.

Service time stands still, except where this program moves it. Arguments: the server's endpoint.
"""

import json
import sys
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
from botocore.exceptions import ClientError, WaiterError

ENDPOINT = sys.argv[1]
OPTIONS = {
    "endpoint_url": ENDPOINT,
    "region_name": "eu-west-1",
    "aws_access_key_id": "key",
    "aws_secret_access_key": "secret",
}
SHOP = [{"Name": "Shop", "Value": "Ulm & <Neu-Ulm>"}]
WAIT = {"Delay": 0, "MaxAttempts": 2}

cloudwatch: Any = boto3.client("cloudwatch", **OPTIONS)
scaling: Any = boto3.client("application-autoscaling", **OPTIONS)
dynamodb: Any = boto3.client("dynamodb", **OPTIONS)


def admin(path: str, **members: Any) -> Any:
    """The reply of the admin API."""
    request = urllib.request.Request(f"{ENDPOINT}/_hashrange/v1/{path}", json.dumps(members).encode(), method="POST")
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)


NOW = datetime.fromtimestamp(admin("clock/freeze")["service_time"], UTC)
WINDOW = {"StartTime": NOW - timedelta(hours=1), "EndTime": NOW + timedelta(minutes=1)}


def refusal(work: Callable[..., object], **members: Any) -> list[Any]:
    """Code, fault and status of an error, and whether the client has a class of its own for it."""
    try:
        work(**members)
    except ClientError as error:
        reply = error.response
        is_typed = type(error) is not ClientError
        return [
            reply["Error"]["Code"],
            reply["Error"].get("Type"),
            reply["ResponseMetadata"]["HTTPStatusCode"],
            is_typed,
            bool(reply["Error"]["Message"]),
        ]
    return []


def put_metrics() -> dict[str, Any]:
    """Datapoints as they were put, as statistics, percentiles and a result of GetMetricData."""
    orders = {"MetricName": "Orders", "Dimensions": SHOP, "Timestamp": NOW, "Unit": "Count"}
    cloudwatch.put_metric_data(
        Namespace="shop",
        MetricData=[
            orders | {"Values": [1.0, 2.0, 3.5], "Counts": [1.0, 1.0, 2.0]},
            orders | {"StatisticValues": {"SampleCount": 2.0, "Sum": 9.0, "Minimum": 4.0, "Maximum": 5.0}},
        ],
    )
    asked = {"Namespace": "shop", "MetricName": "Orders", "Dimensions": SHOP, **WINDOW, "Period": 3600}
    statistics = cloudwatch.get_metric_statistics(**asked, Statistics=["Sum", "SampleCount", "Minimum", "Maximum"])
    (point,) = statistics["Datapoints"]
    metric = {"Namespace": "shop", "MetricName": "Orders", "Dimensions": SHOP}
    query = {"Id": "orders", "MetricStat": {"Metric": metric, "Period": 3600, "Stat": "Sum"}, "ReturnData": False}
    twice = {"Id": "twice", "Expression": "orders * 2", "Label": "Twice & more"}
    pages = cloudwatch.get_paginator("get_metric_data").paginate(
        MetricDataQueries=[query, twice], **WINDOW, ScanBy="TimestampAscending"
    )
    results = [one for page in pages for one in page["MetricDataResults"]]
    return {
        "label": statistics["Label"],
        "point": [point[name] for name in ("Sum", "SampleCount", "Minimum", "Maximum", "Unit")],
        "is_time": point["Timestamp"] <= NOW,
        "data": [[one["Id"], one["Label"], one["Values"], one["StatusCode"]] for one in results],
    }


def list_metrics() -> dict[str, Any]:
    """More metrics than a page has, put by requests that are compressed."""
    for first in range(0, 600, 300):
        data = [{"MetricName": f"metric-{number:03}", "Value": float(number)} for number in range(first, first + 300)]
        cloudwatch.put_metric_data(Namespace="many", MetricData=data)
    pages = list(cloudwatch.get_paginator("list_metrics").paginate(Namespace="many"))
    names = [metric["MetricName"] for page in pages for metric in page["Metrics"]]
    shops = cloudwatch.list_metrics(Namespace="shop", Dimensions=[{"Name": "Shop"}])["Metrics"]
    return {"pages": [len(page["Metrics"]) for page in pages], "names": len(set(names)), "shops": shops}


def use_alarms() -> dict[str, Any]:
    """An alarm from its beginning to its end, and one that looks at it."""
    waiter = cloudwatch.get_waiter("alarm_exists")
    try:
        waiter.wait(AlarmNames=["many-orders"], WaiterConfig=WAIT)
        has_waited = False
    except WaiterError:
        has_waited = True
    cloudwatch.put_metric_alarm(
        AlarmName="many-orders",
        AlarmDescription="<more> than \"usual\" & 'ever'",
        Namespace="shop",
        MetricName="Orders",
        Dimensions=SHOP,
        Statistic="Sum",
        Period=60,
        EvaluationPeriods=1,
        Threshold=16.5,
        ComparisonOperator="GreaterThanThreshold",
        Tags=[{"Key": "team", "Value": "shop"}],
    )
    waiter.wait(AlarmNames=["many-orders"], WaiterConfig=WAIT)
    cloudwatch.put_composite_alarm(AlarmName="any", AlarmRule="ALARM(many-orders)", ActionsEnabled=False)
    cloudwatch.get_waiter("composite_alarm_exists").wait(
        AlarmNames=["any"], AlarmTypes=["CompositeAlarm"], WaiterConfig=WAIT
    )
    admin("clock/advance", seconds=120)
    pages = cloudwatch.get_paginator("describe_alarms").paginate(AlarmTypes=["MetricAlarm", "CompositeAlarm"])
    found = [page for page in pages if page["MetricAlarms"] or page["CompositeAlarms"]]
    metric_alarms = [one for page in found for one in page["MetricAlarms"]]
    composite_alarms = [one for page in found for one in page["CompositeAlarms"]]
    by_metric = cloudwatch.describe_alarms_for_metric(Namespace="shop", MetricName="Orders", Dimensions=SHOP)
    cloudwatch.set_alarm_state(AlarmName="many-orders", StateValue="OK", StateReason="for now")
    history = cloudwatch.get_paginator("describe_alarm_history").paginate(
        AlarmName="many-orders", HistoryItemType="StateUpdate"
    )
    cloudwatch.disable_alarm_actions(AlarmNames=["many-orders"])
    (alarm,) = cloudwatch.describe_alarms(AlarmNames=["many-orders"])["MetricAlarms"]
    tags = cloudwatch.list_tags_for_resource(ResourceARN=alarm["AlarmArn"])["Tags"]
    cloudwatch.delete_alarms(AlarmNames=["any"])
    cloudwatch.delete_alarms(AlarmNames=["many-orders"])
    return {
        "has_waited": has_waited,
        "described": [
            [one["AlarmName"], one["AlarmDescription"], one["StateValue"], one["Threshold"], one["Dimensions"]]
            for one in metric_alarms
        ],
        "composite": [[one["AlarmName"], one["StateValue"], one["ActionsEnabled"]] for one in composite_alarms],
        "of_metric": [one["AlarmName"] for one in by_metric["MetricAlarms"]],
        "states": [one["HistorySummary"] for page in history for one in page["AlarmHistoryItems"]],
        "set": [alarm["StateValue"], alarm["StateReason"], alarm["ActionsEnabled"]],
        "is_time": alarm["StateUpdatedTimestamp"] > NOW,
        "tags": tags,
        "left": cloudwatch.describe_alarms()["MetricAlarms"],
    }


def meet_errors() -> dict[str, Any]:
    """Codes of errors: of the Query form, whatever form is asked in."""
    asked = {"Namespace": "shop", "MetricName": "Orders", **WINDOW}
    return {
        "namespace": refusal(
            cloudwatch.put_metric_data, Namespace="AWS/Own", MetricData=[{"MetricName": "a", "Value": 1.0}]
        ),
        "no alarm": refusal(cloudwatch.set_alarm_state, AlarmName="none", StateValue="OK", StateReason="why"),
        "period": refusal(cloudwatch.get_metric_statistics, **asked, Period=7, Statistics=["Sum"]),
        "statistics": refusal(cloudwatch.get_metric_statistics, **asked, Period=60),
        "token": refusal(cloudwatch.list_metrics, NextToken="made up"),
        "token of rules": refusal(cloudwatch.describe_insight_rules, NextToken="made up"),
    }


def scale() -> dict[str, Any]:
    """A target and a policy, whose alarms CloudWatch describes."""
    dynamodb.create_table(
        TableName="orders",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        ProvisionedThroughput={"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
    )
    place = {
        "ServiceNamespace": "dynamodb",
        "ResourceId": "table/orders",
        "ScalableDimension": "dynamodb:table:ReadCapacityUnits",
    }
    scaling.register_scalable_target(**place, MinCapacity=5, MaxCapacity=9)
    put = scaling.put_scaling_policy(
        **place,
        PolicyName="follow",
        PolicyType="TargetTrackingScaling",
        TargetTrackingScalingPolicyConfiguration={
            "TargetValue": 70.0,
            "PredefinedMetricSpecification": {"PredefinedMetricType": "DynamoDBReadCapacityUtilization"},
        },
    )
    names = sorted(one["AlarmName"] for one in put["Alarms"])
    pages = cloudwatch.get_paginator("describe_alarms").paginate(AlarmNamePrefix="TargetTracking-")
    described = sorted(one["AlarmName"] for page in pages for one in page["MetricAlarms"])
    return {
        "units": dynamodb.describe_table(TableName="orders")["Table"]["ProvisionedThroughput"]["ReadCapacityUnits"],
        "alarms": [len(names), names == described],
        "refused": refusal(scaling.deregister_scalable_target, **place | {"ResourceId": "table/none"})[:3],
    }


model = cloudwatch.meta.service_model
heard = {
    "form": getattr(model, "resolved_protocol", model.protocol),
    "put": put_metrics(),
    "listed": list_metrics(),
    "alarms": use_alarms(),
    "errors": meet_errors(),
    "scaled": scale(),
}
print(json.dumps(heard))
