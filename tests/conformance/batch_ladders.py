"""The order of checks of BatchGetItem and BatchWriteItem, as ladders of faults (see `order_ladders`).

The first table of a request is MISSING or TABLE, depending on the fault; faults of two tables are in two entries.
"""

from tests.conformance.order_ladders import (
    CAPACITY,
    EMPTY_SET,
    EMPTY_SET_MESSAGE,
    KEY,
    MISSING,
    TABLE,
    Body,
    Fault,
    Ladder,
    text,
    types,
)

OTHER_KEY = {"pk": text("b"), "sk": text("b")}
MISSING_TABLE = ("Requested resource not found", "ResourceNotFoundException")
DUPLICATES = "Provided list of item keys contains duplicates"
SCHEMA = "The provided key element does not match the schema"


def fault(name: str, entry: object, message: str, code: str = "ValidationException", with_next: object = None) -> Fault:
    """A fault of the entry of table TABLE; `with_next` replaces the entry when the next fault must be in it, too."""
    beside = {} if with_next is None else {"RequestItems": {TABLE: with_next}}
    return Fault(name, {"RequestItems": {TABLE: entry}}, message, code, beside)


# --- BatchGetItem ---------------------------------------------------------------------------------

MIXED = {"AttributesToGet": ["a"], "ProjectionExpression": "a"}
BAD_VALUES = {"pk": EMPTY_SET}
BAD_SCHEMA = {"other": text("a")}
KEYS_OF_ONE = [{"pk": text("many"), "sk": text(str(place))} for place in range(100)]
TOO_MANY_READS = Fault(
    "count",
    {"RequestItems": {TABLE: {"Keys": KEYS_OF_ONE}, MISSING: {"Keys": [KEY]}}},
    "Too many items requested for the BatchGetItem call",
)
NO_TABLE_TO_READ = Fault("table", {"RequestItems": {MISSING: {"Keys": [KEY]}}}, *MISSING_TABLE)

BATCH_GET_ITEM: list[list[Fault]] = [
    [
        types({"RequestItems": {"abc": {"ConsistentRead": 5}}}),
        CAPACITY,
        fault(
            "mixing",
            {"Keys": [KEY]} | MIXED,
            "Can not use both expression and non-expression parameters",
            with_next={"Keys": [KEY], "ProjectionExpression": "a", "AttributesToGet": ["a", "a"]},
        ),
        fault(
            "AttributesToGet",
            {"Keys": [KEY], "AttributesToGet": ["a", "a"]},
            "Duplicate value in attribute name: a",
            with_next={"Keys": [BAD_VALUES], "AttributesToGet": ["a", "a"]},
        ),
        fault("Key values", {"Keys": [BAD_VALUES]}, EMPTY_SET_MESSAGE, with_next={"Keys": [KEY, KEY, BAD_VALUES]}),
        fault("duplicates", {"Keys": [KEY, KEY]}, DUPLICATES, with_next={"Keys": [*KEYS_OF_ONE[1:], KEYS_OF_ONE[1]]}),
        TOO_MANY_READS,
    ],
    [
        fault(
            "expressions",
            {"Keys": [KEY], "ProjectionExpression": "a,,b"},
            "Invalid ProjectionExpression: Syntax error",
            with_next={"Keys": [BAD_VALUES], "ProjectionExpression": "a,,b"},
        ),
        fault("Key values", {"Keys": [BAD_VALUES]}, EMPTY_SET_MESSAGE),
        NO_TABLE_TO_READ,
        fault("key schema", {"Keys": [BAD_SCHEMA]}, SCHEMA),
    ],
    [fault("duplicates", {"Keys": [KEY, KEY]}, DUPLICATES), NO_TABLE_TO_READ],
    [
        fault("duplicates", {"Keys": [BAD_SCHEMA, BAD_SCHEMA]}, DUPLICATES),
        fault("key schema", {"Keys": [BAD_SCHEMA]}, SCHEMA),
    ],
    [
        TOO_MANY_READS._replace(with_next={"RequestItems": {TABLE: {"Keys": [BAD_SCHEMA, *KEYS_OF_ONE[1:]]}}}),
        fault("key schema", {"Keys": [BAD_SCHEMA]}, SCHEMA),
    ],
    [types({"RequestItems": {"abc": {"Keys": [{"bad": {"S": 5}}]}}}), CAPACITY],
    [
        types({"RequestItems": {"abc": {"Keys": [{"bad": {"S": 5}}]}}}),
        fault("Key values", {"Keys": [BAD_VALUES]}, EMPTY_SET_MESSAGE),
    ],
]

# --- BatchWriteItem -------------------------------------------------------------------------------

PUT = {"PutRequest": {"Item": KEY}}
PUT_OTHER = {"PutRequest": {"Item": OTHER_KEY}}
DELETE = {"DeleteRequest": {"Key": KEY}}
BOTH = PUT | DELETE
BAD_ITEM = {"PutRequest": {"Item": OTHER_KEY | {"set": EMPTY_SET}}}
LARGE = {"PutRequest": {"Item": OTHER_KEY | {"long": text("x" * 410_000)}}}
BAD_LARGE = {"PutRequest": {"Item": LARGE["PutRequest"]["Item"] | {"set": EMPTY_SET}}}
BAD_KEY = {"DeleteRequest": {"Key": {"other": text("a")}}}
MANY = [{"PutRequest": {"Item": {"pk": text("many"), "sk": text(str(place))}}} for place in range(25)]
TWO_TYPES = "Supplied AttributeValue has more than one datatypes set"
ITEM_SIZE = "Item size has exceeded the maximum allowed size"
TOO_MANY_WRITES = Fault(
    "count", {"RequestItems": {TABLE: MANY, MISSING: [PUT]}}, "Too many items requested for the BatchWriteItem call"
)
NO_TABLE_TO_WRITE = Fault("table", {"RequestItems": {MISSING: [PUT]}}, *MISSING_TABLE)
METRICS = Fault(
    "constraints", {"ReturnItemCollectionMetrics": "x"}, "at 'returnItemCollectionMetrics' failed to satisfy"
)

BATCH_WRITE_ITEM: list[list[Fault]] = [
    [
        types({"RequestItems": {"abc": [{"PutRequest": {"Item": {"a": {"S": 5}}}}]}}),
        METRICS,
        fault("one of both", [BOTH], TWO_TYPES, with_next=[BOTH, BAD_ITEM]),
        fault("values", [BAD_ITEM], EMPTY_SET_MESSAGE, with_next=[BAD_LARGE]),
        fault("item size", [LARGE], ITEM_SIZE, with_next=[*MANY[1:], LARGE]),
        TOO_MANY_WRITES,
    ],
    [
        CAPACITY,
        fault("one of both", [{}], "Supplied AttributeValue is empty", with_next=[{}, LARGE]),
        fault("item size", [LARGE], ITEM_SIZE),
        NO_TABLE_TO_WRITE,
    ],
    [
        NO_TABLE_TO_WRITE,
        fault("duplicates", [PUT, DELETE], DUPLICATES, with_next=[BAD_KEY, PUT, DELETE]),
        fault("key schema", [BAD_KEY], SCHEMA),
    ],
    [
        fault("values", [BAD_ITEM], EMPTY_SET_MESSAGE, with_next=[PUT, DELETE, BAD_ITEM]),
        fault("duplicates", [PUT, DELETE], DUPLICATES),
    ],
    [
        TOO_MANY_WRITES._replace(with_next={"RequestItems": {TABLE: [*MANY[1:], MANY[1]]}}),
        fault("duplicates", [PUT, DELETE], DUPLICATES),
    ],
]

BATCH_LADDERS: dict[str, list[Ladder]] = {
    "BatchGetItem": [Ladder(faults) for faults in BATCH_GET_ITEM],
    "BatchWriteItem": [Ladder(faults) for faults in BATCH_WRITE_ITEM],
}
"""Operation → its ladders."""

BATCH_BODIES: dict[str, Body] = {
    "BatchGetItem": {"RequestItems": {TABLE: {"Keys": [KEY]}}},
    "BatchWriteItem": {"RequestItems": {TABLE: [PUT_OTHER]}},
}
"""Operation → a body without a fault."""
