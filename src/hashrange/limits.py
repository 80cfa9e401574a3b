"""Which numbers of DynamoDB, Streams and Lambda limit a request? The services' limits, with their sources, and our own
bounds of them; sizes and times have their unit in the name.
"""

# --- requests ---

BODY_BYTES_MAX = 16 * 1024 * 1024
"""Length of a request body; a longer one is answered with status 413. Source: limits.md, "Any request body"."""
SKEW_SECONDS_MAX = 15 * 60
"""Greatest difference between the date of a signed request and the clock; a presigned request may be older. Source:
signing.md 4."""
EXPIRES_SECONDS_MAX = 7 * 24 * 3600
"""The longest time for which a presigned request may be valid. Source: signing.md."""
CONSTRAINT_ERRORS_MAX = 10
"""Broken member constraints that one message lists at most. Source: service behaviour, captures to October 2026."""
MESSAGE_CHARACTERS_MAX = 100_000
"""Characters of an error message, including quotations of the request; further characters are cut: our own bound, as
the service's is unconfirmed."""
MEMBERS_INSPECTED_MAX = 5_000
"""Once the slow path has inspected this many members of a request's lists and maps, it cuts each over-long one behind
the first member that is too many (lists and maps of strings: behind STRINGS_KEPT_MIN members): our own bound. This many
members, of 20 characters each when printed, fill a message."""
STRINGS_KEPT_MIN = MESSAGE_CHARACTERS_MAX // 2
"""An over-long list or map of strings keeps more members than this when the slow path cuts it: printed with two
characters each, this many members fill a message."""
STRUCTURES_MAX = 1_000
"""Greatest length of a list of structures if the API model declares no length: our own bound, far beyond what any
operation accepts."""
STRUCTURES_BY_NAME_MAX = 110_000
"""Greatest length of a map whose values are structures, if the API model declares no length: our own bound. Such maps
have attribute names as keys (Expected, AttributeUpdates, …)."""
TABLE_NAME_LENGTH_MIN = 3
"""Least number of characters in the name of a table or index."""
TABLE_NAME_LENGTH_MAX = 255
"""Greatest number of characters in the name of a table or index."""

# --- tables ---
# Source of the limits for tables: developer guide, quotas page of 2026, and the service model of November 2026.

TABLES_MAX = 2_500
"""Tables of one account and Region."""
LOCAL_INDEXES_MAX = 5
GLOBAL_INDEXES_MAX = 20
INDEX_KEY_ELEMENTS_MAX = 4
"""Elements of type HASH in the key schema of a global index; there may be as many of type RANGE."""
PROJECTED_ATTRIBUTES_MAX = 100
"""NonKeyAttributes summed over all indexes of a table; repeated names count each time."""
INDEX_CREATIONS_MAX = 2**16 - 2
"""Indexes that one table may ever have, deleted indexes included: our own bound, because an index id has two bytes."""
VECTOR_INDEXES_MAX = 5
VECTOR_DIMENSIONS_MAX = 4_096
SEARCH_HASH_ELEMENTS_MAX = 1
INLINE_FILTERS_MAX = 18
"""INLINE_FILTER elements in the search schema of a vector index."""
VECTOR_PROJECTED_MAX = 20
"""Attributes that a vector index projects: the vector, INLINE_FILTER attributes and NonKeyAttributes."""
THROUGHPUT_UNITS_MAX = 10**12
"""Units per second to which a request may set provisioned, maximum on-demand or warm throughput."""
ON_DEMAND_WARM_READ_UNITS = 12_000
ON_DEMAND_WARM_WRITE_UNITS = 4_000
DECREASES_AT_ONCE_MAX = 4
"""Decreases of throughput of a table or global index on one UTC day after which each further one must be an hour after
the last one. Source: service behaviour, captures to October 2026."""
SWITCHES_TO_ON_DEMAND_MAX = 4
"""Switches of one table from provisioned to on-demand within 24 hours."""
TABLE_CLASS_CHANGES_MAX = 2
"""Changes of one table's class within TABLE_CLASS_CHANGES_DAYS."""
TABLE_CLASS_CHANGES_DAYS = 30
ENCRYPTION_CHANGES_AT_ONCE_MAX = 4
"""Changes of one table's encryption within ENCRYPTION_WINDOW_SECONDS of the first one, after which each further one
must be ENCRYPTION_CHANGE_SECONDS after the last one. Source: service behaviour, captures to October 2026."""
ENCRYPTION_WINDOW_SECONDS = 86_400
ENCRYPTION_CHANGE_SECONDS = 21_600
PROTECTION_CHANGE_SECONDS = 15
"""Between two changes of one table's deletion protection, if tables take time to change."""
LIST_TABLES_MAX = 100
"""Table names on one page of ListTables."""
LISTED_MAX = 100
"""Members on one page of ListBackups and of ListContributorInsights."""
RECOVERY_DAYS = 35
"""Days for which a table can be restored to a point in time unless a request names fewer, and at most."""
SYSTEM_BACKUP_SECONDS = 35 * 86_400.0
"""How long the backup of a deleted table is kept. Source: developer guide, point-in-time recovery."""
BACKUPS_ENABLED_SECONDS = 3.0
"""How long after a table is ACTIVE backups of it become possible. Source: service behaviour, captures of Oct 2026."""
RESTORES_MAX = 50
"""Tables of one account and Region that are restored at the same time."""
RULE_NAME_LENGTH_MAX = 128
"""Characters of the name of a rule of Contributor Insights. Source: service model."""
TRANSFERS_LISTED_MAX = 25
"""Members on one page of ListExports, ListImports and ListBulkOperations."""
EXPORTS_AT_ONCE_MAX = 300
"""Exports that may be in progress in one account and Region."""
IMPORTS_AT_ONCE_MAX = 50
"""Imports that may be in progress in one account and Region."""
IMPORTED_OBJECTS_MAX = 50_000
"""Objects that one import or bulk put reads."""
BULK_OBJECT_BYTES_MAX = 5 * 1024**3
"""Length of an object that a bulk put reads. Source: developer guide, best practices for bulk put items."""
IMPORTS_LISTED_USUALLY = 10
"""Members on a page of ListImports whose size is not told."""
TRANSFER_TOKEN_SECONDS = 8 * 3600
"""How long the token of an export, import or bulk put names it."""
TRANSFERS_LISTED_SECONDS = 90 * 86_400
"""How long exports, imports and bulk puts are listed."""
INCREMENTAL_SECONDS_MIN, INCREMENTAL_SECONDS_MAX = 15 * 60, 86_400
"""Time between the begin and the end of an incremental export."""
INCREMENTAL_BILLED_BYTES_MIN = 10_000_000
"""Least bytes that are billed for an incremental export."""
TAGS_MAX = 50
TAG_KEY_CHARACTERS_MAX = 128
TAG_VALUE_CHARACTERS_MAX = 256
"""Tags of one table."""
TAGS_PER_PAGE = 50
"""Tags in one reply of ListTagsOfResource; the service's own page size is not known."""
ACCOUNT_CAPACITY_UNITS_MAX = 80_000
"""Provisioned read capacity units of an account in one Region, over tables and global indexes;
as many write capacity units."""
TABLE_CAPACITY_UNITS_MAX = 40_000
"""Read capacity units of one table or global index, as many write capacity units:
provisioned, or used in a second on demand."""
TABLE_CHANGES_MAX = 500
"""Tables of one account and Region that are CREATING, UPDATING or DELETING,
or whose time to live changes, at the same time."""
INDEXED_CREATIONS_MAX = 250
"""Tables with secondary indexes that are CREATING at the same time, in one account and Region."""
ENDPOINT_CACHE_MINUTES = 1_440
RESOURCE_POLICY_MAX_BYTES = 20_480
"""UTF-8 bytes of a policy document as it is sent, blanks included. Source: service behaviour, captures to Oct 2026."""

# --- reads and writes of items ---
# Source of the limits for reads and writes of items: developer guide, capacity and quotas pages.

ITEM_SIZE_MAX_BYTES = 400 * 1024
"""Size of one item: the sizes of its attributes' names and values."""
PAGE_SIZE_MAX_BYTES = 1024 * 1024
"""Sum of the item sizes that one page of a Query, Scan or SELECT evaluates, with the item that reaches the limit."""
READ_UNIT_BYTES = 4096
WRITE_UNIT_BYTES = 1024
BATCH_GET_KEYS_MAX = 100
"""Keys of one BatchGetItem, over all its tables."""
BATCH_GET_SIZE_MAX_BYTES = 16 * 1024 * 1024
"""Sum of the whole sizes of the items in one reply of BatchGetItem; all keys from the item that would exceed it on are
unprocessed."""
BATCH_GET_PARTITION_MAX_BYTES = 1024 * 1024
"""Sum of the sizes of the items with one partition key value that one BatchGetItem reads from a table."""
BATCH_WRITE_REQUESTS_MAX = 25
"""Puts and deletes of one BatchWriteItem, over all its tables."""

# --- expressions ---
# Source of the limits for expressions: developer guide, limits of expression parameters.

EXPRESSION_SIZE_MAX_BYTES = 4_096
"""UTF-8 bytes of one expression."""
EXPRESSION_OPERATORS_MAX = 300
"""Operators and functions of one expression."""
EXPRESSION_TOKEN_MAX_BYTES = 255
"""Bytes of a `#name` or `:value` token, including `#` or `:`."""
MEMBERSHIP_OPERANDS_MAX = 100
"""Operands in the parentheses of IN."""
PATH_DEPTH_MAX = 32
"""Elements of a document path after its first name: `.name` and `[index]`."""
LIST_INDEX_MAX = 2_147_483_647
"""Largest list index in a document path (unconfirmed)."""

# --- items ---
# Source of the limits for items: developer guide, quotas page; service behaviour, captures to Oct 2026.

NESTING_LEVELS_MAX = 32
"""Levels of nesting: the number of lists and maps around a value must be smaller than this."""
NESTING_LEVELS_READ_MAX = 62
"""Levels of nesting that the current validation layer reads, approximately; a request for a single item that holds a
deeper value falls back to the older layer."""
ATTRIBUTE_NAME_MAX_BYTES = 65_535
NUMBER_DIGITS_MAX = 38
"""Significant digits of a number; leading and trailing zeros do not count."""
NUMBER_EXPONENT_MAX = 125
"""Greatest decimal exponent of a number's first significant digit."""
NUMBER_EXPONENT_MIN = -130
PARTITION_KEY_MAX_BYTES = 2_048
SORT_KEY_MAX_BYTES = 1_024
FILTER_VALUE_MAX_BYTES = 10_240
"""Size of the value of an INLINE_FILTER attribute of a vector index (unconfirmed)."""
VECTOR_WRITE_MIN_BYTES = 1_024
"""Least number of bytes that a write of an entry of a vector index is charged for."""
FLOAT32_MAX = 3.4028235e38
"""Greatest magnitude of an element of a vector."""
ITEM_COLLECTION_SIZE_MAX_BYTES = 10 * 1024**3
"""Sum of the sizes of the items with one partition key value and of their entries in local indexes. Only tables with
local indexes have this limit."""
PARTITION_SIZE_MAX_BYTES = 10 * 1024**3
PARTITION_READ_UNITS, PARTITION_WRITE_UNITS = 3_000, 1_000
"""Read units, and write units, that one partition of the service serves per second."""
ON_DEMAND_PARTITIONS = 4
"""Partitions of a new on-demand table in the service, at least."""
PARTITIONS_MAX = 4_096
"""Partitions of one table or index, and those that a table and its indexes begin with together: our own bound. The
units that a table may have without a raised quota need 54 partitions, and as many for each index."""
BURST_SECONDS = 300
"""Seconds of provisioned throughput that may be used later. Source: developer guide, burst capacity."""
ON_DEMAND_GROWTH_FACTOR = 2
"""An on-demand table or index serves this many times its previous peak at once.
Source: developer guide, on-demand capacity mode."""
ON_DEMAND_GROWTH_SECONDS = 1_800.0
"""Time after which units used in a second count as previous peak.
Source: developer guide, on-demand capacity mode, which says that doubling within 30 minutes may throttle."""
HOT_ITEM_SECONDS = 300.0
"""An item that has made up two thirds of what its partition refused for this long gets a partition of its own:
a model, as the service's is not published."""
HOT_ITEM_PAUSE_SECONDS_MAX = 60.0
"""A partition that has refused nothing for this long has no hot item: our own model."""
HOT_ITEMS_MAX = 100
"""Items of one table or index that are isolated at most, for reads and for writes: our own bound."""

# --- streams ---
# Source of the limits for streams: developer guide, streams and their API; service model of November 2026.

LIST_STREAMS_MAX = 100
"""Streams on one page of ListStreams."""
DESCRIBE_STREAM_MAX = 100
"""Shards on one page of DescribeStream."""
GET_RECORDS_MAX = 1_000
GET_RECORDS_MAX_BYTES = 1024 * 1024
ITERATOR_LIFE_SECONDS = 15 * 60.0
"""How long a shard iterator can be used."""
RECORD_RETENTION_SECONDS = 24 * 3600.0
"""How long a record, and a stream that has ended, can be read."""
SHARD_SECONDS = 4 * 3600.0
"""How long a shard is open, in service time, unless its stream ends or its partition splits."""

# --- Kinesis destinations ---
# Source of the limits for requests to Kinesis: its service model of November 2026.

KINESIS_PUT_RECORDS_MAX = 500
"""Records of one PutRecords."""
KINESIS_PUT_BYTES = 1024 * 1024
"""Bytes of the records of one PutRecords, unless the first one alone has more: our own bound; Kinesis takes 10 MiB."""
KINESIS_RECORD_BYTES_MAX = 10 * 1024 * 1024
"""Bytes of one record with its partition key; most data streams take 1 MiB. Longer records are not sent."""
KINESIS_PUTS_AT_ONCE = 8
"""Requests to Kinesis under way at the same time: our own bound."""
KINESIS_REPLY_BYTES_MAX = 256 * 1024
"""Bytes of a reply of Kinesis; one with 500 results has some 100 KB: our own bound."""
KINESIS_TIMEOUT_SECONDS = 10.0
"""Real time in which Kinesis has to answer a request: our own bound."""
KINESIS_ENABLING_SECONDS_MAX = 300.0
"""Service time after which a destination is ENABLE_FAILED if Kinesis has not answered: our own bound."""
CHANGE_DATA_CAPTURE_UNIT_BYTES = 1024
"""Bytes of the larger image of a change that one change data capture unit pays for. Source: streams.md 7."""
KINESIS_DESTINATIONS_SHOWN_MAX = 50
"""Destinations that one table's description shows; the oldest ended ones are left out: our own bound."""

# --- transactions ---
# Source of the limits for transactions: developer guide, quotas page; service model of November 2026.

TRANSACTION_ACTIONS_MAX = 100
"""Actions of one TransactWriteItems, and gets of one TransactGetItems."""
TRANSACTION_SIZE_MAX_BYTES = 4 * 1024 * 1024
"""Sum of the sizes of the items that one transaction reads or writes."""
TRANSACTION_PLANNED_MAX_BYTES = 2 * TRANSACTION_SIZE_MAX_BYTES
"""Sum of the sizes of the items that one transaction plans to write, before it is refused as too large although a later
action might have a reason to be refused. Our own bound: planning a hundred items of the largest size takes seconds."""
TRANSACTION_COMMIT_MAX_BYTES = 14 * 1024 * 1024
"""Bytes of rows, and of their images in streams, that one transaction stores; index entries do not count. Our own
bound, which only items of very many tiny values reach."""
TOKEN_LIFE_SECONDS = 600
"""Time after a transaction in which a request with the same ClientRequestToken starts no second transaction."""
TRANSACTION_FACTOR = 2
"""A transaction consumes this multiple of the capacity of the same plain, strongly consistent operation."""

# --- PartiQL ---
# Source of the limits for PartiQL: developer guide, PartiQL pages; service model of November 2026.

STATEMENT_LENGTH_MAX = 8_192
"""Characters of one statement."""
STATEMENT_PARTITIONS_MAX = 50
"""Partition key values that one WHERE clause may name."""
STATEMENT_NESTING_MAX = 100
"""Levels of nested brackets in one statement: our own bound, far beyond anything written by hand."""
BATCH_STATEMENTS_MAX = 25
TRANSACTION_STATEMENTS_MAX = 100

# --- time to live ---
# Source of the limits for time to live: developer guide, time to live; UpdateTimeToLive in the API reference.

TTL_COOLDOWN_SECONDS = 3_600.0
"""Time after a change of a table's time to live in which it cannot be changed again."""
EXPIRY_AGE_MAX_SECONDS = 5 * 365 * 86_400
"""Items that expired longer ago than this are not deleted: the service takes such a number for something other than a
time."""

# --- functions ---
# Source of the limits for functions: Lambda's developer guide, quotas page of 2026.

CODE_ZIPPED_BYTES_MAX = 50 * 1024 * 1024
"""Bytes of a zip file that is uploaded directly."""
CODE_UNZIPPED_BYTES_MAX = 250 * 1024 * 1024
"""Bytes of all files of an unpacked zip file."""
CODE_FILES_MAX = 100_000
"""Files and folders of one zip file, and files that are looked at to notice changed code: our own bound."""
INVOCATION_PAYLOAD_BYTES_MAX = 6 * 1024 * 1024
"""Bytes of the payload of a synchronous invocation."""
INVOCATION_REPLY_BYTES_MAX = INVOCATION_PAYLOAD_BYTES_MAX + 100
"""Bytes of what a handler returns. Source: the service's message, which names 6291556 bytes (reports of users)."""
LAMBDA_REQUEST_BYTES_MAX = 70_167_211
"""Bytes of a request with a zip file, which is base64 text in JSON.
Source: the service's message (reports of users)."""
LAMBDA_JSON_BYTES_MAX = 1024 * 1024
"""Bytes of the JSON of a request of Lambda's API, without the zip file:
our own bound, far above what members may have."""
FUNCTION_LOG_BYTES_MAX = 256 * 1024
FUNCTION_LOG_LINES_MAX = 10_000
"""Bytes and lines of a handler's output that are logged for one invocation;
the log says how much is left out: our own bounds."""
LOG_BYTES_PER_SECOND_MAX = 1024 * 1024
LOG_LINES_PER_SECOND_MAX = 10_000
"""Bytes and lines of the output of all handlers that a server logs in a second: our own bounds."""
FUNCTION_ERROR_TYPE_LENGTH_MAX = 256
"""Characters of the type of a handler's error that are looked at: our own bound."""
LOG_TAIL_BYTES_MAX = 4 * 1024
"""Bytes at the end of an invocation's log that LogType=Tail returns."""
INIT_SECONDS_MAX = 10.0
"""Time in which a new environment has to load the handler's module, before the function's own time-out begins."""
ENVIRONMENT_IDLE_SECONDS_MAX = 300.0
"""An environment ends when it has had no invocation for this long: our own bound; the service's is not documented."""

FUNCTION_NAME_LENGTH_MAX = 64
FUNCTION_TIMEOUT_SECONDS_MAX = 1_800
FUNCTION_MEMORY_MB_MIN, FUNCTION_MEMORY_MB_MAX = 128, 10_240
FUNCTION_VARIABLES_BYTES_MAX = 4 * 1024
"""Bytes of the JSON of a function's environment variables."""
FUNCTION_POLICY_BYTES_MAX = 20 * 1024
"""Bytes of the JSON of a function's resource-based policy."""
FUNCTION_TAGS_MAX = 50
FUNCTIONS_LIST_MAX = 50
"""Functions on one page of ListFunctions, and versions on one of ListVersionsByFunction."""
CODE_STORAGE_BYTES_MAX = 75 * 1024**3
"""Bytes of the zip files of all functions of an account in a Region."""
CODE_LINK_SECONDS = 600.0
"""How long the URL of a function's zip, in a reply of GetFunction, can be used."""
CONCURRENT_EXECUTIONS_MAX = 1_000
"""Invocations of an account in a Region that run at the same time."""
UNRESERVED_EXECUTIONS_MIN = 100
"""Part of CONCURRENT_EXECUTIONS_MAX that cannot be reserved for functions."""
EVENT_PAYLOAD_BYTES_MAX = 1024 * 1024
"""Bytes of the payload of an asynchronous invocation. Source: Lambda's quotas page since October 2025."""
EVENT_RETRY_SECONDS = (60.0, 120.0)
"""Pauses before the retries of an asynchronous invocation that returned an error. Source: Lambda's developer guide,
*How Lambda handles errors and retries with asynchronous invocation*; also of the next two numbers."""
EVENT_THROTTLED_SECONDS_MIN, EVENT_THROTTLED_SECONDS_MAX = 1.0, 300.0
"""First and longest pause before an asynchronous invocation that could not begin is tried again."""
EVENT_AGE_SECONDS_MAX = 6 * 3600.0
"""An asynchronous invocation that is older is given up."""
EVENTS_QUEUED_MAX, EVENTS_QUEUED_BYTES_MAX = 10_000, 64 * 1024 * 1024
"""Asynchronous invocations that wait, and the bytes of their payloads: our own bounds."""
EVENTS_RUNNING_MAX = 10
"""Asynchronous invocations of one function that run at the same time: our own bound."""
INVOCATIONS_RUNNING_MAX = 100
"""Invocations of all functions that run at the same time, each in a process: our own bound."""
ENVIRONMENTS_IDLE_MAX = 50
"""Environments of all functions that wait for an invocation: our own bound."""
FUNCTIONS_LOADED_MAX = 100
"""Functions whose code stays unpacked; of others it is unpacked again when they are invoked: our own bound."""

# --- triggers ---
# Source of the limits for event source mappings: Lambda's API reference and developer guide of 2026.

TUMBLING_STATE_BYTES_MAX = 1024 * 1024
"""Bytes of the JSON of a tumbling window's state; more end the window early."""
TRIGGER_PAUSE_SECONDS_MIN, TRIGGER_PAUSE_SECONDS_MAX = 0.5, 60.0
"""First and longest pause before a failed batch is delivered again (unconfirmed)."""
EVENT_FILTERS_MAX = 10
"""Filter patterns of one mapping: the quota that the service grants on request; without a request, it is 5."""
RECORD_AGE_SECONDS_MIN = 60
"""Least MaximumRecordAgeInSeconds, except -1. Source: the service's message (reports of users)."""
MAPPINGS_PER_PAGE = 100
"""Event source mappings on one page of ListEventSourceMappings."""
TRIGGER_PAGE_RECORDS, TRIGGER_PAGE_BYTES = 64, 64 * 1024
"""Stream records that are read at once for a mapping, and their bytes as stored: our own bound.
No request is answered while they are read, which takes 0.1 to 0.2 ms."""
TRIGGER_SENT_BYTES_MAX = 64 * 1024 * 1024
"""Bytes of the events that are at functions and destinations for all mappings together, from which on no further batch
is delivered before one of them has ended: our own bound."""
TRIGGER_KEPT_BYTES_MAX = 64 * 1024 * 1024
"""Bytes of stream records, read for all mappings together, after which those in memory are let go of; what is still to
be delivered is read again: our own bound."""
DESTINATION_SECONDS_MAX = 30.0
"""Real time in which a failure destination has to accept a message, before it is sent again: our own bound."""
TRIGGER_CHAIN_LINKS_MAX = 1_000
"""Invocations in a row, each with records written, or queued asynchronously, since the one before, after which
an advance of service time does not wait for their end: our own bound. They take a few seconds of real time."""
TRIGGER_CHAIN_SECONDS_MAX = 30.0
"""Real time for which an advance of service time waits for records that were written, and invocations that were
queued, after it had begun: our own bound."""
TRIGGER_PASSED_RECORDS_MAX = 1_000
"""Records without a match that a mapping passes over before it stores its position: our own bound."""
TRIGGER_PASSED_SECONDS = 5.0
"""Service time after which a mapping stores its position behind records without a match,
if nothing stores it earlier: our own bound. After a kill within this time, these records are filtered again,
by the filters that the mapping has then."""

# --- filter patterns ---
# Source of the limits for filter patterns: Lambda's API reference, Filter; EventBridge's user guide of 2026, comparison
# operators.

FILTER_PATTERN_LENGTH_MAX = 4_096
"""Characters of one filter pattern."""
FILTER_LEVELS_MAX = 100
"""Levels of nested objects in one filter pattern: our own bound. An attribute inside 32 maps takes 68 levels."""
FILTER_NUMBER_MAX = 5_000_000_000
"""Largest number, and smallest with a minus sign, that `numeric` and `anything-but` compare with."""
FILTER_DECIMALS_MAX = 6
"""Digits after the decimal point of a number that a filter pattern compares with."""

# --- on-failure destinations ---

DELIVERY_REPLY_BYTES_MAX = 64 * 1024
"""Bytes that are read of the body of a destination's reply, of which only the status matters: our own bound."""

# --- services beside DynamoDB ---

SERVICE_BODY_BYTES_MAX = 2 * 1024 * 1024
"""Bytes of a request of CloudWatch or Application Auto Scaling.
PutMetricData may have 1 MB; the rest is our own bound."""
SERVICE_QUERY_MEMBERS_MAX = 50_000
"""Members of a request in the Query form: our own bound."""
SERVICE_CONTAINERS_MAX = 50_000
"""Lists and structures in a request in JSON or CBOR: our own bound. 1,000 data with 30 dimensions each have 32,000."""

# --- our own bounds ---
# The API has none of the following limits. They keep one request from holding up all others; docs/compatibility.md
# lists them.

REQUEST_MEMBERS_MAX = 420_000
"""Commas, colons and lists directly inside lists in a request's JSON, outside of strings;
a valid request has none of the last. One valid item exceeds this only if it consists mostly of lists of empty strings,
empty binaries or sets of one of these."""
ROW_MAX_BYTES = 4 * 1024 * 1024
"""Bytes of an item's canonical JSON, before it is packed. Hardly any items reach this limit but those with tens of
thousands of numbers like 1E-130: in a list, each counts 3 bytes and is written with 131 digits."""
REPLY_JSON_MAX_BYTES = 32 * 1024 * 1024
"""Bytes of the JSON of all items in one reply; the item that reaches the limit may still be in the reply. The JSON of
an item of very many tiny values is up to twelve times its DynamoDB size, and up to 67 times for numbers like 1E-130."""
LEGACY_CONDITIONS_MAX = 1_000
"""Attributes that one of Expected, QueryFilter, ScanFilter and KeyConditions may name."""

# --- searches of vector indexes -----------------------------------------------------------------

TOP_K_MAX = 100
"""Entries that one search of a vector index returns."""
SEARCH_BYTES_MIN = 1_024
"""Bytes that a search consumes at least."""
SEARCH_RESULTS_MAX_BYTES = 16 * 1024 * 1024
"""JSON of all items that one search returns."""
VECTOR_MEMORY_BYTES = 2_500_000_000
"""Memory of the vectors that searches have loaded, unless the settings say otherwise: our own bound, within
which a million vectors of 384 dimensions fit."""
