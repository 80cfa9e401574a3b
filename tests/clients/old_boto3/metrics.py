"""Metrics, alarms and scaling with an SDK of 2024, which asks CloudWatch in the Query form. Prints what it heard, as JSON. Argument: the endpoint."""

import json
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import botocore
from botocore.exceptions import ClientError

COMMON: dict[str, Any] = {
    "endpoint_url": sys.argv[1],
    "region_name": "eu-west-1",
    "aws_access_key_id": "key",
    "aws_secret_access_key": "secret",
}
OF_SHOP = [{"Name": "Shop", "Value": "lamps & <pens>"}]


def main() -> None:
    cloudwatch, dynamodb = boto3.client("cloudwatch", **COMMON), boto3.client("dynamodb", **COMMON)
    now = datetime.now(UTC)
    begin = now.replace(second=0, microsecond=0) - timedelta(minutes=10)
    times = {"StartTime": begin, "EndTime": now + timedelta(minutes=1)}
    told: dict[str, Any] = {
        "botocore": botocore.__version__,
        "form": cloudwatch.meta.service_model.metadata["protocol"],
    }
    cloudwatch.put_metric_data(
        Namespace="Shop",
        MetricData=[
            {
                "MetricName": "Sold",
                "Dimensions": OF_SHOP,
                "Timestamp": begin + timedelta(minutes=minute),
                "Value": minute,
                "Unit": "Count",
            }
            for minute in range(5)
        ]
        + [{"MetricName": "Seen", "Timestamp": begin, "Values": [1.0, 2.5], "Counts": [3.0, 1.0]}],
    )
    pages = cloudwatch.get_paginator("list_metrics").paginate(Namespace="Shop")
    told["metrics"] = sorted(one["MetricName"] for page in pages for one in page["Metrics"])
    statistics = cloudwatch.get_metric_statistics(
        Namespace="Shop", MetricName="Sold", Dimensions=OF_SHOP, Period=60, Statistics=["Sum", "Maximum"], **times
    )
    points = sorted(statistics["Datapoints"], key=lambda point: str(point["Timestamp"]))
    told["sold"] = [[point["Sum"], point["Maximum"], point["Unit"]] for point in points]
    told["first"] = points[0]["Timestamp"] == begin
    data = cloudwatch.get_metric_data(
        MetricDataQueries=[
            {
                "Id": "sold",
                "MetricStat": {
                    "Metric": {"Namespace": "Shop", "MetricName": "Sold", "Dimensions": OF_SHOP},
                    "Period": 60,
                    "Stat": "Sum",
                },
            },
            {"Id": "double", "Expression": "2 * sold", "Label": "twice"},
        ],
        ScanBy="TimestampAscending",
        **times,
    )
    told["data"] = [[one["Label"], one["Values"], one["StatusCode"]] for one in data["MetricDataResults"]]
    cloudwatch.put_metric_alarm(
        AlarmName="busy",
        Namespace="Shop",
        MetricName="Sold",
        Dimensions=OF_SHOP,
        Period=60,
        EvaluationPeriods=1,
        Statistic="Sum",
        Threshold=1000.0,
        ComparisonOperator="GreaterThanThreshold",
        Tags=[{"Key": "of", "Value": "shop"}],
    )
    cloudwatch.get_waiter("alarm_exists").wait(AlarmNames=["busy"], WaiterConfig={"Delay": 1})
    (alarm,) = cloudwatch.describe_alarms(AlarmNames=["busy"])["MetricAlarms"]
    told["alarm"] = [alarm["AlarmName"], alarm["Threshold"], alarm["Dimensions"], alarm["ActionsEnabled"]]
    told["tags"] = cloudwatch.list_tags_for_resource(ResourceARN=alarm["AlarmArn"])["Tags"]
    cloudwatch.set_alarm_state(AlarmName="busy", StateValue="ALARM", StateReason="a test")
    history = cloudwatch.describe_alarm_history(AlarmName="busy", HistoryItemType="StateUpdate")["AlarmHistoryItems"]
    told["history"] = [one["HistorySummary"] for one in history][-1:]
    told["mistakes"] = [
        heard(lambda: cloudwatch.set_alarm_state(AlarmName="nobody", StateValue="OK", StateReason="x")),
        heard(
            lambda: cloudwatch.get_metric_statistics(
                Namespace="Shop", MetricName="Sold", Period=61, Statistics=["Sum"], **times
            )
        ),
        heard(lambda: cloudwatch.get_metric_data(MetricDataQueries=[{"Id": "e", "Expression": "nothing"}], **times)),
    ]
    dynamodb.create_table(
        TableName="orders",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    dynamodb.put_item(TableName="orders", Item={"pk": {"S": "1"}})
    consumed = cloudwatch.get_metric_statistics(
        Namespace="AWS/DynamoDB",
        MetricName="ConsumedWriteCapacityUnits",
        Dimensions=[{"Name": "TableName", "Value": "orders"}],
        Period=3600,
        Statistics=["Sum"],
        StartTime=now - timedelta(hours=2),
        EndTime=now + timedelta(hours=1),
    )
    told["consumed"] = sum(point["Sum"] for point in consumed["Datapoints"])
    json.dump(told, sys.stdout)


def heard(call: Any) -> list[str]:
    """Code and message of the error with which a call is refused."""
    try:
        call()
    except ClientError as error:
        return [error.response["Error"]["Code"], error.response["Error"]["Message"]]
    return ["none"]


main()
