"""A day of a table that auto scaling follows, in a few seconds: `python docs/examples/scaling_day.py day.svg` draws it.

Every ten minutes, programs use as many units as the time of day says. Each minute, a policy compares what was consumed with what is
provisioned, and DynamoDB throttles what is too much. Service time is moved, so nothing waits.
"""

import math
import sys
from typing import Any, NamedTuple

from botocore.config import Config
from botocore.exceptions import ClientError

from hashrange.settings import Settings
from hashrange.testing import server
from hashrange.testing.database import Database

TABLE = "visits"
STEP_MINUTES = 10
QUERY_UNITS = 170
"""Read units of one Query over two items of 340 KB."""
PLACE = {
    "ServiceNamespace": "dynamodb",
    "ResourceId": f"table/{TABLE}",
    "ScalableDimension": "dynamodb:table:ReadCapacityUnits",
}


class Step(NamedTuple):
    """What ten minutes looked like, in units a second."""

    wanted: float
    provisioned: int
    consumed: float
    throttled: float


def wanted_units(minute: int) -> float:
    """Units a second that programs want: few at night, most at noon, and a peak at eight in the evening."""
    day = 5 + 10 * max(0.0, math.sin((minute / 60 - 6) / 14 * math.pi))
    return day + 70 * math.exp(-(((minute / 60 - 20) / 0.4) ** 2))


def create(database: Database) -> None:
    """A provisioned table, and a policy that follows the use of its reads."""
    database.client().create_table(
        TableName=TABLE,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        AttributeDefinitions=[
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "S"},
        ],
        ProvisionedThroughput={"ReadCapacityUnits": 8, "WriteCapacityUnits": 5},
    )
    for number in "12":
        item = {"pk": {"S": "a"}, "sk": {"S": number}, "text": {"S": "x" * (340 * 1024 - 10)}}
        database.client().put_item(TableName=TABLE, Item=item)
    scaling = database.client("application-autoscaling")
    scaling.register_scalable_target(**PLACE, MinCapacity=8, MaxCapacity=40)
    scaling.put_scaling_policy(
        **PLACE,
        PolicyName="reads",
        PolicyType="TargetTrackingScaling",
        TargetTrackingScalingPolicyConfiguration={
            "TargetValue": 70,
            "PredefinedMetricSpecification": {"PredefinedMetricType": "DynamoDBReadCapacityUtilization"},
        },
    )


def live(database: Database) -> list[Step]:
    """Live through a day."""
    client: Any = database.client(config=Config(retries={"total_max_attempts": 1}))
    query = {
        "TableName": TABLE,
        "KeyConditionExpression": "pk = :a",
        "ExpressionAttributeValues": {":a": {"S": "a"}},
        "Select": "COUNT",
        "ConsistentRead": True,
    }
    steps = []
    for minute in range(0, 24 * 60, STEP_MINUTES):
        wanted = wanted_units(minute)
        consumed = throttled = owed = 0.0
        for _ in range(STEP_MINUTES):
            owed += wanted * 60
            for _ in range(int(owed // QUERY_UNITS)):
                owed -= QUERY_UNITS
                try:
                    client.query(**query)
                    consumed += QUERY_UNITS
                except ClientError:
                    throttled += QUERY_UNITS
            database.clock.advance(60)
        table = client.describe_table(TableName=TABLE)["Table"]
        seconds = STEP_MINUTES * 60
        provisioned = table["ProvisionedThroughput"]["ReadCapacityUnits"]
        steps.append(Step(wanted, provisioned, consumed / seconds, throttled / seconds))
    return steps


WIDTH, HEIGHT, LEFT, TOP = 720, 240, 40, 20
COLOURS = {"provisioned": "#888888", "consumed": "#1f77b4", "throttled": "#d62728"}


def drawing_of(steps: list[Step]) -> str:
    """The day as SVG."""
    most = max(max(step[1:]) for step in steps) * 1.1
    lines = []
    for place, (name, colour) in enumerate(COLOURS.items()):
        points = [
            f"{LEFT + WIDTH * number / len(steps):.1f},{TOP + HEIGHT * (1 - getattr(step, name) / most):.1f}"
            for number, step in enumerate(steps)
        ]
        lines.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{" ".join(points)}"/>')
        lines.append(f'<text x="{LEFT + 10 + 110 * place}" y="{TOP + 4}" fill="{colour}">{name}</text>')
    for hour in range(0, 25, 3):
        x = LEFT + WIDTH * hour / 24
        lines.append(f'<text x="{x - 10:.0f}" y="{TOP + HEIGHT + 18}" fill="#555">{hour}:00</text>')
        lines.append(f'<line x1="{x:.0f}" x2="{x:.0f}" y1="{TOP}" y2="{TOP + HEIGHT}" stroke="#eee"/>')
    for units in range(0, int(most) + 1, 10):
        y = TOP + HEIGHT * (1 - units / most)
        lines.append(f'<text x="8" y="{y + 4:.0f}" fill="#555">{units}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 20} {TOP + HEIGHT + 30}"'
        ' font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
        f"{''.join(sorted(lines, key=lambda line: line.startswith('<poly')))}</svg>\n"
    )


def main(path: str) -> None:
    """Live, draw, and print what was scaled."""
    with server(Settings(data_dir=None, throughput="enforced", adaptive_capacity="off")) as database:
        database.clock.freeze()
        database.clock.advance(86_400 - database.clock.now() % 86_400)
        create(database)
        steps = live(database)
        done = database.client("application-autoscaling").describe_scaling_activities(ServiceNamespace="dynamodb")
    with open(path, "w", encoding="utf-8") as file:
        file.write(drawing_of(steps))
    for activity in reversed(done["ScalingActivities"]):
        print(f"{activity['StartTime']:%H:%M} {activity['StatusCode']}: {activity['Description']}")


if __name__ == "__main__":
    main(sys.argv[1])
