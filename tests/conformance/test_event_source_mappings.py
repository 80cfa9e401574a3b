"""Create, get, list, update and delete event source mappings, and their tags: replies, defaults,
refusals and what must not be changed.
"""

import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.conformance.lambda_server import FUNCTIONS, LambdaServer, function_arn, refusal_of
from tests.support.stores import STORES

PATTERN = json.dumps({"eventName": ["INSERT"]})
QUEUE = "arn:aws:sqs:us-east-1:000000000000:failures"
UNKNOWN = "00000000-0000-4000-8000-000000000000"
INVALID = "InvalidParameterValueException"
NOT_FOUND = (404, "ResourceNotFoundException", "The resource you requested does not exist.")
is_uuid = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}").fullmatch


@pytest.fixture(scope="module", params=list(STORES))
def server(request: pytest.FixtureRequest) -> Iterator[LambdaServer]:
    made = LambdaServer(request.param)
    yield made
    made.stop()


def refused(call: Callable[..., Any], *arguments: Any, **members: Any) -> tuple[int, str, str]:
    """Status, code and message of a call that is refused."""
    with pytest.raises(ClientError) as caught:
        call(*arguments, **members)
    return refusal_of(caught.value)


def constraint(value: str, path: str, constraint: str) -> tuple[int, str, str]:
    """The refusal of a value that breaks one constraint."""
    message = (
        f"1 validation error detected: Value '{value}' at '{path}' failed to satisfy constraint:"
        f" Member must {constraint}"
    )
    return 400, "ValidationException", message


# --- CreateEventSourceMapping ---------------------------------------------------------------------


def test_the_reply_describes_the_mapping_with_its_defaults(server: LambdaServer) -> None:
    stream = server.make_stream()
    reply = server.mappings.create_event_source_mapping(
        EventSourceArn=stream, FunctionName="first", StartingPosition="TRIM_HORIZON"
    )
    assert reply.pop("ResponseMetadata")["HTTPStatusCode"] == 202
    uuid, modified = reply.pop("UUID"), reply.pop("LastModified")
    assert is_uuid(uuid)
    assert isinstance(modified, datetime)
    assert reply == {
        "StartingPosition": "TRIM_HORIZON",
        "BatchSize": 100,
        "MaximumBatchingWindowInSeconds": 0,
        "ParallelizationFactor": 1,
        "EventSourceArn": stream,
        "FunctionArn": function_arn("first"),
        "LastProcessingResult": "No records processed",
        "State": "Creating",
        "StateTransitionReason": "User action",
        "DestinationConfig": {"OnFailure": {}},
        "MaximumRecordAgeInSeconds": -1,
        "BisectBatchOnFunctionError": False,
        "MaximumRetryAttempts": -1,
        "TumblingWindowInSeconds": 0,
        "FunctionResponseTypes": [],
        "EventSourceMappingArn": f"arn:aws:lambda:us-east-1:000000000000:event-source-mapping:{uuid}",
    }
    assert server.get(uuid) == reply | {"UUID": uuid, "LastModified": modified, "State": "Enabled"}


ALL_SETTINGS: dict[str, Any] = {
    "BatchSize": 10_000,
    "MaximumBatchingWindowInSeconds": 300,
    "ParallelizationFactor": 10,
    "MaximumRecordAgeInSeconds": 604_800,
    "BisectBatchOnFunctionError": True,
    "MaximumRetryAttempts": 10_000,
    "FunctionResponseTypes": ["ReportBatchItemFailures"],
    "FilterCriteria": {"Filters": [{"Pattern": PATTERN}, {"Pattern": '{"dynamodb": {"Keys": {"id": {"S": ["a"]}}}}'}]},
    "DestinationConfig": {"OnFailure": {"Destination": QUEUE}},
    "KMSKeyArn": "arn:aws:kms:us-east-1:000000000000:key/k",
    "MetricsConfig": {"Metrics": ["EventCount"]},
    "LoggingConfig": {"SystemLogLevel": "INFO"},
}


def test_all_settings_are_kept(server: LambdaServer) -> None:
    made = server.create(StartingPosition="LATEST", Enabled=False, Tags={"a": "1"}, **ALL_SETTINGS)
    assert made["State"] == "Creating"
    described = server.get(made["UUID"])
    assert described["State"] == "Disabled"
    assert {name: described[name] for name in ALL_SETTINGS} == ALL_SETTINGS
    assert server.mappings.list_tags(Resource=made["EventSourceMappingArn"])["Tags"] == {"a": "1"}


@pytest.mark.parametrize(
    ("text", "arn"),
    [
        ("second", function_arn("second")),
        ("function:second", function_arn("second")),
        ("000000000000:function:second", function_arn("second")),
        (function_arn("second"), function_arn("second")),
        ("second:$LATEST", function_arn("second") + ":$LATEST"),
    ],
)
def test_the_function_may_be_named_in_any_form(server: LambdaServer, text: str, arn: str) -> None:
    assert server.create(FunctionName=text)["FunctionArn"] == arn


@pytest.mark.parametrize("region", ["eu-west-1", "local"])
def test_mappings_belong_to_an_account_and_region(server: LambdaServer, region: str) -> None:
    tables = server.client("dynamodb", region, "123456789012")
    mappings = server.client("lambda", region, "123456789012")
    stream = tables.create_table(
        TableName="elsewhere",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
    )["TableDescription"]["LatestStreamArn"]
    made = mappings.create_event_source_mapping(
        EventSourceArn=stream, FunctionName=function_arn("first", region, "123456789012"), StartingPosition="LATEST"
    )
    assert made["FunctionArn"] == function_arn("first", region, "123456789012")
    assert refused(server.get, made["UUID"]) == NOT_FOUND
    assert refused(server.create, EventSourceArn=stream) == (400, INVALID, f"Stream not found: {stream}")
    assert [one["UUID"] for one in mappings.list_event_source_mappings()["EventSourceMappings"]] == [made["UUID"]]
    mappings.close()
    tables.close()


LIMITS = [
    ("BatchSize", 1, 10_000),
    ("MaximumBatchingWindowInSeconds", 0, 300),
    ("ParallelizationFactor", 1, 10),
    ("MaximumRecordAgeInSeconds", -1, 604_800),
    ("MaximumRetryAttempts", -1, 10_000),
    ("TumblingWindowInSeconds", 0, 900),
]


@pytest.mark.parametrize(("member", "least", "most"), LIMITS)
def test_numbers_have_limits(server: LambdaServer, member: str, least: int, most: int) -> None:
    made = server.create(**{member: least})
    assert made[member] == least
    assert server.update(made["UUID"], **{member: most})[member] == most
    path = member[0].lower() + member[1:]
    low = constraint(str(least - 1), path, f"have value greater than or equal to {least}")
    high = constraint(str(most + 1), path, f"have value less than or equal to {most}")
    for call in (server.create, lambda **members: server.update(made["UUID"], **members)):
        assert refused(call, **{member: least - 1}) == low
        assert refused(call, **{member: most + 1}) == high
    assert server.get(made["UUID"])[member] == most


@pytest.mark.parametrize("age", [0, 1, 59])
def test_a_record_age_below_a_minute_is_refused(server: LambdaServer, age: int) -> None:
    message = "MaximumRecordAgeInSeconds must be either -1 (forever) or between 60 and 604800 (inclusive)"
    assert refused(server.create, MaximumRecordAgeInSeconds=age) == (400, INVALID, message)
    made = server.create(MaximumRecordAgeInSeconds=60)
    assert refused(server.update, made["UUID"], MaximumRecordAgeInSeconds=age) == (400, INVALID, message)


NO_POSITION = (
    "1 validation error detected: Value null at 'startingPosition' failed to satisfy constraint:"
    " Member must not be null."
)


@pytest.mark.parametrize(
    ("members", "code", "message"),
    [
        ({"EventSourceArn": None}, INVALID, "Unrecognized event source."),
        ({"StartingPosition": None}, INVALID, NO_POSITION),
        (
            {"StartingPositionTimestamp": 1.5},
            INVALID,
            "StartingPositionTimestamp is allowed only with the StartingPosition AT_TIMESTAMP.",
        ),
        ({"FunctionName": "missing"}, INVALID, "Function does not exist"),
        ({"FunctionName": "first:live"}, INVALID, "Function does not exist"),
        ({"FilterCriteria": {"Filters": [{"Pattern": "{"}]}}, INVALID, "Invalid filter pattern definition."),
        ({"FilterCriteria": {"Filters": [{"Pattern": '{"a": 1}'}]}}, INVALID, "Invalid filter pattern definition."),
        (
            {"FilterCriteria": {"Filters": [{"Pattern": r'{"\ud800": ["x"]}'}]}},
            INVALID,
            "Invalid filter pattern definition.",
        ),
        ({"FilterCriteria": {"Filters": [{}]}}, INVALID, "Invalid filter pattern definition."),
        (
            {"FilterCriteria": {"Filters": [{"Pattern": PATTERN}] * 11}},
            INVALID,
            "A mapping has at most 10 filter patterns.",
        ),
        (
            {"TumblingWindowInSeconds": 1, "ParallelizationFactor": 2},
            INVALID,
            "With a TumblingWindowInSeconds, the ParallelizationFactor must be 1.",
        ),
        (
            {"DestinationConfig": {"OnSuccess": {"Destination": QUEUE}}},
            INVALID,
            "Event source mappings have no destination for successful invocations, only OnFailure.",
        ),
        ({"Topics": ["t"]}, INVALID, "Unsupported 'topics' parameter for given event source mapping type."),
        ({"Queues": ["q"]}, INVALID, "Unsupported 'queues' parameter for given event source mapping type."),
        (
            {"ScalingConfig": {"MaximumConcurrency": 2}},
            INVALID,
            "Unsupported 'scalingConfig' parameter for given event source mapping type.",
        ),
        (
            {"SourceAccessConfigurations": [{}]},
            INVALID,
            "Unsupported 'sourceAccessConfigurations' parameter for given event source mapping type.",
        ),
        (
            {"DocumentDBEventSourceConfig": {}},
            INVALID,
            "Unsupported 'documentDBEventSourceConfig' parameter for given event source mapping type.",
        ),
        (
            {"SelfManagedEventSource": {}, "EventSourceArn": None},
            INVALID,
            "Hashrange serves event source mappings of DynamoDB streams only, not of SelfManagedEventSource",
        ),
        ({"Tags": {"aws:x": "1"}}, INVALID, "Tag keys starting with 'aws:' are reserved for system use: aws:x"),
    ],
)
def test_what_cannot_be_mapped_is_refused(
    server: LambdaServer, members: dict[str, Any], code: str, message: str
) -> None:
    assert refused(server.create, **members) == (400, code, message)


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        (
            {"FunctionName": None},
            (
                400,
                "ValidationException",
                (
                    "1 validation error detected: Value null at 'functionName' failed to satisfy constraint:"
                    " Member must not be null"
                ),
            ),
        ),
        (
            {"StartingPosition": "OLDEST"},
            constraint("OLDEST", "startingPosition", "satisfy enum value set: [TRIM_HORIZON, LATEST, AT_TIMESTAMP]"),
        ),
        (
            {"FunctionResponseTypes": ["All"]},
            constraint("All", "functionResponseTypes.1.member", "satisfy enum value set: [ReportBatchItemFailures]"),
        ),
        (
            {"MetricsConfig": {"Metrics": ["Cost"]}},
            constraint(
                "Cost",
                "metricsConfig.metrics.1.member",
                "satisfy enum value set: [EventCount, ErrorCount, KafkaMetrics]",
            ),
        ),
        ({"BatchSize": "many"}, (400, "SerializationException", "STRING_VALUE cannot be converted to Integer")),
        ({"Enabled": "perhaps"}, (400, "SerializationException", "Unexpected token received from parser")),
    ],
)
def test_constraints_and_types_come_first(
    server: LambdaServer, members: dict[str, Any], expected: tuple[int, str, str]
) -> None:
    members = members | {"EventSourceArn": "arn:aws:dynamodb:us-east-1:000000000000:table/missing/stream/x"}
    assert refused(server.create, **members) == expected


@pytest.mark.parametrize(
    "arn", ["", "stream", "arn:aws:dynamodb", "arn:aws:dynamodb:a b:000000000000:table/t/stream/x"]
)
def test_a_text_that_is_no_arn_breaks_a_constraint(server: LambdaServer, arn: str) -> None:
    status, code, message = refused(server.create, EventSourceArn=arn)
    assert (status, code) == (400, "ValidationException")
    start = (
        f"1 validation error detected: Value '{arn}' at 'eventSourceArn' failed to satisfy constraint:"
        " Member must satisfy regular expression pattern: arn:"
    )
    assert message.startswith(start)


@pytest.mark.parametrize(
    "arn",
    [
        "arn:aws:dynamodb:us-east-1:000000000000:table/missing/stream/2026-10-01T12:00:00.123",
        "arn:aws:dynamodb:us-east-1:000000000000:table/missing",
        "arn:aws:dynamodb:eu-west-1:000000000000:table/t/stream/2026-10-01T12:00:00.123",
        "arn:aws:dynamodb:::",
    ],
)
def test_a_stream_that_is_missing_is_refused(server: LambdaServer, arn: str) -> None:
    assert refused(server.create, EventSourceArn=arn) == (400, INVALID, f"Stream not found: {arn}")


def test_a_stream_that_has_ended_can_still_be_mapped(server: LambdaServer) -> None:
    """Its records can be read for a day."""
    stream = server.make_stream()
    name = stream.split("/")[1]
    server.tables.update_table(TableName=name, StreamSpecification={"StreamEnabled": False})
    assert server.create(EventSourceArn=stream)["State"] == "Creating"


@pytest.mark.parametrize(
    "arn",
    [
        "arn:aws:sqs:us-east-1:000000000000:queue",
        "arn:aws:kinesis:us-east-1:000000000000:stream/s",
        "arn:aws:kafka:us-east-1:000000000000:cluster/c/1",
    ],
)
def test_other_event_sources_are_refused(server: LambdaServer, arn: str) -> None:
    message = f"Hashrange serves event source mappings of DynamoDB streams only, not of {arn}"
    assert refused(server.create, EventSourceArn=arn) == (400, INVALID, message)


def test_a_position_in_time_is_refused(server: LambdaServer) -> None:
    stream = server.make_stream()
    told = refused(server.create, EventSourceArn=stream, StartingPosition="AT_TIMESTAMP", StartingPositionTimestamp=1.0)
    assert told == (400, INVALID, f"Unsupported starting position for arn type: {stream}")


@pytest.mark.parametrize(
    ("arn", "is_usable"),
    [
        (QUEUE, True),
        ("arn:aws:sns:us-east-1:000000000000:topic", True),
        ("arn:aws:s3:::bucket-1.x", True),
        ("", True),
        (QUEUE + ".fifo", False),
        ("arn:aws:lambda:us-east-1:000000000000:function:f", False),
        ("arn:aws:events:us-east-1:000000000000:event-bus/b", False),
        ("kafka://topic", False),
    ],
)
def test_destinations_are_queues_topics_and_buckets(server: LambdaServer, arn: str, *, is_usable: bool) -> None:
    config = {"OnFailure": {"Destination": arn}}
    if is_usable:
        expected = config if arn else {"OnFailure": {}}
        assert server.create(DestinationConfig=config)["DestinationConfig"] == expected
        return
    message = (
        f"Records of failed batches go to standard SQS queues, standard SNS topics and S3 buckets only, not to {arn}"
    )
    assert refused(server.create, DestinationConfig=config) == (400, INVALID, message)


def test_a_destination_that_leads_nowhere_is_refused(server: LambdaServer) -> None:
    """Messages to it would be lost."""
    unknown = "arn:aws:sqs:us-east-1:000000000000:elsewhere"
    config = {"OnFailure": {"Destination": unknown}}
    message = (
        f"Hashrange does not know the destination {unknown}: add it to the table [destinations] of the file that "
        "--triggers names, which says where its messages go"
    )
    assert refused(server.create, DestinationConfig=config) == (400, INVALID, message)
    uuid = server.create()["UUID"]
    assert refused(server.update, uuid, DestinationConfig=config) == (400, INVALID, message)
    assert server.get(uuid)["DestinationConfig"] == {"OnFailure": {}}


def test_a_destination_that_is_no_arn_breaks_a_constraint(server: LambdaServer) -> None:
    told = refused(server.create, DestinationConfig={"OnFailure": {"Destination": "queue"}})
    assert told[:2] == (400, "ValidationException")
    assert "at 'destinationConfig.onFailure.destination' failed" in told[2]


@pytest.mark.parametrize("again", ["first", "first:$LATEST", function_arn("first")])
def test_a_stream_and_a_function_have_one_mapping(server: LambdaServer, again: str) -> None:
    stream = server.make_stream()
    made = server.create(EventSourceArn=stream, FunctionName="first")
    name = again.rpartition(":function:")[2]
    message = (
        f'The event source arn (" {stream} ") and function (" {name} ") provided mapping already exists. '
        "Please update or "
        f"delete the existing mapping with UUID {made['UUID']}"
    )
    told = refused(server.create, EventSourceArn=stream, FunctionName=again)
    assert told == (409, "ResourceConflictException", message)
    assert server.create(EventSourceArn=stream, FunctionName="second")["State"] == "Creating"
    server.delete(made["UUID"])
    assert server.create(EventSourceArn=stream, FunctionName=again)["State"] == "Creating"


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ({"EventSourceArn": None}, {"StartingPosition": None}, "Unrecognized event source."),
        ({"StartingPosition": None}, {"MaximumRecordAgeInSeconds": 1}, NO_POSITION),
        (
            {"Topics": ["t"]},
            {"MaximumRecordAgeInSeconds": 1},
            "Unsupported 'topics' parameter for given event source mapping type.",
        ),
        (
            {"FilterCriteria": {"Filters": [{}]}},
            {"DestinationConfig": {"OnFailure": {"Destination": "kafka://t"}}},
            "Invalid filter pattern definition.",
        ),
        (
            {"DestinationConfig": {"OnSuccess": {"Destination": QUEUE}}},
            {"Tags": {"aws:x": "1"}},
            "Event source mappings have no destination for successful invocations, only OnFailure.",
        ),
        (
            {"Tags": {"aws:x": "1"}},
            {"EventSourceArn": "arn:aws:dynamodb:us-east-1:000000000000:table/t/stream/x"},
            "Tag keys starting with 'aws:' are reserved for system use: aws:x",
        ),
        (
            {"EventSourceArn": "arn:aws:dynamodb:us-east-1:000000000000:table/t/stream/x"},
            {"FunctionName": "missing"},
            "Stream not found: arn:aws:dynamodb:us-east-1:000000000000:table/t/stream/x",
        ),
        (
            {"FunctionName": "missing"},
            {"TumblingWindowInSeconds": 1, "ParallelizationFactor": 2},
            "Function does not exist",
        ),
    ],
)
def test_of_two_faults_the_first_in_order_is_reported(
    server: LambdaServer, first: dict[str, Any], second: dict[str, Any], message: str
) -> None:
    assert refused(server.create, **second, **first) == (400, INVALID, message)


# --- GetEventSourceMapping, DeleteEventSourceMapping ----------------------------------------------


def test_a_missing_mapping_is_not_found(server: LambdaServer) -> None:
    for call in (server.get, server.update, server.delete):
        assert refused(call, UNKNOWN) == NOT_FOUND


@pytest.mark.parametrize(("uuid", "word"), [("short", "greater"), ("x" * 37, "less")])
def test_a_uuid_has_36_characters(server: LambdaServer, uuid: str, word: str) -> None:
    for call in (server.get, server.update, server.delete):
        assert refused(call, uuid) == constraint(uuid, "uUID", f"have length {word} than or equal to 36")


def test_a_deleted_mapping_is_described_and_then_gone(server: LambdaServer) -> None:
    made = server.create()
    described = server.get(made["UUID"])
    reply = server.mappings.delete_event_source_mapping(UUID=made["UUID"])
    assert reply.pop("ResponseMetadata")["HTTPStatusCode"] == 202
    assert reply.pop("LastModified") >= described.pop("LastModified")
    assert reply == described | {"State": "Deleting"}
    for call in (server.get, server.update, server.delete):
        assert refused(call, made["UUID"]) == NOT_FOUND


# --- ListEventSourceMappings ----------------------------------------------------------------------


def uuids(server: LambdaServer, **members: Any) -> list[str]:
    """UUIDs of all pages."""
    pages = server.mappings.get_paginator("list_event_source_mappings").paginate(**members)
    return [one["UUID"] for page in pages for one in page["EventSourceMappings"]]


def test_mappings_are_listed_by_stream_and_function(server: LambdaServer) -> None:
    stream = server.make_stream()
    made = {name: server.create(EventSourceArn=stream, FunctionName=name)["UUID"] for name in FUNCTIONS}
    other = server.create(FunctionName="first:$LATEST")["UUID"]
    assert sorted(uuids(server, EventSourceArn=stream)) == sorted(made.values())
    assert uuids(server, EventSourceArn=stream, FunctionName="first") == [made["first"]]
    assert uuids(server, EventSourceArn=stream, FunctionName=function_arn("second")) == [made["second"]]
    assert {made["first"], other} <= set(uuids(server, FunctionName="000000000000:function:first"))
    assert not {made["second"], made["third"]} & set(uuids(server, FunctionName="first"))
    assert {*made.values(), other} <= set(uuids(server))
    assert uuids(server, FunctionName="missing") == []
    assert uuids(server, EventSourceArn="arn:aws:dynamodb:us-east-1:000000000000:table/t/stream/x") == []


def test_a_list_describes_as_a_get_does(server: LambdaServer) -> None:
    made = server.create(**ALL_SETTINGS)
    reply = server.mappings.list_event_source_mappings(EventSourceArn=made["EventSourceArn"])
    assert "NextMarker" not in reply
    assert reply["EventSourceMappings"] == [server.get(made["UUID"])]


def test_pages_have_at_most_as_many_mappings_as_requested(server: LambdaServer) -> None:
    stream = server.make_stream()
    made = sorted(server.create(EventSourceArn=stream, FunctionName=name)["UUID"] for name in FUNCTIONS)
    first = server.mappings.list_event_source_mappings(EventSourceArn=stream, MaxItems=2)
    assert [one["UUID"] for one in first["EventSourceMappings"]] == made[:2]
    second = server.mappings.list_event_source_mappings(EventSourceArn=stream, MaxItems=2, Marker=first["NextMarker"])
    assert [one["UUID"] for one in second["EventSourceMappings"]] == made[2:]
    assert "NextMarker" not in second
    whole = server.mappings.list_event_source_mappings(EventSourceArn=stream, MaxItems=3)
    assert "NextMarker" not in whole
    low = refused(server.mappings.list_event_source_mappings, MaxItems=0)
    assert low == constraint("0", "maxItems", "have value greater than or equal to 1")


def test_a_page_has_at_most_100_mappings(server: LambdaServer) -> None:
    while len(uuids(server)) <= 100:
        server.create()
    page = server.mappings.list_event_source_mappings(MaxItems=10_000)
    assert len(page["EventSourceMappings"]) == 100
    assert page["NextMarker"]


# --- UpdateEventSourceMapping ---------------------------------------------------------------------


def test_an_update_changes_its_members_only(server: LambdaServer) -> None:
    made = server.create(Enabled=False, **ALL_SETTINGS)
    before = server.get(made["UUID"])
    reply = server.mappings.update_event_source_mapping(UUID=made["UUID"], BatchSize=7)
    assert reply.pop("ResponseMetadata")["HTTPStatusCode"] == 202
    assert reply == before | {"BatchSize": 7, "State": "Updating", "LastModified": reply["LastModified"]}
    assert server.get(made["UUID"]) == reply | {"State": "Disabled"}


def test_an_empty_setting_takes_away_what_there_was(server: LambdaServer) -> None:
    made = server.create(**ALL_SETTINGS)
    reply = server.update(
        made["UUID"],
        FilterCriteria={},
        DestinationConfig={},
        KMSKeyArn="",
        MetricsConfig={},
        LoggingConfig={},
        FunctionResponseTypes=[],
    )
    gone = ("FilterCriteria", "KMSKeyArn", "MetricsConfig", "LoggingConfig")
    assert not set(gone) & set(reply)
    assert (reply["DestinationConfig"], reply["FunctionResponseTypes"]) == ({"OnFailure": {}}, [])


@pytest.mark.parametrize(
    ("is_enabled", "wanted", "state", "then"),
    [
        (True, False, "Disabling", "Disabled"),
        (False, True, "Enabling", "Enabled"),
        (True, True, "Updating", "Enabled"),
        (False, False, "Updating", "Disabled"),
    ],
)
def test_a_mapping_is_paused_and_resumed(
    server: LambdaServer, state: str, then: str, *, is_enabled: bool, wanted: bool
) -> None:
    made = server.create(Enabled=is_enabled)
    assert server.update(made["UUID"], Enabled=wanted)["State"] == state
    assert server.get(made["UUID"])["State"] == then


def test_an_update_may_name_another_function(server: LambdaServer) -> None:
    stream = server.make_stream()
    first = server.create(EventSourceArn=stream, FunctionName="first")
    assert server.update(first["UUID"], FunctionName="second")["FunctionArn"] == function_arn("second")
    second = server.create(EventSourceArn=stream, FunctionName="first")
    told = refused(server.update, second["UUID"], FunctionName="second")
    assert told[:2] == (409, "ResourceConflictException")
    assert (
        'function (" second ") provided mapping already exists. Please update or delete the existing mapping'
        f" with UUID {first['UUID']}"
    ) in told[2]
    assert refused(server.update, second["UUID"], FunctionName="missing") == (400, INVALID, "Function does not exist")
    assert server.update(second["UUID"], FunctionName="first:$LATEST")["State"] == "Updating"


def test_a_window_and_parallel_batches_exclude_each_other_after_an_update_too(server: LambdaServer) -> None:
    message = "With a TumblingWindowInSeconds, the ParallelizationFactor must be 1."
    windowed, parallel = server.create(TumblingWindowInSeconds=30), server.create(ParallelizationFactor=2)
    assert refused(server.update, windowed["UUID"], ParallelizationFactor=2) == (400, INVALID, message)
    assert refused(server.update, parallel["UUID"], TumblingWindowInSeconds=1) == (400, INVALID, message)
    assert server.update(parallel["UUID"], TumblingWindowInSeconds=1, ParallelizationFactor=1)["State"] == "Updating"


# --- tags -----------------------------------------------------------------------------------------


def test_tags_are_added_replaced_and_removed(server: LambdaServer) -> None:
    made = server.create(Tags={"a": "1", "b": "2"}, Enabled=False)
    arn, client = made["EventSourceMappingArn"], server.mappings
    assert client.tag_resource(Resource=arn, Tags={"b": "3", "c": ""})["ResponseMetadata"]["HTTPStatusCode"] == 204
    assert client.untag_resource(Resource=arn, TagKeys=["a", "none"])["ResponseMetadata"]["HTTPStatusCode"] == 204
    assert client.list_tags(Resource=arn)["Tags"] == {"b": "3", "c": ""}
    assert server.get(made["UUID"])["State"] == "Disabled"
    told = refused(client.tag_resource, Resource=arn, Tags={f"k{number}": "" for number in range(50)})
    assert told == (400, INVALID, "The number of tags exceeds the limit of 50 tags.")


def test_tags_of_missing_mappings_are_not_found(server: LambdaServer) -> None:
    for place in ("us-east-1:000000000000", "eu-west-1:000000000000", "us-east-1:123456789012"):
        arn = f"arn:aws:lambda:{place}:event-source-mapping:{UNKNOWN}"
        assert refused(server.mappings.list_tags, Resource=arn) == NOT_FOUND
        assert refused(server.mappings.tag_resource, Resource=arn, Tags={"a": "b"}) == NOT_FOUND
        assert refused(server.mappings.untag_resource, Resource=arn, TagKeys=["a"]) == NOT_FOUND


def test_tags_of_functions_are_those_of_functions(server: LambdaServer) -> None:
    assert server.mappings.list_tags(Resource=function_arn("first"))["Tags"] == {}
    told = refused(server.mappings.list_tags, Resource=function_arn("missing"))
    assert told == (404, "ResourceNotFoundException", f"Function not found: {function_arn('missing')}")
