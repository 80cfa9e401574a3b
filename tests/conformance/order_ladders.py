"""The order of checks as data: per operation, ladders of faults, each of which comes before the next one.

Source: the service's order of checks (captures to October 2026). A ladder's neighbours are sent together; where faults
exclude each other (legacy and expression parameters), an operation has several ladders.
"""

import json
from typing import Any, NamedTuple

TABLE = "order-of-checks"
"""pk (S) and sk (S); holds one item {"pk": "a", "sk": "a", "text": "b"}."""
MISSING = "order-of-checks-missing"

Body = dict[str, Any]
NOTHING: Body = {}


class Fault(NamedTuple):
    """One fault: the body's members that have it, and a part of the message that only it gives. None omits a member."""

    name: str
    body: Body
    message: str
    code: str = "ValidationException"
    with_next: Body = NOTHING
    """Replacement of `body` when the next fault of the ladder is in the same request and both concern the same member.
    """


class Ladder(NamedTuple):
    """Faults in the order of their checks, and the members that every body of them needs."""

    faults: list[Fault]
    needs: Body = NOTHING


def types(body: Body, message: str = "NUMBER_VALUE cannot be converted to") -> Fault:
    return Fault("JSON types", body, message, "SerializationException")


def text(value: str) -> Body:
    return {"S": value}


KEY = {"pk": text("a"), "sk": text("a")}
EMPTY_SET: Body = {"SS": []}
EMPTY_SET_MESSAGE = "An string set  may not be empty"
EQUALS = {"ComparisonOperator": "EQ", "AttributeValueList": [text("a")]}

PATTERN = Fault(
    "constraints", {"TableName": "&&&"}, "at 'tableName' failed to satisfy constraint: Member must satisfy regular"
)
CAPACITY = Fault(
    "constraints", {"ReturnConsumedCapacity": "x"}, "at 'returnConsumedCapacity' failed to satisfy constraint"
)
NAMES_ALONE = Fault(
    "names alone", {"ExpressionAttributeNames": {"#n": "a"}}, "can only be specified when using expressions"
)
NO_TABLE = Fault("table", {"TableName": MISSING}, "Requested resource not found", "ResourceNotFoundException")
KEY_VALUES = Fault("Key values", {"Key": {"extra": EMPTY_SET}}, EMPTY_SET_MESSAGE)
KEY_SCHEMA = Fault("key schema", {"Key": {"extra": text("a")}}, "The provided key element does not match the schema")
KEY_EMPTY = Fault("empty key", {"Key": {"pk": text("")}}, "cannot contain an empty string value")
RETURN_VALUES = Fault("ReturnValues", {"ReturnValues": "ALL_NEW"}, "ReturnValues can only be ALL_OLD or NONE")
EXPECTED = Fault("Expected", {"Expected": {"e": {}}}, "Value must be provided when Exists is null for Attribute: e")
CONDITION_SYNTAX = Fault("expressions", {"ConditionExpression": "a ="}, "Invalid ConditionExpression: Syntax error")
CONDITION_FALSE = Fault(
    "condition", {"ConditionExpression": "attribute_exists(absent)"}, "The conditional request failed",
    "ConditionalCheckFailedException",
)  # fmt: skip
CONDITION_MIXED = Fault(
    "mixing", {"Expected": {"e": {"Exists": False}}, "ConditionExpression": "attribute_exists(a)"},
    "Can not use both expression and non-expression parameters",
)  # fmt: skip
TYPES_OF_WRITES = types({"ReturnItemCollectionMetrics": 5})
TYPES_IN_KEY = types({"Key": {"extra": {"S": 5}}})
TYPES_IN_EXPECTED = types({"Expected": {"e": {"Value": {"S": 5}}}})

PUT_ITEM: list[list[Fault]] = [
    [
        TYPES_OF_WRITES,
        PATTERN,
        NAMES_ALONE,
        Fault("Item values", {"Item": {"set": EMPTY_SET}}, EMPTY_SET_MESSAGE),
        RETURN_VALUES,
        Fault("item size", {"Item": {"long": text("x" * 410_000)}}, "Item size has exceeded the maximum allowed size"),
        CONDITION_SYNTAX,
        NO_TABLE,
        Fault("item keys", {"Item": {"sk": {"N": "1"}}}, "Type mismatch for key sk expected: S actual: N"),
        CONDITION_FALSE,
    ],
    [
        CAPACITY,
        CONDITION_MIXED,
        Fault("Item values", {"Item": {"set": EMPTY_SET}}, EMPTY_SET_MESSAGE),
        RETURN_VALUES,
        Fault("item size", {"Item": {"long": text("x" * 410_000)}}, "Item size has exceeded the maximum allowed size"),
        EXPECTED,
        NO_TABLE,
    ],
    [types({"Item": {"bad": {"S": 5}}}), PATTERN],
    [types({"Item": {"bad": {"S": 5}}}), CAPACITY],
    [types({"Item": {"bad": {"S": 5}}}), NAMES_ALONE],
    [types({"Item": {"bad": {"S": 5}}}), NO_TABLE],
    [TYPES_IN_EXPECTED, RETURN_VALUES],
]

GET_ITEM: list[list[Fault]] = [
    [
        types({"ConsistentRead": 5}),
        PATTERN,
        NAMES_ALONE,
        KEY_VALUES,
        Fault("expressions", {"ProjectionExpression": "a,,b"}, "Invalid ProjectionExpression: Syntax error"),
        NO_TABLE,
        KEY_SCHEMA,
        KEY_EMPTY,
    ],
    [
        CAPACITY,
        Fault(
            "mixing", {"AttributesToGet": ["a"], "ProjectionExpression": "a"},
            "Can not use both expression and non-expression parameters",
        ),
        KEY_VALUES,
        Fault("AttributesToGet", {"AttributesToGet": ["a", "a"]}, "Duplicate value in attribute name: a"),
        NO_TABLE,
    ],
    [TYPES_IN_KEY, PATTERN],
    [TYPES_IN_KEY, NAMES_ALONE],
    [TYPES_IN_KEY, NO_TABLE],
]  # fmt: skip

DELETE_ITEM: list[list[Fault]] = [
    [
        TYPES_OF_WRITES,
        PATTERN,
        RETURN_VALUES,
        NAMES_ALONE,
        KEY_VALUES,
        CONDITION_SYNTAX,
        NO_TABLE,
        KEY_SCHEMA,
        KEY_EMPTY,
    ],
    [KEY_EMPTY, CONDITION_FALSE],
    [CAPACITY, RETURN_VALUES, CONDITION_MIXED, KEY_VALUES, EXPECTED, NO_TABLE],
    [TYPES_IN_KEY, NAMES_ALONE],
    [TYPES_IN_EXPECTED, RETURN_VALUES],
]

VALUE = {":v": text("v")}
UPDATES = Fault(
    "AttributeUpdates", {"AttributeUpdates": {"u": {"Action": "PUT"}}},
    "Only DELETE action is allowed when no attribute value is specified",
)  # fmt: skip
UPDATE_ITEM: list[list[Fault]] = [
    [
        TYPES_OF_WRITES,
        PATTERN,
        NAMES_ALONE,
        KEY_VALUES,
        CONDITION_SYNTAX,
        NO_TABLE,
        KEY_SCHEMA,
        KEY_EMPTY,
        CONDITION_FALSE,
        Fault(
            "application", {"UpdateExpression": "SET absent.b = :v", "ExpressionAttributeValues": VALUE},
            "The document path provided in the update expression is invalid for update",
        ),
    ],
    [
        Fault(
            "key attribute", {"UpdateExpression": "SET pk = :v", "ExpressionAttributeValues": VALUE},
            "Cannot update attribute pk. This attribute is part of the key",
        ),
        CONDITION_FALSE,
    ],
    [
        CAPACITY,
        Fault(
            "mixing",
            {
                "AttributeUpdates": {"u": {"Value": text("a")}},
                "UpdateExpression": "SET a = :v",
                "ExpressionAttributeValues": VALUE,
            },
            "Can not use both expression and non-expression parameters",
        ),
        KEY_VALUES,
        UPDATES,
        EXPECTED,
        NO_TABLE,
    ],
    [TYPES_IN_KEY, NAMES_ALONE],
    [types({"AttributeUpdates": {"u": {"Value": {"S": 5}}}}), KEY_VALUES],
]  # fmt: skip

START_VALUES = Fault(
    "ExclusiveStartKey values", {"ExclusiveStartKey": {"pk": EMPTY_SET, "sk": text("a")}}, EMPTY_SET_MESSAGE
)
ATTRIBUTES_REPEATED = Fault("AttributesToGet", {"AttributesToGet": ["a", "a"]}, "Duplicate value in attribute name: a")
FILTER_SYNTAX = Fault("expressions", {"FilterExpression": "a ="}, "Invalid FilterExpression: Syntax error")
NO_INDEX = Fault("index", {"IndexName": "no-index"}, "The table does not have the specified index: no-index")
BY_EXPRESSION = {"KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": {":pk": text("a")}}
BY_CONDITIONS = {"KeyConditions": {"pk": EQUALS}}
START_SCHEMA = Fault(
    "start key", {"ExclusiveStartKey": {"pk": text("a"), "other": text("a")}}, "The provided starting key is invalid"
)
FILTER_ON_KEY = Fault(
    "filter on key", {"FilterExpression": "sk <> :pk"},
    "Filter Expression can only contain non-primary key attributes: Primary key attribute: sk",
)  # fmt: skip
QUERY_BY_EXPRESSION: list[list[Fault]] = [
    [
        types({"ConsistentRead": 5}),
        PATTERN,
        START_VALUES,
        FILTER_SYNTAX,
        Fault(
            "key-condition shape", {"KeyConditionExpression": "pk = :pk OR sk = :pk"},
            "Invalid operator used in KeyConditionExpression: OR",
        ),
        NO_TABLE,
        NO_INDEX,
        START_SCHEMA,
        Fault(
            "key conditions", {"KeyConditionExpression": "sk = :pk"}, "Query condition missed key schema element: pk"
        ),
    ],
    [
        Fault(
            "key conditions",
            {"KeyConditionExpression": "another = :pk"},
            "Query condition missed key schema element: pk",
        ),
        FILTER_ON_KEY,
        Fault(
            "Select", {"Select": "ALL_PROJECTED_ATTRIBUTES"},
            "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName",
        ),
    ],
    [types({"ExclusiveStartKey": {"pk": {"S": 5}, "sk": text("a")}}), FILTER_SYNTAX],
]  # fmt: skip
QUERY_BY_CONDITIONS: list[list[Fault]] = [
    [
        CAPACITY,
        Fault(
            "mixing",
            {"FilterExpression": "attribute_exists(a)", "QueryFilter": {"a": EQUALS}},
            "Non-expression parameters: {QueryFilter} Expression parameters: {FilterExpression}",
        ),
        Fault(
            "KeyConditions values",
            {"KeyConditions": {"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [EMPTY_SET]}}},
            EMPTY_SET_MESSAGE,
        ),
        ATTRIBUTES_REPEATED,
        START_VALUES,
        Fault(
            "Either",
            {"KeyConditions": None},
            "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.",
        ),
        NO_TABLE,
    ],
    [
        Fault(
            "KeyConditions operators",
            {"KeyConditions": {"pk": {"ComparisonOperator": "EQ", "AttributeValueList": []}}},
            "Invalid number of argument(s) for the EQ ComparisonOperator",
        ),
        ATTRIBUTES_REPEATED,
    ],
    [
        START_VALUES,
        Fault(
            "Either",
            {"KeyConditions": None, "FilterExpression": "a ="},
            "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.",
            with_next={"KeyConditions": None},
        ),
        FILTER_SYNTAX,
        Fault("count", {"KeyConditions": {"sk": EQUALS, "another": EQUALS}}, "Conditions can be of length 1 or 2 only"),
        NO_TABLE,
    ],
    [
        types({"KeyConditions": {"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": 5}]}}}),
        ATTRIBUTES_REPEATED,
    ],
    [
        CAPACITY,
        Fault(
            "unknown operators", {"KeyConditions": {"pk": {"ComparisonOperator": "IS"}}}, "Invalid comparison operator"
        ),
        ATTRIBUTES_REPEATED,
    ],
]

SCAN_FILTER = Fault(
    "ScanFilter", {"ScanFilter": {"a": {"ComparisonOperator": "EQ", "AttributeValueList": []}}},
    "Invalid number of argument(s) for the EQ ComparisonOperator",
)  # fmt: skip
SEGMENT = Fault("Segment", {"Segment": 3, "TotalSegments": 2}, "is zero-based and must be less than parameter")
SCAN: list[list[Fault]] = [
    [
        types({"ConsistentRead": 5}),
        PATTERN,
        NAMES_ALONE,
        START_VALUES,
        FILTER_SYNTAX,
        Fault("Select", {"Select": "SPECIFIC_ATTRIBUTES"}, "when choosing to get SPECIFIC_ATTRIBUTES"),
        SEGMENT,
        NO_TABLE,
        NO_INDEX,
        START_SCHEMA,
    ],
    [FILTER_SYNTAX, Fault("unknown Select", {"Select": "x"}, "at 'select' failed to satisfy constraint"), SEGMENT],
    [
        Fault("numbers", {"Limit": 0}, "Value at 'Limit' failed to satisfy constraint"),
        CAPACITY,
        Fault(
            "ConditionalOperator", {"ScanFilter": {"a": EQUALS}, "ConditionalOperator": "AND"},
            "ConditionalOperator can only be used when Filter or Expected has two or more elements",
            with_next={"ScanFilter": {"a": EQUALS | {"ComparisonOperator": "eq"}}, "ConditionalOperator": "AND"},
        ),
        Fault(
            "unknown operators", {"ScanFilter": {"a": EQUALS | {"ComparisonOperator": "eq"}}},
            "Invalid comparison operator",
        ),
        START_VALUES,
    ],
    [
        CAPACITY,
        Fault(
            "mixing", {"AttributesToGet": ["a"], "FilterExpression": "attribute_exists(a)"},
            "Can not use both expression and non-expression parameters",
        ),
    ],
    [
        Fault(
            "mixing", {"ScanFilter": {"a": EQUALS}, "ProjectionExpression": "a"},
            "Can not use both expression and non-expression parameters",
        ),
        ATTRIBUTES_REPEATED,
        SCAN_FILTER,
        START_VALUES,
    ],
    [types({"ExclusiveStartKey": {"pk": {"S": 5}}}), ATTRIBUTES_REPEATED],
]  # fmt: skip


# --- control plane ------------------------------------------------------------------------------

NAME_REQUIRED = Fault("required name", {"TableName": None}, "The parameter 'TableName' is required but was not present")
NAME_LENGTH = Fault("name length", {"TableName": "a" * 256}, "TableName must be at least 3 characters long")
BILLING_MODE = Fault("constraints", {"BillingMode": "x"}, "at 'billingMode' failed to satisfy constraint")
KEY_ELEMENT = {"AttributeName": "pk", "KeyType": "HASH"}
NEW_TABLE = {
    "TableName": "order-of-checks-new",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [KEY_ELEMENT],
    "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
}
CREATE_TABLE: list[list[Fault]] = [
    [
        types({"DeletionProtectionEnabled": 5}),
        NAME_REQUIRED,
        BILLING_MODE,
        Fault(
            "throughput", {"ProvisionedThroughput": None},
            "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED",
        ),
        Fault(
            "definitions", {"KeySchema": [{"AttributeName": "other", "KeyType": "HASH"}]},
            "Some index key attributes are not defined in AttributeDefinitions",
            with_next={"KeySchema": [{"AttributeName": "other", "KeyType": "RANGE"}]},
        ),
        Fault(
            "key schema", {"KeySchema": [{"AttributeName": "pk", "KeyType": "RANGE"}]},
            "Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
        ),
        Fault("global indexes", {"GlobalSecondaryIndexes": []}, "List of GlobalSecondaryIndexes is empty"),
        Fault("local indexes", {"LocalSecondaryIndexes": []}, "List of LocalSecondaryIndexes is empty"),
        Fault("table exists", {"TableName": TABLE}, "Table already exists", "ResourceInUseException"),
    ],
    [NAME_LENGTH, BILLING_MODE],
]  # fmt: skip

NO_TABLE_NAMED = NO_TABLE._replace(message="Requested resource not found: Table: ")
UPDATE_TABLE: list[list[Fault]] = [
    [
        types({"DeletionProtectionEnabled": 5}),
        NAME_REQUIRED,
        BILLING_MODE,
    ],
    [NAME_LENGTH, BILLING_MODE],
    [
        PATTERN,
        Fault("nothing asked", {"DeletionProtectionEnabled": None}, "At least one of ProvisionedThroughput"),
        NO_TABLE_NAMED,
    ],
    [
        PATTERN,
        Fault(
            "throughput",
            {
                "BillingMode": "PAY_PER_REQUEST",
                "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
            },
            "ProvisionedThroughput cannot be specified when BillingMode is PAY_PER_REQUEST",
        ),
        Fault(
            "index updates", {"GlobalSecondaryIndexUpdates": [{}]},
            "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create",
        ),
        NO_TABLE_NAMED,
    ],
]  # fmt: skip

ARN_REQUIRED = Fault("required ARN", {"ResourceArn": None}, "Invalid TableArn")

NAMED: list[list[Fault]] = [[types({"TableName": 5})], [NAME_REQUIRED], [NAME_LENGTH], [PATTERN], [NO_TABLE_NAMED]]
"""Operations whose only member is the table's name: a request can have only one fault."""
LIST_TABLES: list[list[Fault]] = [
    [
        types({"Limit": True}, "TRUE_VALUE cannot be converted to Integer"),
        Fault("constraints", {"ExclusiveStartTableName": "&&&"}, "at 'exclusiveStartTableName' failed to satisfy"),
    ]
]
TAG_RESOURCE: list[list[Fault]] = [
    [
        types({"Tags": 5}, "Unexpected field type"),
        ARN_REQUIRED,
        Fault("constraints", {"Tags": None}, "Value null at 'tags' failed to satisfy constraint"),
    ]
]
UNTAG_RESOURCE: list[list[Fault]] = [
    [
        types({"TagKeys": 5}, "Unexpected field type"),
        ARN_REQUIRED,
        Fault("constraints", {"TagKeys": None}, "Value null at 'tagKeys' failed to satisfy constraint"),
    ]
]

NO_TABLE_FOR_BACKUPS = NO_TABLE._replace(message="Table not found: ", code="TableNotFoundException")
NAMED_BACKUPS: list[list[Fault]] = [*NAMED[:-1], [NO_TABLE_FOR_BACKUPS]]
INSIGHTS: list[list[Fault]] = [
    [
        types({"IndexName": 5}),
        NAME_REQUIRED,
        Fault("constraints", {"IndexName": "a;c"}, "at 'indexName' failed to satisfy"),
    ],
    [NAME_LENGTH, Fault("constraints", {"IndexName": "a;c"}, "at 'indexName' failed to satisfy")],
    [
        PATTERN,
        NO_TABLE_NAMED,
        Fault("index", {"IndexName": "no-index"}, "Index: no-index not found", "ResourceNotFoundException"),
    ],
]
BACKUP_NAME = Fault("constraints", {"BackupName": "a;c"}, "at 'backupName' failed to satisfy")
CREATE_BACKUP: list[list[Fault]] = [
    [types({"BackupName": 5}), NAME_REQUIRED, BACKUP_NAME, NO_TABLE_FOR_BACKUPS],
    [NAME_LENGTH, BACKUP_NAME],
    [PATTERN, NO_TABLE_FOR_BACKUPS],
]
BACKUP_ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/order-of-checks/backup/01234567890123-0123abcd"
NO_BACKUP = Fault("backup", {}, f"Backup not found: {BACKUP_ARN}", "BackupNotFoundException")
OTHERS_BACKUP = Fault(
    "account", {"BackupArn": BACKUP_ARN.replace("000000000000", "999999999999")}, "Access is denied",
    "AccessDeniedException",
)  # fmt: skip
BACKUP: list[list[Fault]] = [
    [types({"BackupArn": 5}), Fault("ARN", {"BackupArn": "x" * 40}, "Invalid Backup ARN"), NO_BACKUP],
    [OTHERS_BACKUP, NO_BACKUP],
]
TARGET_NAME = Fault("constraints", {"TargetTableName": "a;c"}, "at 'targetTableName' failed to satisfy")
NO_ENCRYPTION = Fault(
    "encryption", {"BackupArn": BACKUP_ARN.replace("us-east-1", "eu-north-1")}, "SSESpecificationOverride must be"
)
RESTORE_BACKUP: list[list[Fault]] = [
    [types({"BackupArn": 5}), TARGET_NAME, Fault("ARN", {"BackupArn": "x" * 40}, "Invalid Backup ARN"), NO_BACKUP],
    [TARGET_NAME, OTHERS_BACKUP, NO_BACKUP],
    [NO_ENCRYPTION, NO_BACKUP],
]
ONE_TIME = Fault("times", {"RestoreDateTime": 1}, "Either one of RestoreDateTime or UseLatestRestorableTime must be")
ONE_SOURCE = Fault("sources", {"SourceTableName": None}, "Must provide exactly one of: sourceTableArn, sourceTableName")
NO_SOURCE = Fault("source", {"SourceTableName": MISSING}, f"Table not found: {MISSING}", "TableNotFoundException")
RECOVERY_OFF = Fault(
    "recovery", {}, "Point in time recovery is not enabled for table", "PointInTimeRecoveryUnavailableException"
)
RESTORE_TO_TIME: list[list[Fault]] = [
    [types({"TargetTableName": 5}), TARGET_NAME, ONE_TIME, ONE_SOURCE],
    [ONE_TIME, NO_SOURCE, RECOVERY_OFF],
]
NO_PERIOD: Body = {"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": False, "RecoveryPeriodInDays": 7}}
LONG_PERIOD: Body = {
    "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": 36}
}
UPDATE_BACKUPS: list[list[Fault]] = [
    [
        types({"PointInTimeRecoverySpecification": 5}, ""),
        NAME_REQUIRED,
        Fault("constraints", LONG_PERIOD, "recoveryPeriodInDays' failed to satisfy constraint"),
        NO_TABLE_FOR_BACKUPS,
    ],
    [NAME_LENGTH, Fault("period", NO_PERIOD, "Cannot specify RecoveryPeriodInDays"), NO_TABLE_FOR_BACKUPS],
    [PATTERN],
]
LIST_BACKUPS: list[list[Fault]] = [
    [
        types({"TableName": 5}),
        NAME_LENGTH,
        Fault("constraints", {"BackupType": "x"}, "at 'backupType' failed to satisfy"),
    ],
    [
        types({"TimeRangeLowerBound": "x"}, "STRING_VALUE cannot be converted to Double"),
        PATTERN,
        Fault("time range", {"TimeRangeLowerBound": 2, "TimeRangeUpperBound": 1}, "Time range lower bound must be"),
        Fault("ARN", {"ExclusiveStartBackupArn": "x" * 40}, "Invalid Backup ARN"),
    ],
]
BAD_TOKEN = Fault("NextToken", {"NextToken": "0123456789abcdef" * 7}, "NextToken is not valid")
BAD_ARN = Fault("ARN", {"TableArn": "nothing"}, "ARNs must start with 'arn:'")
MAX_RESULTS = Fault("constraints", {"MaxResults": 101}, "at 'maxResults' failed to satisfy constraint")
PAGE_SIZE = Fault("constraints", {"PageSize": 26}, "at 'pageSize' failed to satisfy constraint")
LIST_INSIGHTS: list[list[Fault]] = [
    [types({"NextToken": 5}), NAME_LENGTH, MAX_RESULTS, BAD_TOKEN, NO_TABLE_NAMED],
    [PATTERN, BAD_TOKEN],
]

REVISION_LENGTH = Fault(
    "constraints", {"ExpectedRevisionId": ""}, "at 'expectedRevisionId' failed to satisfy constraint"
)
POLICY_ARN = Fault("ARN", {"ResourceArn": "nothing"}, "ARNs must start with 'arn:': nothing")
NO_POLICY_TABLE = Fault(
    "table", {"ResourceArn": f"arn:aws:dynamodb:us-east-1:000000000000:table/{MISSING}"},
    f"Requested resource not found: Table: {MISSING} not found", "ResourceNotFoundException",
)  # fmt: skip
OTHER_REVISION = Fault(
    "revision", {"ExpectedRevisionId": "1"}, "policy with revision id 1, but no policy",
    "PolicyNotFoundException",
)  # fmt: skip
STATEMENT = {"Effect": "Deny", "Principal": "*", "Action": "dynamodb:GetItem", "Resource": "*"}
LOCKOUT = {"Statement": STATEMENT | {"Action": "dynamodb:PutResourcePolicy"}}
PUT_POLICY: list[list[Fault]] = [
    [
        types({"ConfirmRemoveSelfResourceAccess": 5}),
        REVISION_LENGTH,
        POLICY_ARN,
        Fault("size", {"Policy": "{" + " " * 20_480}, "Maximum policy size of 20480 bytes exceeded"),
        NO_POLICY_TABLE,
        OTHER_REVISION,
    ],
    [Fault("document", {"Policy": "{"}, "This policy contains invalid Json"), NO_POLICY_TABLE],
    [
        Fault("lockout", {"Policy": json.dumps(LOCKOUT)}, "will not allow you to update", "AccessDeniedException"),
        NO_POLICY_TABLE,
    ],
]
DELETE_POLICY = [types({"ExpectedRevisionId": 5}), REVISION_LENGTH, POLICY_ARN, NO_POLICY_TABLE, OTHER_REVISION]

TTL_ON: Body = {"TimeToLiveSpecification": {"Enabled": False, "AttributeName": ""}}
UPDATE_TIME_TO_LIVE: list[list[Fault]] = [
    [types({"TimeToLiveSpecification": 5}, ""), NAME_REQUIRED],
    [
        NAME_REQUIRED,
        Fault("constraints", TTL_ON, "at 'timeToLiveSpecification.attributeName' failed to satisfy constraint"),
    ],
    [
        Fault("constraints", TTL_ON, "at 'timeToLiveSpecification.attributeName' failed to satisfy constraint"),
        NO_TABLE_NAMED,
    ],
    [PATTERN],
    [NO_TABLE_NAMED, Fault("state", {}, "TimeToLive is already disabled")],
]

KINESIS_STATE = "Table is not in a valid state to enable Kinesis Streaming Destination: "
LONG_ARN = Fault("constraints", {"StreamArn": "x" * 1025}, "at 'streamArn' failed to satisfy constraint")
ENABLE_KINESIS: list[list[Fault]] = [
    [types({"StreamArn": 5}), NAME_REQUIRED, LONG_ARN, NO_TABLE_NAMED],
    [PATTERN],
    [NO_TABLE_NAMED, Fault("no Kinesis", {}, "Hashrange has no Kinesis to send changes to")],
]
DISABLE_KINESIS: list[list[Fault]] = [
    [types({"StreamArn": 5}), NAME_REQUIRED, LONG_ARN],
    [
        LONG_ARN,
        Fault(
            "precision",
            {"EnableKinesisStreamingConfiguration": {"ApproximateCreationDateTimePrecision": "MICROSECOND"}},
            "Stream cannot be disabled using EnableKinesisStreamingConfiguration parameters",
        ),
        NO_TABLE_NAMED,
        Fault("state", {}, KINESIS_STATE + "KinesisStreamingDestination must be ACTIVE"),
    ],
    [PATTERN],
]
UPDATE_KINESIS: list[list[Fault]] = [
    [types({"StreamArn": 5}), NAME_REQUIRED, LONG_ARN],
    [
        LONG_ARN,
        Fault(
            "no precision", {"UpdateKinesisStreamingConfiguration": None}, "cannot be null or contain only null values"
        ),
        NO_TABLE_NAMED,
        Fault("state", {}, KINESIS_STATE + "No streaming destination with streamArn"),
    ],
    [PATTERN],
]
KINESIS_BODY: Body = {"TableName": TABLE, "StreamArn": "arn:aws:kinesis:us-east-1:000000000000:stream/changes"}

SHORT_EXPORT_ARN = Fault("constraints", {"ExportArn": "arn"}, "at 'exportArn' failed to satisfy constraint")
NO_EXPORT = Fault("export", NOTHING, "Export not found: Export not found: arn:", "ExportNotFoundException")
SHORT_BULK_ARN = Fault("constraints", {"BulkOperationArn": "arn"}, "at 'bulkOperationArn' failed to satisfy constraint")
NO_BULK_PUT = Fault("bulk put", NOTHING, "Bulk operation: arn:", "ResourceNotFoundException")
FEW_UNITS = Fault(
    "constraints", {"MaxWriteRequestUnits": 1023}, "at 'maxWriteRequestUnits' failed to satisfy constraint"
)
NO_REPORT = Fault(
    "missing members",
    {"OutputS3Configuration": {"OutputType": []}},
    "OutputType expected to be provided in the output configuration",
)
KEY_WITHOUT_KMS = Fault(
    "couplings",
    {"OutputS3Configuration": {"S3SseKmsKeyId": "key"}},
    "KMS Key Id is not supported for this encryption type",
)
SHORT_IMPORT_ARN = Fault("constraints", {"ImportArn": "arn"}, "at 'importArn' failed to satisfy constraint")
NO_IMPORT = Fault("import", NOTHING, "Import not found: arn:", "ImportNotFoundException")
BAD_BUCKET = Fault("constraints", {"S3Bucket": "-"}, "at 's3Bucket' failed to satisfy constraint")
SPECIFICATION_ALONE = Fault(
    "couplings",
    {"IncrementalExportSpecification": {"ExportFromTime": 1}},
    "Export Type expected to be Incremental Export when incremental export specification is provided",
)
EMPTY_FILTER = Fault("filter", {"FilterSpecification": {}}, "The specification can not be empty")
IMPORT_SOURCE: Body = {"S3BucketSource": {"S3Bucket": "bucket"}}
BAD_IMPORT = Fault("constraints", {"InputFormat": "XML"}, "at 'inputFormat' failed to satisfy constraint")
OPTIONS_OF_JSON = Fault(
    "options", {"InputFormatOptions": {"Csv": {}}}, "Unsupported InputFormatOptions for the given input format"
)
UNITS_MISSING = Fault(
    "table",
    {"TableCreationParameters": NEW_TABLE | {"ProvisionedThroughput": None}},
    "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED",
)
LADDERS: dict[str, list[Ladder]] = {
    "PutItem": [Ladder(faults) for faults in PUT_ITEM],
    "GetItem": [Ladder(faults) for faults in GET_ITEM],
    "DeleteItem": [Ladder(faults) for faults in DELETE_ITEM],
    "UpdateItem": [Ladder(faults) for faults in UPDATE_ITEM],
    "Query": [Ladder(faults, BY_EXPRESSION) for faults in QUERY_BY_EXPRESSION]
    + [Ladder(faults, BY_CONDITIONS) for faults in QUERY_BY_CONDITIONS],
    "Scan": [Ladder(faults) for faults in SCAN],
    "CreateTable": [Ladder(faults) for faults in CREATE_TABLE],
    "UpdateTable": [Ladder(faults, {"DeletionProtectionEnabled": True}) for faults in UPDATE_TABLE],
    "DeleteTable": [Ladder(faults) for faults in NAMED],
    "DescribeTable": [Ladder(faults) for faults in NAMED],
    "ListTables": [Ladder(faults) for faults in LIST_TABLES],
    "TagResource": [Ladder(faults) for faults in TAG_RESOURCE],
    "UntagResource": [Ladder(faults) for faults in UNTAG_RESOURCE],
    "ListTagsOfResource": [Ladder([types({"NextToken": 5}), ARN_REQUIRED])],
    "DeleteResourcePolicy": [Ladder(DELETE_POLICY)],
    "GetResourcePolicy": [Ladder([types({"ResourceArn": 5})]), Ladder([POLICY_ARN]), Ladder([NO_POLICY_TABLE])],
    "PutResourcePolicy": [Ladder(faults) for faults in PUT_POLICY],
    "CreateBackup": [Ladder(faults) for faults in CREATE_BACKUP],
    "DeleteBackup": [Ladder(faults) for faults in BACKUP],
    "DescribeBackup": [Ladder(faults) for faults in BACKUP],
    "RestoreTableFromBackup": [Ladder(faults) for faults in RESTORE_BACKUP],
    "RestoreTableToPointInTime": [Ladder(faults) for faults in RESTORE_TO_TIME],
    "UpdateContinuousBackups": [Ladder(faults) for faults in UPDATE_BACKUPS],
    "DescribeContinuousBackups": [Ladder(faults) for faults in NAMED_BACKUPS],
    "DescribeContributorInsights": [Ladder(faults) for faults in INSIGHTS],
    "DescribeKinesisStreamingDestination": [Ladder(faults) for faults in NAMED],
    "DescribeTableReplicaAutoScaling": [Ladder(faults) for faults in NAMED],
    "DisableKinesisStreamingDestination": [Ladder(faults) for faults in DISABLE_KINESIS],
    "EnableKinesisStreamingDestination": [Ladder(faults) for faults in ENABLE_KINESIS],
    "UpdateKinesisStreamingDestination": [Ladder(faults) for faults in UPDATE_KINESIS],
    "DescribeTimeToLive": [Ladder(faults) for faults in NAMED],
    "UpdateTimeToLive": [Ladder(faults) for faults in UPDATE_TIME_TO_LIVE],
    "ListBackups": [Ladder(faults) for faults in LIST_BACKUPS],
    "CancelBulkOperation": [Ladder([types({"BulkOperationArn": 5}), SHORT_BULK_ARN, NO_BULK_PUT])],
    "DescribeBulkOperation": [Ladder([types({"BulkOperationArn": 5}), SHORT_BULK_ARN, NO_BULK_PUT])],
    "StartBulkPutItems": [Ladder([types({"ClientToken": 5}), FEW_UNITS, NO_REPORT, KEY_WITHOUT_KMS])],
    "DescribeExport": [Ladder([types({"ExportArn": 5}), SHORT_EXPORT_ARN, NO_EXPORT])],
    "DescribeImport": [Ladder([types({"ImportArn": 5}), SHORT_IMPORT_ARN, NO_IMPORT])],
    "ExportTableToPointInTime": [
        Ladder([types({"S3Prefix": 5}), BAD_BUCKET, BAD_ARN, SPECIFICATION_ALONE, EMPTY_FILTER])
    ],
    "ImportTable": [Ladder([types({"ClientToken": 5}), BAD_IMPORT, OPTIONS_OF_JSON, UNITS_MISSING])],
    "ListBulkOperations": [Ladder([types({"NextToken": 5}), MAX_RESULTS, BAD_TOKEN])],
    "ListContributorInsights": [Ladder(faults) for faults in LIST_INSIGHTS],
    "ListExports": [Ladder([types({"NextToken": 5}), MAX_RESULTS, BAD_ARN, BAD_TOKEN])],
    "ListGlobalTables": [
        Ladder(
            [
                types({"RegionName": 5}),
                Fault("constraints", {"Limit": 0}, "at 'limit' failed to satisfy constraint: Member must have value"),
            ]
        )
    ],
    "ListImports": [Ladder([types({"NextToken": 5}), PAGE_SIZE, BAD_ARN, BAD_TOKEN])],
    "DescribeEndpoints": [],
    "DescribeLimits": [],
}

ARN = f"arn:aws:dynamodb:us-east-1:000000000000:table/{TABLE}"
BODIES: dict[str, Body] = {
    "PutItem": {"TableName": TABLE, "Item": KEY},
    "GetItem": {"TableName": TABLE, "Key": KEY},
    "DeleteItem": {"TableName": TABLE, "Key": KEY},
    "UpdateItem": {"TableName": TABLE, "Key": KEY},
    "Query": {"TableName": TABLE},
    "Scan": {"TableName": TABLE},
    "CreateTable": NEW_TABLE,
    "UpdateTable": {"TableName": TABLE},
    "DeleteTable": {"TableName": TABLE},
    "DescribeTable": {"TableName": TABLE},
    "ListTables": {},
    "TagResource": {"ResourceArn": ARN, "Tags": [{"Key": "a", "Value": "b"}]},
    "UntagResource": {"ResourceArn": ARN, "TagKeys": ["a"]},
    "ListTagsOfResource": {"ResourceArn": ARN},
    "DeleteResourcePolicy": {"ResourceArn": ARN},
    "GetResourcePolicy": {"ResourceArn": ARN},
    "PutResourcePolicy": {"ResourceArn": ARN, "Policy": json.dumps({"Statement": STATEMENT})},
    "CreateBackup": {"TableName": TABLE, "BackupName": "nightly"},
    "DeleteBackup": {"BackupArn": BACKUP_ARN},
    "DescribeBackup": {"BackupArn": BACKUP_ARN},
    "RestoreTableFromBackup": {"TargetTableName": "order-of-checks-new", "BackupArn": BACKUP_ARN},
    "RestoreTableToPointInTime": {
        "SourceTableName": TABLE,
        "TargetTableName": "order-of-checks-new",
        "UseLatestRestorableTime": True,
    },
    "UpdateContinuousBackups": {
        "TableName": TABLE,
        "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": False},
    },
    "DescribeContinuousBackups": {"TableName": TABLE},
    "DescribeContributorInsights": {"TableName": TABLE},
    "DescribeKinesisStreamingDestination": {"TableName": TABLE},
    "DescribeTableReplicaAutoScaling": {"TableName": TABLE},
    "DisableKinesisStreamingDestination": KINESIS_BODY,
    "EnableKinesisStreamingDestination": KINESIS_BODY,
    "UpdateKinesisStreamingDestination": KINESIS_BODY
    | {"UpdateKinesisStreamingConfiguration": {"ApproximateCreationDateTimePrecision": "MICROSECOND"}},
    "DescribeTimeToLive": {"TableName": TABLE},
    "CancelBulkOperation": {"BulkOperationArn": f"{ARN}/bulk-operation/01234567890123-0123abcd"},
    "DescribeBulkOperation": {"BulkOperationArn": f"{ARN}/bulk-operation/01234567890123-0123abcd"},
    "StartBulkPutItems": {
        "TableName": TABLE,
        "InputS3Configuration": {"S3Bucket": "bucket", "InputFormat": "ION"},
        "OutputS3Configuration": {"S3Bucket": "bucket", "OutputType": ["ERROR"]},
    },
    "DescribeExport": {"ExportArn": f"{ARN}/export/01234567890123-0123abcd"},
    "DescribeImport": {"ImportArn": f"{ARN}/import/01234567890123-0123abcd"},
    "ExportTableToPointInTime": {"TableArn": ARN, "S3Bucket": "bucket"},
    "ImportTable": {"InputFormat": "DYNAMODB_JSON", "TableCreationParameters": NEW_TABLE} | IMPORT_SOURCE,
    "UpdateTimeToLive": {
        "TableName": TABLE,
        "TimeToLiveSpecification": {"Enabled": False, "AttributeName": "expires"},
    },
    "ListBackups": {},
    "ListBulkOperations": {},
    "ListContributorInsights": {},
    "ListExports": {},
    "ListGlobalTables": {},
    "ListImports": {},
    "DescribeEndpoints": {},
    "DescribeLimits": {},
}
"""Operation → a valid body, into which faults are merged."""
