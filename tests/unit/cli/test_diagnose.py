"""`hashrange diagnose`: each fault is planted in a table of its own, and found; a healthy table has none."""

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from hashrange.cli.diagnose import FAULTY
from hashrange.cli.main import DONE, FAILED, WRONG_USE, main
from hashrange.settings import Settings
from hashrange.testing import Database, Fault, server
from hashrange.toolkit.diagnosis import CHECKS
from tests.docs.pages import ROOT, examples_of

pytestmark = pytest.mark.usefixtures("no_variables")

Printed = pytest.CaptureFixture[str]
HOUR, DAY = 3600, 86_400
HOURS, DAYS = 6, 15


class World:
    """A database whose time began in the past, and tables in it."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.client = database.client(config=Config(retries={"total_max_attempts": 1}))

    def create(self, name: str, *indexes: str, has_sort_key: bool = False, **members: Any) -> None:
        """Make a table that can be recovered, with indexes that project all, or as `members` say."""
        keys = ["pk", *(["sk"] if has_sort_key else [])]
        kinds = ("HASH", "RANGE")
        wanted: dict[str, Any] = {
            "KeySchema": [{"AttributeName": one, "KeyType": kind} for one, kind in zip(keys, kinds, strict=False)],
            "AttributeDefinitions": [{"AttributeName": one, "AttributeType": "S"} for one in [*keys, *indexes]],
        }
        if indexes:
            wanted["GlobalSecondaryIndexes"] = [index_of(one) for one in indexes]
        if "ProvisionedThroughput" not in members:
            wanted["BillingMode"] = "PAY_PER_REQUEST"
        self.client.create_table(TableName=name, **wanted | members)
        self.client.update_continuous_backups(
            TableName=name, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
        )

    def put(self, name: str, key: str, size_bytes: int = 100, **attributes: str) -> None:
        """Write an item of about this size."""
        item = {"pk": key, "text": "x" * size_bytes, **attributes}
        self.client.put_item(TableName=name, Item={one: {"S": value} for one, value in item.items()})

    def put_until_refused(self, name: str, code: str, **attributes: str) -> None:
        """Change one item of 50 units again and again, while time stands still."""
        with pytest.raises(ClientError, match=code):
            for number in range(100):
                self.put(name, "one", 50_000 + number, **attributes)

    def query(self, name: str, index: str, value: str) -> None:
        """Read an index."""
        self.client.query(
            TableName=name, IndexName=f"by-{index}", KeyConditionExpression="#k = :v",
            ExpressionAttributeNames={"#k": index}, ExpressionAttributeValues={":v": {"S": value}},
        )  # fmt: skip

    def diagnose(self, table: str, capsys: Printed, *words: str) -> dict[str, dict[str, str]]:
        """The verdict of each check by its name, of which one is kept."""
        code = main(["diagnose", table, "--endpoint", self.database.endpoint, "--output", "json", *words])
        verdicts = json.loads(capsys.readouterr().out)
        assert {one["check"] for one in verdicts} == {check.name for check in CHECKS}
        assert code == (FAULTY if any(one["state"] == "found" for one in verdicts) else DONE)
        return {one["check"]: one for one in verdicts}


def index_of(attribute: str, **members: Any) -> dict[str, Any]:
    """A global secondary index that has this attribute as its key."""
    keys = [{"AttributeName": attribute, "KeyType": "HASH"}]
    return {"IndexName": f"by-{attribute}", "KeySchema": keys, "Projection": {"ProjectionType": "ALL"}, **members}


def found(verdicts: dict[str, dict[str, str]]) -> dict[str, str]:
    """Check → what it has found."""
    return {name: one["evidence"] for name, one in verdicts.items() if one["state"] == "found"}


@pytest.fixture(scope="module")
def hours() -> Iterator[World]:
    """Tables with faults that show within hours."""
    settings = Settings(data_dir=None, port=0, clock_behind_seconds=HOURS * HOUR, throughput="enforced")
    with server(settings) as database:
        world = World(database)
        plant_throttling(world)
        plant_in_items(world)
        plant_conflicts(world)
        world.create("scanned")
        world.create("looked-up")
        world.create("exported")
        for _ in range(120):
            world.client.scan(TableName="exported")
        for name in ("filtered", "selected"):
            world.create(name)
            for number in range(240):
                world.put(name, f"{number}", 4000, kind="a" if name == "filtered" or number % 4 else "b")
        world.create("quiet")
        world.client.update_contributor_insights(TableName="quiet", ContributorInsightsAction="ENABLE")
        for _ in range(4):
            for _ in range(30):
                world.client.scan(TableName="scanned")
            for _ in range(25):
                world.client.scan(TableName="looked-up")
            for _ in range(230):
                world.client.get_item(TableName="looked-up", Key={"pk": {"S": "a"}})
            database.clock.advance(HOUR)
        world.put("quiet", "one", 3000)
        for name in ("filtered", "selected") * 10:
            world.client.scan(
                TableName=name, ConsistentRead=True,
                FilterExpression="kind = :k", ExpressionAttributeValues={":k": {"S": "b"}},
            )  # fmt: skip
        database.clock.advance((HOURS - 4) * HOUR)
        yield world


def plant_throttling(world: World) -> None:
    """Requests that are refused, for each of the reasons."""
    few, many = ({"ReadCapacityUnits": one, "WriteCapacityUnits": one} for one in (1, 1000))
    world.create("throttled", ProvisionedThroughput=few)
    world.create("capped", OnDemandThroughput={"MaxReadRequestUnits": 100, "MaxWriteRequestUnits": 1})
    world.create("hot")
    world.client.update_contributor_insights(TableName="hot", ContributorInsightsAction="ENABLE")
    indexes = [index_of("kind", ProvisionedThroughput=few)]
    definitions = [{"AttributeName": one, "AttributeType": "S"} for one in ("pk", "kind")]
    world.create(
        "squeezed", ProvisionedThroughput=many, GlobalSecondaryIndexes=indexes, AttributeDefinitions=definitions
    )
    world.create(
        "starved", ProvisionedThroughput=many, GlobalSecondaryIndexes=indexes, AttributeDefinitions=definitions
    )
    world.database.clock.freeze()
    world.put_until_refused("throttled", "ProvisionedThroughputExceeded")
    world.put_until_refused("capped", "ThrottlingException")
    world.put_until_refused("hot", "ThrottlingException")
    world.put_until_refused("squeezed", "ProvisionedThroughputExceeded", kind="a")
    world.query("squeezed", "kind", "b")
    world.put("starved", "one", 50_000, kind="a")
    with pytest.raises(ClientError, match="ProvisionedThroughputExceeded"):
        for _ in range(100):
            world.query("starved", "kind", "a")
    world.database.clock.resume()

    world.create("limited")
    limit = Fault("throttle", table="limited", exception="RequestLimitExceeded", reason="AccountLimitExceeded")
    with world.database.faults.during(limit), pytest.raises(ClientError, match="RequestLimitExceeded"):
        world.put("limited", "one")


def plant_in_items(world: World) -> None:
    """Faults that a sample of the items, or the description, shows."""
    world.create("large")
    world.put("large", "a", 200_000)
    world.put("large", "b", 200)
    world.create("crowded", has_sort_key=True)
    world.create("wide", "kind", "place")
    world.create("unrecoverable")
    world.client.update_continuous_backups(
        TableName="unrecoverable", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": False}
    )
    for number in range(30):
        world.put("crowded", f"{max(number - 20, 0)}", sk=f"{number}")
        world.put("wide", f"{number}", 3000, kind=f"{number}", place=f"{number}")
    for index in ("kind", "place"):
        world.query("wide", index, "1")


def plant_conflicts(world: World) -> None:
    """A transaction that meets another one."""
    world.create("conflicting")
    write = {"Put": {"TableName": "conflicting", "Item": {"pk": {"S": "a"}}}}
    world.client.transact_write_items(TransactItems=[write])
    with (
        world.database.faults.during(Fault("conflict", table="conflicting")),
        pytest.raises(ClientError, match="TransactionCanceled"),
    ):
        world.client.transact_write_items(TransactItems=[write])


@pytest.mark.parametrize(
    ("table", "faults"),
    [
        ("throttled", {"throttling": "1 write event of the table was throttled."}),
        ("limited", {"throttling": "1 write event of the table was throttled."}),
        ("starved", {"throttling": "1 read event of the index by-kind was throttled."}),
        ("capped", {"throttling": "1 write event of the table was throttled."}),
        (
            "hot",
            {
                "hot partitions": "1 write event of the table was throttled by a key range. Throttled most: one.",
                "hot keys": "100% of the units of the last day are those of the key one.",
            },
        ),
        (
            "squeezed",
            {
                "back-pressure": "1 write of the table was throttled, because the index by-kind could not keep up.",
            },
        ),
        ("scanned", {"scans": "120 Scans in 4 different hours, and 0 other requests that read."}),
        ("filtered", {"filters": "Query and Scan read at least 2,3"}),
        ("conflicting", {"conflicts": "1 conflict of transactions at items, and 1 TransactWriteItems succeeded."}),
        ("large", {"large items": "1 of 2 sampled items have over 100 KB; the largest has 200,007 bytes."}),
        ("crowded", {"partition keys": "21 of 30 sampled items have the same pk, the partition key of the table;"}),
        ("wide", {"projections": "All 2 indexes project ALL attributes, of items of 3,0"}),
        ("unrecoverable", {"recovery": "Point-in-time recovery is off."}),
    ],
)
def test_a_planted_fault_is_found(table: str, faults: dict[str, str], hours: World, capsys: Printed) -> None:
    verdicts = hours.diagnose(table, capsys)
    seen = found(verdicts)
    assert seen.keys() == faults.keys()
    for name, begin in faults.items():
        assert seen[name].startswith(begin), seen[name]
        assert verdicts[name]["cause"].endswith(".")
        assert verdicts[name]["remedy"].endswith(".")


@pytest.mark.parametrize(
    ("table", "cause"),
    [
        ("throttled", "More units were asked for than are provisioned, and the burst was used up."),
        ("capped", "The on-demand maximum that the table or index was given was reached."),
        ("limited", "The account's quota for a table was reached."),
    ],
)
def test_the_limit_that_was_met_is_the_cause(table: str, cause: str, hours: World, capsys: Printed) -> None:
    assert hours.diagnose(table, capsys, "--sample", "0")["throttling"]["cause"] == cause


@pytest.mark.parametrize(
    ("table", "check"),
    [
        ("exported", "scans"),  # 120 Scans in one hour are an export
        ("looked-up", "scans"),  # in each hour, but seldom beside other reads
        ("selected", "filters"),  # a filter that returns a quarter is worth its reads
        ("quiet", "hot keys"),  # one key has all units of the day, which are three
    ],
)
def test_what_only_looks_like_a_fault_is_none(table: str, check: str, hours: World, capsys: Printed) -> None:
    verdicts = hours.diagnose(table, capsys)
    assert not found(verdicts)
    assert verdicts[check]["state"] == "ok"


@pytest.fixture(scope="module")
def days() -> Iterator[World]:
    """Two tables with an index each, of which one is not read."""
    with server(Settings(data_dir=None, port=0, clock_behind_seconds=DAYS * DAY)) as database:
        world = World(database)
        for name in ("healthy", "unused"):
            world.create(name, "kind")
            for number in range(30):
                world.put(name, f"{number}", kind=f"{number}")
        database.clock.advance((DAYS - 1) * DAY)
        world.create("young", "kind")
        world.client.update_contributor_insights(TableName="healthy", ContributorInsightsAction="ENABLE")
        for name in ("healthy", "unused", "young"):
            for number in range(30):
                world.client.get_item(TableName=name, Key={"pk": {"S": f"{number}"}}, ConsistentRead=True)
                world.put(name, f"{number}", 200, kind=f"{number}")
        world.query("healthy", "kind", "1")
        database.clock.advance(DAY - HOUR)
        yield world


def test_a_healthy_table_has_no_faults(days: World, capsys: Printed) -> None:
    verdicts = days.diagnose("healthy", capsys)
    assert {name: one["state"] for name, one in verdicts.items()} == {check.name: "ok" for check in CHECKS}


def test_an_index_that_is_not_read_is_found(days: World, capsys: Printed) -> None:
    seen = found(days.diagnose("unused", capsys))
    assert seen == {
        "unused indexes": "The index by-kind has not been read for 14 days, and its writes took 30 units.",
    }


def test_a_young_index_is_not_called_unused(days: World, capsys: Printed) -> None:
    verdict = days.diagnose("young", capsys)["unused indexes"]
    assert (verdict["state"], verdict["evidence"]) == ("unknown", "The metrics of by-kind are younger than 14 days.")
    verdict = days.diagnose("unused", capsys, "--days", "7")["unused indexes"]
    assert (verdict["state"], verdict["evidence"]) == ("unknown", "This is judged over 14 days; leave out --days.")


def test_the_checklist_is_for_people(days: World, hours: World, capsys: Printed) -> None:
    assert main(["diagnose", "large", "--endpoint", hours.database.endpoint]) == FAULTY
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("found    large items     1 of 2 sampled items have over 100 KB;") for line in lines)
    assert any(line.startswith("unknown  hot keys        Contributor Insights is off") for line in lines)
    assert lines[-1] == "1 finding, 9 ok, 2 unknown."
    assert main(["diagnose", "healthy", "--endpoint", days.database.endpoint, "--output", "csv"]) == DONE
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["state"] for row in rows] == ["ok"] * len(CHECKS)


def test_the_page_shows_what_is_printed(hours: World, capsys: Printed) -> None:
    page = (ROOT / "docs" / "toolkit.md").read_text(encoding="utf-8")
    [shown] = [one.text for one in examples_of(page) if one.text.startswith("$ hashrange diagnose ")]
    assert main(["diagnose", "throttled", "--endpoint", hours.database.endpoint]) == FAULTY
    printed = capsys.readouterr().out.replace("from-table throttled", "from-table Orders")
    assert printed.startswith(shown.partition("\n")[2])


def test_nothing_is_read_if_nothing_may_be(hours: World, capsys: Printed) -> None:
    verdicts = hours.diagnose("large", capsys, "--sample", "0")
    assert not found(verdicts)
    assert verdicts["large items"]["evidence"] == "No items were read, because of --sample 0."


def test_what_cannot_be_seen_is_unknown(capsys: Printed) -> None:
    with server(Settings(data_dir=None, port=0, metrics="off")) as database:
        world = World(database)
        world.create("plain", "kind")
        verdicts = world.diagnose("plain", capsys)
    unknown = {name for name, one in verdicts.items() if one["state"] == "unknown"}
    assert unknown == {check.name for check in CHECKS} - {"recovery", "large items", "projections"}


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        ([], WRONG_USE, "`hashrange diagnose` needs TABLE; `hashrange diagnose --help` tells more."),
        (["large", "--days", "0"], WRONG_USE, '--days is "0"; it must be a number from 1 to 60.'),
        (["large", "--sample", "x"], WRONG_USE, '--sample is "x"; it must be a whole number from 0 to 100,000.'),
        (["large", "--output", "yaml"], WRONG_USE, '--output is "yaml"; it must be table, json or csv.'),
        (["missing"], FAILED, "there is no table missing in us-east-1 at http://127.0.0.1:"),
    ],
)
def test_what_is_wrong_is_told(words: list[str], code: int, sentence: str, hours: World, capsys: Printed) -> None:
    assert main(["diagnose", *words, "--endpoint", hours.database.endpoint]) == code
    error = capsys.readouterr().err
    assert error.startswith(f"hashrange: {sentence}")
    assert error.count("\n") == 1
