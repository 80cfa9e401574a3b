"""`Database.run`: programs on the database's own thread."""

import asyncio
import os
import signal
import threading
from datetime import datetime
from typing import Any

import pytest

from hashrange.aws_services.operation import ServiceError
from hashrange.errors import ApiError, SerializationException
from hashrange.settings import Settings
from hashrange.testing import server
from hashrange.testing.database import Database
from hashrange.testing.in_process import CLOSED
from hashrange.testing.inside import Inside
from tests.unit.testing.test_calls import KEY, TABLE

TARGET = {
    "ServiceNamespace": "dynamodb",
    "ResourceId": "table/Orders",
    "ScalableDimension": "dynamodb:table:ReadCapacityUnits",
}


@pytest.fixture
def database() -> Any:
    with server() as one:
        yield one


async def forever(_inside: Inside, begun: threading.Event | None = None, ended: threading.Event | None = None) -> None:
    """Wait without end."""
    try:
        if begun is not None:
            begun.set()
        await asyncio.Event().wait()
    finally:
        if ended is not None:
            ended.set()


def test_a_program_calls_and_moves_time_and_returns_a_value(database: Database) -> None:
    async def program(inside: Inside, count: int, *, sort: str) -> tuple[int, str, float]:
        await inside.call("CreateTable", TABLE)
        for number in range(count):
            await inside.call("PutItem", {"TableName": "Orders", "Item": {"id": {"S": str(number)}}})
        began = inside.now()
        await inside.advance(3600)
        page = await inside.call("Scan", {"TableName": "Orders"})
        return page["Count"], sort, inside.now() - began

    database.clock.freeze()
    assert database.run(program, 30, sort="abc") == (30, "abc", 3600.0)
    assert len(database.client().scan(TableName="Orders")["Items"]) == 30


def test_a_program_meets_the_services_errors_and_raises_its_own(database: Database) -> None:
    async def program(inside: Inside) -> None:
        with pytest.raises(ApiError, match="Requested resource not found"):
            await inside.call("GetItem", {"TableName": "Orders", "Key": KEY})
        with pytest.raises(ValueError, match="ahead only"):
            await inside.advance(-1)
        with pytest.raises(TypeError, match="a number of seconds"):
            await inside.advance("1")  # type: ignore[arg-type]
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        database.run(program)


def test_a_program_waits_for_what_is_not_done_at_once(tmp_path: Any) -> None:
    async def program(inside: Inside) -> Any:
        await inside.call("CreateTable", TABLE)
        put = [inside.call("PutItem", {"TableName": "Orders", "Item": {"id": {"S": str(n)}}}) for n in range(20)]
        await asyncio.gather(*put)
        await inside.call("PutMetricAlarm", alarm("busy"), service="cloudwatch")
        return (await inside.call("Scan", {"TableName": "Orders"}))["Count"]

    with server(Settings(data_dir=str(tmp_path))) as database:
        assert database.run(program) == 20


def alarm(name: str) -> dict[str, Any]:
    """An alarm of a metric of one's own."""
    return {
        "AlarmName": name,
        "Namespace": "Shop",
        "MetricName": "Orders",
        "Statistic": "Sum",
        "Period": 60,
        "EvaluationPeriods": 1,
        "Threshold": 5.0,
        "ComparisonOperator": "GreaterThanThreshold",
    }


def test_other_threads_are_answered_while_a_program_runs(database: Database) -> None:
    begun, may_end = threading.Event(), threading.Event()

    async def program(inside: Inside) -> int:
        await inside.call("CreateTable", TABLE)
        begun.set()
        while not may_end.is_set():
            await inside.call("PutItem", {"TableName": "Orders", "Item": KEY})
        return (await inside.call("Scan", {"TableName": "Orders"}))["Count"]  # type: ignore[no-any-return]

    counts: list[int] = []
    thread = threading.Thread(target=lambda: counts.append(database.run(program)))
    thread.start()
    begun.wait()
    database.client().put_item(TableName="Orders", Item={"id": {"S": "2"}})
    may_end.set()
    thread.join()
    assert counts == [2]


def test_a_database_that_is_closed_ends_its_programs(database: Database) -> None:
    begun, ended = threading.Event(), threading.Event()
    raised: list[BaseException] = []

    def wait() -> None:
        try:
            database.run(forever, begun, ended)
        except RuntimeError as error:
            raised.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    begun.wait()
    database.close()
    thread.join()
    assert (ended.is_set(), [str(one) for one in raised]) == (True, [CLOSED])


def test_an_interrupt_cancels_the_program(database: Database) -> None:
    begun, ended = threading.Event(), threading.Event()

    def interrupt() -> None:
        begun.wait()
        os.kill(os.getpid(), signal.SIGINT)

    killer = threading.Thread(target=interrupt)
    killer.start()
    with pytest.raises(KeyboardInterrupt):
        database.run(forever, begun, ended)
    killer.join()
    assert ended.wait(60)
    assert database.call("ListTables", {}) == {"TableNames": []}


def test_an_interrupt_while_the_program_begins_cancels_it_too(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, ended = threading.Event(), threading.Event()
    begin = database._process._begin

    def interrupted(*arguments: Any) -> None:
        begin(*arguments)
        begun.wait()
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(database._process, "_begin", interrupted)
        with pytest.raises(KeyboardInterrupt):
            database.run(forever, begun, ended)
    assert ended.wait(60)


def test_code_on_the_databases_thread_cannot_wait_for_itself(database: Database) -> None:
    async def program(_inside: Inside) -> None:
        with pytest.raises(RuntimeError, match="own thread"):
            database.call("ListTables", {})
        with pytest.raises(RuntimeError, match="own thread"):
            database.clock.advance(1)
        with pytest.raises(RuntimeError, match="own thread"):
            database.client().list_tables()

    database.run(program)


def test_only_coroutine_functions_are_programs(database: Database) -> None:
    with pytest.raises(TypeError, match="coroutine function"):
        database.run(lambda inside: inside)  # type: ignore[arg-type,return-value]


# --- other services ----------------------------------------------------------------------------------


def test_calls_reach_the_services_beside_dynamodb(database: Database) -> None:
    scaling = "application-autoscaling"
    units = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
    database.call("CreateTable", TABLE | {"BillingMode": "PROVISIONED", "ProvisionedThroughput": units})
    database.call("RegisterScalableTarget", TARGET | {"MinCapacity": 1, "MaxCapacity": 9}, service=scaling)
    found = database.call("DescribeScalableTargets", {"ServiceNamespace": "dynamodb"}, service=scaling)
    (target,) = database.client(scaling).describe_scalable_targets(ServiceNamespace="dynamodb")["ScalableTargets"]
    assert found["ScalableTargets"][0] | {"CreationTime": None} == target | {"CreationTime": None}
    assert found["ScalableTargets"][0]["CreationTime"].timestamp() == target["CreationTime"].timestamp()
    database.call("PutMetricAlarm", alarm("busy"), service="cloudwatch", region="eu-west-1")
    assert database.call("DescribeAlarms", {}, service="cloudwatch")["MetricAlarms"] == []
    there = database.call("DescribeAlarms", {}, service="cloudwatch", region="eu-west-1")["MetricAlarms"]
    assert [one["AlarmName"] for one in there] == ["busy"]
    assert database.call("DescribeClusters", {}, service="dax")["Clusters"] == []


@pytest.mark.parametrize(
    ("service", "operation", "members", "code"),
    [
        ("cloudwatch", "PutMetricData", {}, "MissingRequiredParameterException"),
        ("cloudwatch", "PutMetrics", {}, "UnknownOperationException"),
        ("cloudwatch", "PutDashboard", {}, "UnsupportedOperationException"),
        ("cloudwatch", "ListMetrics", [], "SerializationException"),
        ("application-autoscaling", "RegisterScalableTarget", {"ServiceNamespace": 1}, "SerializationException"),
    ],
)
def test_refusals_of_other_services_are_raised(
    database: Database, service: str, operation: str, members: Any, code: str
) -> None:
    with pytest.raises(ServiceError) as refused:
        database.call(operation, members, service=service)
    assert refused.value.code == code


def test_an_unknown_service_is_named(database: Database) -> None:
    with pytest.raises(ValueError, match="one of dynamodb, cloudwatch, application-autoscaling, dax, not to 's3'"):
        database.call("ListBuckets", {}, service="s3")


@pytest.mark.parametrize("moment", ["0001-01-01", "9999-12-31T23:59:59.999999"])
def test_times_without_an_offset_end_with_the_calendar(database: Database, moment: str) -> None:
    """They are those of this machine's time zone, in which the first and last hours may have no time in UTC."""
    data = [{"MetricName": "Visits", "Value": 1, "Timestamp": datetime.fromisoformat(moment)}]
    with pytest.raises(ServiceError, match=r"out of range|must specify a time"):
        database.call("PutMetricData", {"Namespace": "Shop", "MetricData": data}, service="cloudwatch")


def nested(levels: int) -> list[Any]:
    """A list in a list in a list."""
    inner: list[Any] = []
    for _ in range(levels):
        inner = [inner]
    return inner


@pytest.mark.parametrize(
    "value", ["\ud800", {"\ud800": 1}, [{"a": "\ud800"}], 10**5_000, nested(100_000)], ids=range(5)
)
@pytest.mark.parametrize(
    ("service", "operation", "member"),
    [
        ("cloudwatch", "PutMetricAlarm", "AlarmName"),
        ("application-autoscaling", "DescribeScalableTargets", "ServiceNamespace"),
        ("dax", "DescribeClusters", "ClusterNames"),
        ("dax", "CreateCluster", "Any"),
    ],
)
def test_members_that_no_body_can_have(
    database: Database, service: str, operation: str, member: str, value: Any
) -> None:
    """The error is that of a body that cannot be read, whichever member it is."""
    with pytest.raises(ServiceError, match="the body is no JSON") as refused:
        database.call(operation, {member: value}, service=service)
    assert str(refused.value).isascii()


@pytest.mark.parametrize("service", ["dynamodb", "cloudwatch", "dax"])
@pytest.mark.parametrize("operation", [[], None, 5, b"ListTables", {}, ["\ud800"]])
def test_an_operation_that_is_no_text(database: Database, operation: Any, service: str) -> None:
    with pytest.raises(ValueError, match="must be the name of one, such as PutItem") as refused:
        database.call(operation, {}, service=service)
    assert str(refused.value).isascii()


@pytest.mark.parametrize("service", [[], None, 5, {}])
def test_a_service_that_is_no_text(database: Database, service: Any) -> None:
    with pytest.raises(ValueError, match="a call goes to one of dynamodb, cloudwatch"):
        database.call("ListTables", {}, service=service)


@pytest.mark.parametrize("members", [[], None, "text", 5, [["a", 1]]])
def test_members_that_are_no_mapping(database: Database, members: Any) -> None:
    with pytest.raises(SerializationException):
        database.call("ListTables", members)
    for service, operation in (("cloudwatch", "ListMetrics"), ("dax", "DescribeClusters")):
        with pytest.raises(ServiceError, match="the body is no object"):
            database.call(operation, members, service=service)


@pytest.mark.parametrize(
    ("seconds", "message"),
    [(10**400, "at most 100 years"), (10**5_000, "at most 100 years"), (-(10**5_000), "moves ahead only")],
    ids=["large", "largest", "least"],
)
def test_an_advance_that_no_float_holds(database: Database, seconds: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        database.clock.advance(seconds)

    async def inside(inside: Inside) -> None:
        await inside.advance(seconds)

    with pytest.raises(ValueError, match=message):
        database.run(inside)


@pytest.mark.parametrize("region", [None, 5, True, b"us-east-1", "", "a/b\n", "x" * 5_000, "\ud800"])
@pytest.mark.parametrize("service", ["dynamodb", "cloudwatch"])
def test_a_region_that_is_none_is_refused_before_anything_is_done(
    database: Database, region: Any, service: str
) -> None:
    """What is kept under such a name could not be read again."""
    operation = "ListTables" if service == "dynamodb" else "ListMetrics"
    with pytest.raises(ValueError, match="must be the name of a Region") as refused:
        database.call(operation, {}, service=service, region=region)
    assert str(refused.value).isprintable()
    assert str(refused.value).isascii()

    async def inside(inside: Inside) -> None:
        await inside.call(operation, {}, service=service, region=region)

    with pytest.raises(ValueError, match="must be the name of a Region"):
        database.run(inside)
