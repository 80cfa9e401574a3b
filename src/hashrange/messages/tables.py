"""Which error messages do control-plane operations send? Each is defined once, with `str.format` fields.

Source: service behaviour, captures to October 2026 (control-plane wording), unless a comment says otherwise.
"""

_INVALID = "One or more parameter values were invalid: "
IN_USE = "Attempt to change a resource which is still in use: "
_LIMIT_EXCEEDED = "Subscriber limit exceeded: "

# --- existence and states -----------------------------------------------------------------------

TABLE_NOT_FOUND = "Requested resource not found: Table: {name} not found"
RESOURCE_NOT_FOUND = "Requested resource not found"
INDEX_NOT_FOUND = "Requested resource not found: Index {index} for table {table}"
TABLE_EXISTS = "Table already exists: {name}"
TABLE_IN_USE = IN_USE + "Table is being {doing}: {name}"
TABLE_BEING_UPDATED = IN_USE + "Table: {name} is in the process of being updated."
UNITS_BEING_UPDATED = IN_USE + "Table IOPS are currently being updated. Table: {name}"
# From UNITS_DURING_STREAM to DELETION_DURING_STREAM: what a running change refuses, as observed in October 2026;
# of STREAM_DURING_INDEX the end is not certain.
UNITS_DURING_STREAM = IN_USE + "Can't change table IOPS when stream status is being updated. {stream}"
UNITS_DURING_INDEX = (
    IN_USE + "Can't change table IOPS when an index is being {doing}. Table: {name} Indexes: [{indexes}]"
)
MAXIMUM_DURING_MODE = IN_USE + "OnDemandThroughput cannot be updated while BillingMode update is in progress"
MAXIMUM_DURING_CLASS = (
    IN_USE + "OnDemandThroughput cannot be updated while TableClass update is in progress."
    " TableClassUpdateInProgress: {table_class}"
)
MAXIMUM_DURING_INDEX = (
    IN_USE + "OnDemandThroughput cannot be updated while index {change} is in progress for indexes: [{indexes}]"
)
STREAM_DURING_UNITS = IN_USE + "Can't enable or disable stream while table IOPS are being updated. Table: {name}"
STREAM_DURING_CLASS = IN_USE + "Can't change stream status when a table class update is in progress. {running_class}"
STREAM_DURING_INDEX = (
    IN_USE + "Can't change stream status when an index is being {doing}. Table: {name} Indexes: [{indexes}]"
)
STREAM_DURING_STREAM = IN_USE + "A stream status change is currently in progress. {stream}"
CLASS_DURING_CLASS = IN_USE + "Can't update table class when a table class update is in progress. {running_class}"
CLASS_DURING_STREAM = IN_USE + "Can't update table class when stream status is being updated. {stream}"
RUNNING_CLASS = "Table: {name} TableClassUpdateInProgress: {table_class}"
RUNNING_STREAM = "Table: {name} Stream: {label} Operation: {operation}"
INDEX_DURING_UNITS = IN_USE + "Can't create or delete indexes while table IOPS are being updated. Table: {name}"
INDEX_DURING_CLASS = (
    IN_USE + "Can't create or delete an index when a table class update is in progress. {running_class}"
)
INDEX_DURING_STREAM = IN_USE + "Can't create or delete an index when stream status is being updated. {stream}"
INDEX_BEING_UPDATED = IN_USE + "Index is being updated. Table: {name} Index: {index}"
# INDEX_NOT_BACKFILLING: the service's message has two spaces somewhere; where they are is not certain.
INDEX_NOT_BACKFILLING = IN_USE + "Index is being created but is not backfilling yet.  Table: {name} Index: {index}"
INDEX_ALLOCATING = (
    IN_USE
    + "Index creation is in resource allocation phase. Retry deletion during backfilling phase or when the index is"
    " active. Table: {name} Index: {index}"
)
INDEX_BEING_DELETED = IN_USE + "Index is being deleted. Table: {name} Index: {index}"
DELETION_DURING_STREAM = IN_USE + "Cannot delete table while stream is being enabled/disabled."
TABLE_INDEXES_IN_USE = IN_USE + "Cannot delete table while indexes are being created, updated, or deleted."
TABLE_PROTECTED = (
    "Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first."
)
# The text after the colon is known from users' error reports, which name 256 tables, the quota of that time.
TOO_MANY_TABLES = _LIMIT_EXCEEDED + "There is a limit of {limit} tables per subscriber"

# TOO_MANY_CHANGES: as users report it, with a limit of that time. TOO_MANY_INDEXED: only its end is known.
TOO_MANY_CHANGES = _LIMIT_EXCEEDED + "Only {limit} tables can be created, updated, or deleted simultaneously"
TOO_MANY_INDEXED = _LIMIT_EXCEEDED + "There is a limit of {limit} indexed tables that can be created simultaneously"
_LIMITS_OF_GUIDE = " Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
# From TABLE_UNITS to WARM_QUOTA: as observed in October 2026.
TABLE_UNITS = (
    "The requested {member}, {units}, is above the per table maximum for the account in {region}."
    " Per table maximum: {limit}."
) + _LIMITS_OF_GUIDE
INDEX_UNITS = (
    "The requested {member} for index {index}, {units}, is above the per index maximum for the account in {region}."
    " Per table maximum: {limit}." + _LIMITS_OF_GUIDE
)
ACCOUNT_UNITS = (
    "This request would have caused the {member} limit to be exceeded for the account in {region}."
    " Current {member} reserved by the account: {current}. Limit: {limit}. Requested: {units}." + _LIMITS_OF_GUIDE
)
ON_DEMAND_QUOTA = (
    "Subscriber limit exceeded: Requested {member} for OnDemandThroughput for {subject} exceeds"
    " TableMax{kind}CapacityUnits of the account in region {region}"
)
WARM_QUOTA = (
    "Subscriber limit exceeded: Requested {member} for WarmThroughput for {subject} exceeds TableMax{kind}CapacityUnits"
    " of the account in region {region}"
)

# --- time to live -------------------------------------------------------------------------------

TTL_ALREADY_ENABLED = "TimeToLive is already enabled"
TTL_OTHER_ATTRIBUTE = "TimeToLive is active on a different AttributeName: current AttributeName is {attribute}"
TTL_ALREADY_DISABLED = "TimeToLive is already disabled"
TTL_CHANGED_LATELY = "Time to live has been modified multiple times within a fixed interval"

# --- billing mode and throughput ----------------------------------------------------------------

THROUGHPUT_MISSING = (
    _INVALID + "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"
)
THROUGHPUT_WITH_SWITCH = _INVALID + "ProvisionedThroughput cannot be specified when BillingMode is PAY_PER_REQUEST"
THROUGHPUT_ON_DEMAND = (
    _INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST"
)
INDEX_THROUGHPUT_ON_DEMAND = (
    _INVALID + "ProvisionedThroughput should not be specified for index: {index} when BillingMode is PAY_PER_REQUEST"
)
INDEX_THROUGHPUT_MISSING = _INVALID + "ProvisionedThroughput is not specified for index: {index}"
SWITCH_WITHOUT_INDEX_THROUGHPUT = _INVALID + "ProvisionedThroughput must be specified for index: {indexes}"
SWITCH_WITHOUT_THROUGHPUT = _INVALID + "ProvisionedThroughput must be specified when BillingMode is PROVISIONED"
OUT_OF_BOUNDS = "Given value {value} for {member} is out of bounds"
OUT_OF_BOUNDS_INDEX = "Given value {value} for {member} is out of bounds for index {index}"
ON_DEMAND_MAXIMUM_PROVISIONED_CREATE = (
    _INVALID + "{member} for OnDemandThroughput cannot be specified when table BillingMode is PROVISIONED."
)
ON_DEMAND_MAXIMUM_PROVISIONED_UPDATE = (
    _INVALID + "{member} for OnDemandThroughput cannot be specified when the table BillingMode is PROVISIONED"
)
ON_DEMAND_MAXIMUM_RANGE = _INVALID + "Requested {member} for OnDemandThroughput for {subject} is outside of valid range"
WARM_BELOW_CURRENT = (
    _INVALID
    + "Requested {member} for WarmThroughput for {subject} is lower than current WarmThroughput, "
    + "decreasing WarmThroughput is not supported"
)
WARM_BELOW_INITIAL = (
    _INVALID
    + "Requested {member} for WarmThroughput for {subject} is lower than initial throughput for OnDemand. See: "
    + (
        "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/"
        "on-demand-capacity-mode.html#on-demand-capacity-mode-initial"
    )
)
WARM_BELOW_PROVISIONED = (
    _INVALID + "Requested {member} for WarmThroughput for {subject} is lower than {units} of ProvisionedThroughput"
)
# Our own limit and wording.
WARM_THROUGHPUT_RANGE = _INVALID + "Requested {member} for WarmThroughput for {subject} is outside of valid range"

# --- changes ------------------------------------------------------------------------------------

NOTHING_TO_UPDATE = (
    "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates, "
    "SSESpecification, ReplicaUpdates, MultiAccountReplicaReady, ReplicaTransitRoleArn, MultiRegionConsistency, "
    "DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or TableClass is required"
)
THROUGHPUT_UNCHANGED = (
    "The provisioned throughput for the {subject} will not change. The requested value equals the current value. "
    "Current ReadCapacityUnits provisioned for the {kind}: {read}. Requested ReadCapacityUnits: {read}. "
    "Current WriteCapacityUnits provisioned for the {kind}: {write}. Requested WriteCapacityUnits: {write}. "
    "Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
)
# TOO_MANY_SWITCHES: the service's wording as a user reports it, of a time when one switch a day was allowed.
TOO_MANY_DECREASES = (
    "Subscriber limit exceeded: Provisioned throughput decreases are limited within a given UTC day. After the first "
    "{limit} decreases, each subsequent decrease in the same UTC day can be performed at most once every 3600 seconds. "
    "Number of decreases today: {count}. Last decrease at {last}. Next decrease can be made at {next}"
)
TOO_MANY_SWITCHES = (
    "Subscriber limit exceeded: Update to PayPerRequest mode are limited to {limit} times in 1 day(s). "
    "Last update at {last}. Next update can be made at {next}"
)
TOO_MANY_CLASS_CHANGES = _LIMIT_EXCEEDED + "Updates to TableClass are limited to {limit} times in {days} day(s)."
INDEX_UPDATE_EMPTY = (
    _INVALID
    + "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
    + "GlobalSecondaryIndexUpdate.Delete must not be null"
)
INDEX_UPDATED_TWICE = (
    _INVALID + "Only one global secondary index update per index is allowed simultaneously. Index: {index}"
)
INDEX_NOT_GLOBAL = "Cannot {action} an index that is not a GlobalSecondaryIndex: {index}"
INDEX_EXISTS = "Attempting to create an index which already exists"
INDEX_UPDATE_SEVERAL = (
    _INVALID + "Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object"
)
STREAM_OFF_WITH_VIEW = _INVALID + "If stream is being disabled, then UpdateViewType must not be specified"
STREAM_ON_WITHOUT_VIEW = _INVALID + "If stream is being enabled then UpdateViewType is required"
STREAM_ALREADY_ON = "Table already has an enabled stream: TableName: {name}"
STREAM_ALREADY_OFF = "Table has no stream to disable: TableName: {name}"
TWO_INDEX_CHANGES = _LIMIT_EXCEEDED + "Only 1 online index can be created or deleted simultaneously per table"
INDEX_UPDATE_NOTHING = _INVALID + "Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: {index}"
INDEX_UPDATE_NOTHING_ON_DEMAND = (
    _INVALID
    + "The only Updates for index: {index} when TableThroughputMode is PAY_PER_REQUEST can be to "
    + "OnDemandThroughput, WarmThroughput"
)
INDEX_WARM_EMPTY = (
    _INVALID
    + "WarmThroughput must have at least one of ReadUnitsPerSecond or WriteUnitsPerSecond specified for index: {index}"
)
INDEX_UNITS_ON_DEMAND = (
    _INVALID
    + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: {index} "
    + "when BillingMode is PAY_PER_REQUEST"
)
ONLY_CHANGE = _INVALID + "{kind} modification must be the only operation in the request"
MAXIMUM_WITH_OTHER_CHANGE = (
    _INVALID + "OnDemandThroughput can only be combined with BillingMode in an UpdateTable request"
)
WARM_WITH_OTHER_CHANGE = _INVALID + "WarmThroughput must be the only operation in the request"
WARM_WITH_NEW_INDEX = _INVALID + "Create global secondary index cannot be specified when updating WarmThroughput"
STREAM_WITH_UNITS = _INVALID + "You cannot modify stream status while updating table IOPS"
INDEX_WITH_UNITS = _INVALID + "You cannot create or delete index while updating table IOPS"
INDEX_WITH_STREAM = _INVALID + "You cannot create or delete index while changing stream status"
PROTECTION_CHANGED_LATELY = (
    "Deletion protection setting for table {name} modified within the previous 15000 milliseconds. "
    "Please try again after {next}"
)
TOO_MANY_ENCRYPTION_CHANGES = (
    "Subscriber limit exceeded: Encryption mode changes are limited in the 24h window ending at {end}. After the first "
    "{limit} change, each subsequent change in the same window can be performed at most once every {seconds} seconds. "
    "Number of updates today: {count}. Last change at {last}. Next changes can be made at {next}."
)
ALREADY_ENCRYPTED = _INVALID + (
    "Table is already encrypted with given KMSMasterKeyId. Use KMSMasterKeyId parameter if you"
    " want to change Master Key"
)
ALREADY_DEFAULT_ENCRYPTED = _INVALID + "Table is already encrypted by default"

# --- key schemas and attribute definitions ------------------------------------------------------

KEY_WITHOUT_DEFINITION = "Invalid KeySchema: Some index key attribute have no definition"
DEFINITIONS_MISSING = _INVALID + "AttributeDefinitions is not specified for index: {index}"
KEYS_NOT_DEFINED = (
    _INVALID
    + "Some index key attributes are not defined in AttributeDefinitions. "
    + "Keys: [{keys}], AttributeDefinitions: [{definitions}]"
)
DEFINITIONS_MISMATCH = (
    _INVALID
    + "Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions"
)
DEFINITIONS_NOT_USED = (
    _INVALID + "Some AttributeDefinitions are not used. AttributeDefinitions: [{definitions}], keys used: [{keys}]"
)
FIRST_KEY_NOT_HASH = "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"
SECOND_KEY_NOT_RANGE = "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type"
SAME_KEY_TWICE = "Both the Hash Key and the Range Key element in the KeySchema have the same name"
ATTRIBUTE_DEFINED_TWICE = "Attribute Name is duplicated: {name}"
INDEX_KEY_ORDER = _INVALID + "All HASH key attributes must precede RANGE key attributes in the KeySchema"
INDEX_KEY_TWICE = "The KeySchema contains multiple key attributes with the same name"
INDEX_KEY_COUNT = _INVALID + "The KeySchema exceeds the maximum allowed number of {kind} key attributes"

# --- indexes ------------------------------------------------------------------------------------

INDEX_LIST_EMPTY = _INVALID + "List of {kind} is empty"
LOCAL_INDEX_NEEDS_TABLE_RANGE = (
    _INVALID + "Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex"
)
LOCAL_INDEX_WITHOUT_RANGE = _INVALID + "Index KeySchema does not have a range key for index: {index}"
LOCAL_INDEX_OTHER_HASH = (
    _INVALID
    + "Index KeySchema does not have the same leading hash key as table KeySchema for index: {index}. "
    + "index hash key: {index_key}, table hash key: {table_key}"
)
PROJECTION_MISSING = _INVALID + "Unknown ProjectionType: null"
PROJECTION_WITH_ATTRIBUTES = _INVALID + "ProjectionType is {kind}, but NonKeyAttributes is specified"
PROJECTION_WITHOUT_ATTRIBUTES = _INVALID + "ProjectionType is INCLUDE, but NonKeyAttributes is not specified"
DUPLICATE_INDEX = _INVALID + "Duplicate index name: {index}"
TOO_MANY_LOCAL_INDEXES = _INVALID + "Number of LocalSecondaryIndexes exceeds per-table limit of {limit}"
TOO_MANY_GLOBAL_INDEXES = _INVALID + "GlobalSecondaryIndex count exceeds the per-table limit of {limit}"
TOO_MANY_ADDED_INDEXES = _LIMIT_EXCEEDED + "Number of global secondary indexes exceeds per-table limit of {limit}"
# Our own limit and wording: the service has no such limit.
INDEX_IDS_USED_UP = (
    "Subscriber limit exceeded: {limit} indexes have been created on table {table}, and that is as many as Hashrange "
    "gives one table in its life. Copy its items to a new table."
)
# Our own wording: the service's is not captured.
TOO_MANY_PROJECTED = _INVALID + "Number of NonKeyAttributes over all indexes exceeds per-table limit of {limit}"

# --- streams and encryption ---------------------------------------------------------------------

STREAM_DISABLED_WITH_VIEW = (
    _INVALID + "Table is being created with a stream disabled, UpdateViewType should not be specified"
)
STREAM_WITHOUT_VIEW = _INVALID + "Table is being created with a stream enabled, UpdateViewType is required"
SSE_KEY_WITHOUT_TYPE = _INVALID + "SSEType KMS is required if KMSMasterKeyId is specified"
SSE_AES256 = _INVALID + "SSEType AES256 is not supported"
SSE_DISABLED_WITH = _INVALID + "{member} can not be specified if Enabled is false"
TABLE_CLASS_INVALID = (
    "Invalid table-class parameter provided. Please try again with a valid table-class value: "
    "[STANDARD, STANDARD_INFREQUENT_ACCESS]."
)
TAG_KEY_INVALID = "The Tag Key provided is invalid, Key: {key}"
TAG_VALUE_INVALID = "The Tag Value provided is invalid, Value: {value}"
# Our own.
NOT_SUPPORTED_YET = "Hashrange does not support {member} yet."

# --- tags ---------------------------------------------------------------------------------------

# Only "ARNs must start with 'arn:'" is known from the service, not the whole message.
ARN_START = "Invalid TableArn: ARNs must start with 'arn:': {arn}"
ARN_NOT_AUTHORIZED = (
    "User: arn:aws:iam::{account}:root is not authorized to perform: dynamodb:{operation} on resource: {arn}"
)
ARN_NOT_TABLE = "Invalid TableArn: Invalid ResourceArn provided as input {arn}"
ARN_NOT_FOUND = "Requested resource not found: ResourcArn: {arn} not found"
TAGS_EMPTY = "Atleast one Tag needs to be provided as Input."
TAG_KEYS_EMPTY = "Atleast one Tag Key needs to be provided as Input."
TOO_MANY_TAGS = "Number of Tags exceed the current limit for the provided ResourceArn"
DUPLICATE_TAG = "Duplicate Tag Keys provided as input: Duplicate Tag Key found {key}"
RESERVED_TAG = "Tag Key cannot be prefixed with aws:, Key: {key}"
# Our own wording: the service's is not captured.
TAGS_TOKEN_INVALID = _INVALID + "NextToken is not valid"
