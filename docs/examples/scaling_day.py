"""A day of a table that auto scaling follows, in about a second:
`python docs/examples/scaling_day.py day.svg` prints and draws it.

Each minute, programs read as many units as the time of day says. Target tracking follows with the provisioned units, up
to a maximum; what is too much is throttled. Service time is moved, so nothing waits.
"""

import gc
import itertools
import math
import re
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from hashrange.errors import ProvisionedThroughputExceededException
from hashrange.settings import Settings
from hashrange.testing import server
from hashrange.testing.inside import Inside

DAY_MINUTES = 24 * 60
UNITS_MIN, UNITS_MAX = 1, 12
"""Bounds of the table's capacity, in read units per second."""
ITEM_UNITS, QUERY_ITEMS_MAX = 10, 25
"""Read units of an item, which has 40 KB, and as many items as a Query returns at once."""
CUSTOMER = {"S": "c-1"}
LEFT, TOP, WIDTH, HEIGHT, RIGHT, BOTTOM = 50, 45, 860, 300, 25, 35
"""Margins and plot, in pixels."""
PAPER, INK, RULE = "#ffffff", "#333333", "#dddddd"
PROVISIONED, CONSUMED, THROTTLED = "#1f3a93", "#8ec5e8", "#d62728"
QUERY = {
    "TableName": "Orders",
    "KeyConditionExpression": "customer = :customer",
    "ExpressionAttributeValues": {":customer": CUSTOMER},
    "ConsistentRead": True,
    "Select": "COUNT",
}
SCALING = "application-autoscaling"
TARGET = {
    "ServiceNamespace": "dynamodb",
    "ResourceId": "table/Orders",
    "ScalableDimension": "dynamodb:table:ReadCapacityUnits",
}


class Minute(NamedTuple):
    """What has happened in one minute, in read units per second."""

    provisioned: int
    consumed: float
    throttled: float


def wanted_items(minute: int) -> int:
    """Items that programs read in a minute of the day: few at night, most in the afternoon,
    and a peak at eight in the evening.
    """
    hour = minute / 60
    units_per_second = 2.3 - 1.5 * math.cos((hour - 3) / 24 * 2 * math.pi) + 14 * math.exp(-(((hour - 20) / 0.5) ** 2))
    return round(units_per_second * 60 / ITEM_UNITS)


def simulate() -> tuple[list[Minute], list[dict[str, Any]]]:
    """The minutes of the day, and its scaling activities."""
    with server(Settings(data_dir=None, throughput="enforced")) as database:
        database.clock.freeze()
        return database.run(live)


async def live(inside: Inside) -> tuple[list[Minute], list[dict[str, Any]]]:
    """Live through a day on the database's own thread, where calls take the least time."""
    await create_table(inside)
    begin = inside.now() // 86_400 * 86_400 + 86_400
    await inside.advance(begin - inside.now())  # the load comes at the begin of each minute
    await register(inside)
    wanted = [wanted_items(minute) for minute in range(DAY_MINUTES)]
    throttled = [await items_throttled(inside, items) for items in wanted]
    activities = await scaling_activities(inside)
    provisioned = units_provisioned(activities, begin)
    minutes = [
        Minute(units, (items - refused) * ITEM_UNITS / 60, refused * ITEM_UNITS / 60)
        for units, items, refused in zip(provisioned, wanted, throttled, strict=True)
    ]
    return minutes, activities


async def create_table(inside: Inside) -> None:
    """A table with the items to be read."""
    key = {"customer": "HASH", "number": "RANGE"}
    types = {"customer": "S", "number": "N"}
    request = {
        "TableName": "Orders",
        "KeySchema": [{"AttributeName": name, "KeyType": kind} for name, kind in key.items()],
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": kind} for name, kind in types.items()],
        "ProvisionedThroughput": {"ReadCapacityUnits": UNITS_MIN, "WriteCapacityUnits": 1000},
    }
    await inside.call("CreateTable", request)
    for number in range(QUERY_ITEMS_MAX):
        item = {"customer": CUSTOMER, "number": {"N": str(number)}, "text": {"S": "x" * (4096 * ITEM_UNITS - 100)}}
        await inside.call("PutItem", {"TableName": "Orders", "Item": item})


async def register(inside: Inside) -> None:
    """Scale the reads so that 70 % of the units are used."""
    bounds = {"MinCapacity": UNITS_MIN, "MaxCapacity": UNITS_MAX}
    await inside.call("RegisterScalableTarget", TARGET | bounds, service=SCALING)
    tracking = {
        "TargetValue": 70.0,
        "PredefinedMetricSpecification": {"PredefinedMetricType": "DynamoDBReadCapacityUtilization"},
    }
    policy = {
        "PolicyName": "reads",
        "PolicyType": "TargetTrackingScaling",
        "TargetTrackingScalingPolicyConfiguration": tracking,
    }
    await inside.call("PutScalingPolicy", TARGET | policy, service=SCALING)


async def items_throttled(inside: Inside, wanted: int) -> int:
    """Read so many items, and let a minute pass; returns how many were refused."""
    refused = 0
    for begin in range(0, wanted, QUERY_ITEMS_MAX):
        limit = min(QUERY_ITEMS_MAX, wanted - begin)
        try:
            await inside.call("Query", QUERY | {"Limit": limit})
        except ProvisionedThroughputExceededException:
            refused += limit
    await inside.advance(60)
    return refused


async def scaling_activities(inside: Inside) -> list[dict[str, Any]]:
    """All that auto scaling has done, in order of time."""
    activities: list[dict[str, Any]] = []
    page: dict[str, Any] = {"NextToken": None}
    while "NextToken" in page:
        request = {"ServiceNamespace": "dynamodb", "NextToken": page["NextToken"]}
        page = await inside.call("DescribeScalingActivities", request, service=SCALING)
        activities += page["ScalingActivities"]
    return activities[::-1]


def units_provisioned(activities: list[dict[str, Any]], begin_seconds: float) -> list[int]:
    """The capacity of each minute, as the activities have set it."""
    changes = {
        int((activity["StartTime"].timestamp() - begin_seconds) // 60): int(
            re.findall(r"\d+", activity["Description"])[0]
        )
        for activity in activities
    }
    capacities = [UNITS_MIN]
    for minute in range(DAY_MINUTES):
        capacities.append(changes.get(minute, capacities[-1]))
    return capacities[1:]


def draw(minutes: list[Minute]) -> str:
    """The day as an SVG: what is provisioned as a line, what is consumed and what is throttled as areas."""
    most = max(max(one.provisioned, one.consumed + one.throttled) for one in minutes)
    top = math.ceil(most / 10) * 10

    def at(minute: float, units: float) -> str:
        return f"{LEFT + WIDTH * minute / DAY_MINUTES:.1f},{TOP + HEIGHT * (1 - units / top):.0f}"

    def steps(values: list[float]) -> list[str]:
        runs = itertools.groupby(enumerate(values), lambda one: at(0, one[1]))
        spans = [list(run) for _, run in runs]
        return [point for span in spans for point in (at(*span[0]), at(span[-1][0] + 1, span[0][1]))]

    consumed = steps([one.consumed for one in minutes])
    wanted = steps([one.consumed + one.throttled for one in minutes])
    provisioned = steps([one.provisioned for one in minutes])
    shapes = [
        f'<rect width="100%" height="100%" fill="{PAPER}"/>',
        *(_rule(at(0, units), at(DAY_MINUTES, units), f"{units}") for units in range(0, top + 1, 5)),
        *(_hour(at(60 * hour, 0), f"{hour}:00") for hour in range(0, 25, 3)),
        f'<polygon fill="{THROTTLED}" points="{" ".join([*wanted, *reversed(consumed)])}"/>',
        f'<polygon fill="{CONSUMED}" points="{" ".join([*consumed, at(DAY_MINUTES, 0), at(0, 0)])}"/>',
        f'<polyline fill="none" stroke="{PROVISIONED}" stroke-width="1.5" points="{" ".join(provisioned)}"/>',
        f'<text x="{LEFT}" y="{TOP - 14}">read units per second</text>',
        *_legend(),
    ]
    size = f'width="{LEFT + WIDTH + RIGHT}" height="{TOP + HEIGHT + BOTTOM}"'
    style = f'font-family="sans-serif" font-size="12" fill="{INK}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>\n' + "\n".join(shapes) + "\n</svg>\n"


def _rule(begin: str, end: str, label: str) -> str:
    (x, y), (until, _) = begin.split(","), end.split(",")
    line = f'<line x1="{x}" y1="{y}" x2="{until}" y2="{y}" stroke="{RULE}"/>'
    return f'{line}<text x="{LEFT - 8}" y="{float(y) + 4}" text-anchor="end">{label}</text>'


def _hour(place: str, label: str) -> str:
    x, y = place.split(",")
    tick = f'<line x1="{x}" y1="{y}" x2="{x}" y2="{float(y) + 5}" stroke="{INK}"/>'
    return f'{tick}<text x="{x}" y="{float(y) + 20}" text-anchor="middle">{label}</text>'


def _legend() -> list[str]:
    entries = (("provisioned", PROVISIONED), ("consumed", CONSUMED), ("throttled", THROTTLED))
    return [
        (
            f'<rect x="{x}" y="{TOP - 24}" width="12" height="12" fill="{color}"/><text x="{x + 18}"'
            f' y="{TOP - 14}">{name}</text>'
        )
        for x, (name, color) in zip(range(LEFT + WIDTH - 330, LEFT + WIDTH, 115), entries, strict=True)
    ]


def main(path: str | None = None) -> None:
    """Live through the day, and print what was scaled, how much was throttled, and how long the simulation
    took. Draw it if there is a path.
    """
    gc.disable()  # calls leave no cycles, and what has been imported need not be looked at again and again
    begin = time.perf_counter()
    day, activities = simulate()
    seconds = time.perf_counter() - begin
    for activity in activities:
        print(f"{activity['StartTime']:%H:%M} {activity['StatusCode']}: {activity['Description']}")
    consumed, throttled = (60 * sum(units) for units in zip(*[one[1:] for one in day], strict=True))
    print(f"{consumed:,.0f} units were read, {throttled:,.0f} throttled. The simulation took {seconds:.2f} s.")
    if path is None:
        print("With the path of an SVG file as argument, such as day.svg, this program also draws the day.")
    else:
        Path(path).write_text(draw(day), encoding="utf-8")
        print(f"The day is drawn in {path}.")


if __name__ == "__main__":
    main(*sys.argv[1:2])
