"""Auto scaling by cases: a table, what it is told, and loads over time → its write capacity after each minute.

The first line: `from MINIMUM to MAXIMUM at TARGET %`, then members of the policy as `Name=value`.
A load is `UNITS a second for N minutes`; equal capacities that follow each other are shown as `5 x 3`. `suspend in`,
`suspend out`, `resume`, `bounds MINIMUM MAXIMUM` register the target again, `capacity UNITS` is an UpdateTable
by someone else, and `activities` shows what has been scaled, oldest first.
"""

import itertools
import json
import re

from hashrange.settings import Settings
from hashrange.testing import server
from hashrange.testing.database import Database
from tests.scripts.cases import case_test
from tests.unit.autoscaling.conftest import PLACE, TABLE, Load, activities, at_noon, follow

SUSPENDED = ("DynamicScalingInSuspended", "DynamicScalingOutSuspended")


class World:
    """A table whose writes are scaled."""

    def __init__(self, database: Database, line: str) -> None:
        found = re.fullmatch(r"from (\d+) to (\d+) at (\d+) %(.*)", line)
        assert found, f"not understood: {line}"
        at_noon(database)
        self._database = database
        database.client().create_table(**TABLE)
        self._scaling = database.client("application-autoscaling")
        self._scaling.register_scalable_target(**PLACE, MinCapacity=int(found[1]), MaxCapacity=int(found[2]))
        members = {name: json.loads(value) for name, _, value in (one.partition("=") for one in found[4].split())}
        follow(self._scaling, float(found[3]), **members)
        self._load = Load(database)

    def run(self, line: str) -> str | None:
        """Do what the line says; returns what is to be shown."""
        verb, *words = line.split()
        if line == "activities":
            found = reversed(activities(self._scaling, IncludeNotScaledActivities=True))
            return " | ".join(
                f"{one['StatusCode']}: {one['Description']}{_reason(one.get('NotScaledReasons'))}" for one in found
            )
        if verb == "capacity":
            given = {"ReadCapacityUnits": 5, "WriteCapacityUnits": int(words[0])}
            self._database.client().update_table(TableName="orders", ProvisionedThroughput=given)
        elif verb == "bounds":
            minimum, maximum = map(int, words)
            self._scaling.register_scalable_target(**PLACE, MinCapacity=minimum, MaxCapacity=maximum)
            return f"{self._load.units()}"
        elif verb in {"suspend", "resume"}:
            state = {name: verb == "suspend" and words[0] in name.lower() for name in SUSPENDED}
            self._scaling.register_scalable_target(**PLACE, SuspendedState=state)
        else:
            loads = re.fullmatch(r"([\d.]+) a second for (\d+) minutes?", line)
            assert loads, f"not understood: {line}"
            capacities = [self._load.minute(round(float(loads[1]) * 60)) for _ in range(int(loads[2]))]
            groups = [(units, len(list(equal))) for units, equal in itertools.groupby(capacities)]
            return ", ".join(f"{units} x {count}" if count > 1 else f"{units}" for units, count in groups)
        return None


def _reason(reasons: list[dict[str, str]] | None) -> str:
    return f" ({reasons[0]['Code']})" if reasons else ""


def evaluate(text: str) -> str:
    first, *lines = text.split("\n")
    with server(Settings(data_dir=None)) as database:
        world = World(database, first)
        shown = [(line, world.run(line)) for line in lines]
    return "\n".join(f"{line} → {result}" for line, result in shown if result is not None)


test_autoscaling = case_test("autoscaling.case", evaluate)
