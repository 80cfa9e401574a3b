"""What must a server's reply hold, so that a command can read it?
For each operation, the members that commands read, with their types.

Further members are let through unseen. A reply that does not fit is another program's.
"""

from collections.abc import Mapping
from types import GenericAlias
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from hashrange.toolkit.replies import is_number
from hashrange.written.values import fault_in

if TYPE_CHECKING:
    from hashrange.written.value_faults import Checks

VALUE_DEPTH_MAX = 40
"""Levels of an attribute value; the service lets 32 in."""


class ReadableValue:
    """An attribute value in DynamoDB's JSON: an object whose one member is named after its type."""


def _members(optional: Mapping[str, Any] | None = None, /, **required: Any) -> Any:
    """The type of objects with these members, and perhaps others."""
    given = [(name, type_, None) for name, type_ in (optional or {}).items()]
    return msgspec.defstruct("Members", [*required.items(), *given])


def _list(of: Any, count_min: int = 0) -> Any:
    """The type of lists of this type."""
    return Annotated[GenericAlias(list, (of,)), msgspec.Meta(min_length=count_min)]


ITEM: Any = dict[str, ReadableValue]
TEXT_OR_NULL: Any = str | None
COUNT: Any = Annotated[int, msgspec.Meta(ge=0, le=10**18)]
MEASURE: Any = Annotated[float, msgspec.Meta(ge=0, le=1e18)]
MOMENT: Any = Annotated[float, msgspec.Meta(ge=0, le=253_402_300_799)]
"""Seconds since 1970, up to the year 9999."""
DIGITS: Any = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,100}\Z")]
FILE_NAME: Any = Annotated[str, msgspec.Meta(pattern=r"^(engine/)?[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")]
FINGERPRINT: Any = Annotated[str, msgspec.Meta(max_length=64)]

KEY_SCHEMA = _list(_members(AttributeName=str), 1)
INDEX = _members(
    {"ItemCount": COUNT, "IndexSizeBytes": COUNT},
    IndexName=str,
    KeySchema=KEY_SCHEMA,
    Projection=_members(ProjectionType=str),
)
TABLE = _members(
    {
        "LatestStreamArn": TEXT_OR_NULL,
        "StreamSpecification": _members({"StreamEnabled": bool}),
        "GlobalSecondaryIndexes": _list(INDEX),
        "LocalSecondaryIndexes": _list(INDEX),
        "CreationDateTime": MOMENT,
        "ProvisionedThroughput": _members({"ReadCapacityUnits": COUNT, "WriteCapacityUnits": COUNT}),
    },
    KeySchema=KEY_SCHEMA,
)
CHANGED_TABLE = _members(TableDescription=dict)
PAGE = _members(
    {"LastEvaluatedKey": ITEM | None, "ConsumedCapacity": _members({"CapacityUnits": MEASURE})},
    Items=_list(ITEM),
    ScannedCount=COUNT,
)
WRITTEN = _members({"Attributes": ITEM | None})
SHARD = _members({"ParentShardId": TEXT_OR_NULL}, ShardId=str, SequenceNumberRange=dict)
CHANGE = _members(
    {"OldImage": ITEM, "NewImage": ITEM},
    ApproximateCreationDateTime=MOMENT,
    Keys=ITEM,
    SequenceNumber=DIGITS,
    StreamViewType=str,
)
CONTRIBUTOR = _members(Keys=list[str], ApproximateAggregateValue=MEASURE)
COUNTS: Any = dict[str, COUNT]
DAX_NODE = _members(
    cluster=str,
    node=str,
    port=int,
    connections=COUNT,
    memory_bytes=COUNT,
    used_bytes=COUNT,
    evicted_bytes=COUNT,
    counts=COUNTS,
    hottest=_list(_members(table=str, key=bytes, reads=COUNT)),
)

SHAPES: dict[str, Any] = {
    "CreateTable": CHANGED_TABLE,
    "DeleteItem": WRITTEN,
    "DeleteTable": CHANGED_TABLE,
    "DescribeContributorInsights": _members({"ContributorInsightsRuleList": list[str]}),
    "DescribeStream": _members(
        StreamDescription=_members({"LastEvaluatedShardId": str}, Shards=_list(SHARD), StreamStatus=str)
    ),
    "DescribeTable": _members(Table=TABLE),
    "DescribeTimeToLive": _members(TimeToLiveDescription=_members(TimeToLiveStatus=str)),
    "ExecuteStatement": _members({"NextToken": str}, Items=_list(ITEM)),
    "GetInsightRuleReport": _members(Contributors=_list(CONTRIBUTOR), AggregateValue=MEASURE),
    "GetItem": _members({"Item": ITEM}),
    "GetMetricStatistics": _members(
        {"Datapoints": _list(_members({"Sum": MEASURE, "SampleCount": MEASURE}, Timestamp=MOMENT))}
    ),
    "GetRecords": _members(
        {"NextShardIterator": TEXT_OR_NULL},
        Records=_list(_members({"userIdentity": dict}, eventName=str, dynamodb=CHANGE)),
    ),
    "GetShardIterator": _members(ShardIterator=str),
    "ListTables": _members({"LastEvaluatedTableName": TEXT_OR_NULL}, TableNames=list[str]),
    "PutItem": WRITTEN,
    "Query": PAGE,
    "Scan": PAGE,
    "SearchVectors": _members(
        {"ConsumedCapacity": _members({"VectorSearchRequestBytes": MEASURE})},
        SearchResults=_list(_members(Item=ITEM, Score=float)),
    ),
    "UpdateItem": WRITTEN,
    "GET info": _members(service_time=MOMENT),
    "GET dax": _members(nodes=_list(DAX_NODE)),
    "POST snapshots": _members(snapshot=DIGITS, service_time=MOMENT),
    "POST snapshots/rows": _members(rows=list[tuple[bytes, bytes]]),
    "POST snapshots/files": _members(
        store_format=COUNT, files=_list(_members(name=FILE_NAME, bytes=COUNT, fingerprint=FINGERPRINT))
    ),
    "DELETE snapshots": dict,
}
"""Operation, or method and path of the admin API without numbers → type of the reply."""


def misfit(reply: Any, operation: str) -> str | None:
    """What is wrong with a decoded reply, for a message; None if commands can read it."""
    try:
        msgspec.convert(reply, SHAPES[operation], dec_hook=_checked)
    except msgspec.ValidationError:
        checks: Checks = {ReadableValue: (lambda value: _is_value(value, VALUE_DEPTH_MAX), "an attribute value")}
        return fault_in(reply, SHAPES[operation], "object", checks).removesuffix(".")
    return None


def _checked(_: type, value: Any) -> ReadableValue:
    """Called by msgspec for each attribute value. Raises ValueError, which msgspec tells with the value's place."""
    if not _is_value(value, VALUE_DEPTH_MAX):
        raise ValueError("Expected an attribute value")
    return _VALUE


_VALUE = ReadableValue()


def _is_value(value: Any, levels: int) -> bool:
    if not isinstance(value, dict) or len(value) != 1 or not levels:
        return False
    ((kind, content),) = value.items()
    match kind:
        case "S" | "B":
            return isinstance(content, str)
        case "N":
            return isinstance(content, str) and is_number(content) is not None
        case "BOOL" | "NULL":
            return isinstance(content, bool)
        case "SS" | "NS" | "BS":
            return isinstance(content, list) and all(_is_value({kind[0]: one}, levels) for one in content)
        case "L":
            return isinstance(content, list) and all(_is_value(one, levels - 1) for one in content)
        case "M":
            return isinstance(content, dict) and all(_is_value(one, levels - 1) for one in content.values())
    return False
