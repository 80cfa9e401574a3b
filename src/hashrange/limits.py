"""Which numbers bound what a client may ask for? Every limit of the service, its unit in its name, its source beside it."""

# --- requests ---

CONSTRAINT_ERRORS_MAX = 10
"""Broken member constraints listed in one reply. Source: service behaviour, captures to October 2026."""
MESSAGE_CHARACTERS_MAX = 100_000
"""Of an error, with whatever it echoes of the request: our own bound (unconfirmed)."""
MEMBERS_LOOKED_AT = 5_000
"""Of lists and maps that are too long anyway, in one request: our own bound. They fill a message, at 20 characters."""
TEXTS_LOOKED_AT = MESSAGE_CHARACTERS_MAX // 2
"""Of a list of texts that is too long anyway: they fill a message, at 2 characters."""
STRUCTURES_MAX = 1_000
"""In a list of structures whose length the API model does not bound; our own bound, far beyond what any operation takes."""
STRUCTURES_BY_NAME_MAX = 110_000
"""In a map of structures likewise: more attributes than an item of 400 KB can have."""
TABLE_NAME_LENGTH_MIN = 3
"""Characters of a table's or index's name."""
TABLE_NAME_LENGTH_MAX = 255
"""Characters of a table's or index's name."""

# --- tables ---
# Source: developer guide, quotas page of 2026, and the service model of November 2026.

TABLES_MAX = 2_500
"""Tables of one account and Region."""
LOCAL_INDEXES_MAX = 5
GLOBAL_INDEXES_MAX = 20
INDEX_KEY_ELEMENTS_MAX = 4
"""HASH elements, and RANGE elements, of a global index."""
PROJECTED_ATTRIBUTES_MAX = 100
INDEX_CREATIONS_MAX = 2**16 - 2
"""Indexes that one table may be given in its life, deleted ones included: our own bound, for each has an id of two bytes."""
"""NonKeyAttributes summed over all indexes of a table; repeats count."""
THROUGHPUT_UNITS_MAX = 10**12
"""Capacity units per second that one request may ask for."""
ON_DEMAND_WARM_READ_UNITS = 12_000
ON_DEMAND_WARM_WRITE_UNITS = 4_000
DECREASES_HELD_MAX = 4
"""Throughput decreases allowed at the start of a UTC day; each hour gives one back, up to as many."""
SWITCHES_TO_ON_DEMAND_MAX = 4
"""Switches from provisioned to on-demand within 24 hours."""
LIST_TABLES_MAX = 100
"""Names on one page."""
TAGS_MAX = 50
"""Tags of one table."""
TAGS_PER_PAGE = 50
"""Tags in one reply of ListTagsOfResource; the service's own page size is not known."""
ACCOUNT_CAPACITY_UNITS_MAX = 80_000
"""DescribeLimits: read, and write, capacity units of an account in one Region."""
TABLE_CAPACITY_UNITS_MAX = 40_000
"""DescribeLimits: read, and write, capacity units of one table."""
ENDPOINT_CACHE_MINUTES = 1_440
RESOURCE_POLICY_MAX_BYTES = 20_480
"""UTF-8 bytes of a policy document as it is sent, blanks included. Source: service behaviour, captures to October 2026."""

# --- reads and writes of items ---
# Source: developer guide, capacity and quotas pages.

ITEM_SIZE_MAX_BYTES = 400 * 1024
"""Names and values of one item."""
PAGE_SIZE_MAX_BYTES = 1024 * 1024
"""Evaluated item sizes of one page of a Query or Scan; the item that reaches it is still on the page."""
READ_UNIT_BYTES = 4096
WRITE_UNIT_BYTES = 1024
BATCH_GET_KEYS_MAX = 100
"""Keys of one BatchGetItem, over all its tables."""
BATCH_GET_SIZE_MAX_BYTES = 16 * 1024 * 1024
"""Item sizes in one reply of BatchGetItem; the item that would exceed it is left to the next request."""
BATCH_GET_PARTITION_MAX_BYTES = 1024 * 1024
"""Item sizes of one partition in one reply of BatchGetItem."""
BATCH_WRITE_REQUESTS_MAX = 25
"""Puts and deletes of one BatchWriteItem, over all its tables."""

# --- expressions ---
# Source: developer guide, limits of expression parameters.

EXPRESSION_SIZE_MAX_BYTES = 4_096
"""UTF-8 bytes of one expression."""
EXPRESSION_OPERATORS_MAX = 300
"""Operators and functions of one expression."""
EXPRESSION_TOKEN_MAX_BYTES = 255
"""Bytes of a `#name` or `:value` token, sign included."""
MEMBERSHIP_OPERANDS_MAX = 100
"""Operands in the parentheses of IN."""
PATH_DEPTH_MAX = 32
"""Dereferences of a document path."""
LIST_INDEX_MAX = 2_147_483_647
"""Largest index written in a path (unconfirmed)."""

# --- items ---
# Source: developer guide, quotas page; service behaviour, captures to Oct 2026.

NESTING_LEVELS_MAX = 32
"""A value may stand inside fewer lists and maps than this."""
NESTING_LEVELS_READ_MAX = 62
"""The current layer reads values inside about as many lists and maps; a request for a single item with a deeper one falls back."""
ATTRIBUTE_NAME_MAX_BYTES = 65_535
NUMBER_DIGITS_MAX = 38
"""Significant digits; leading and trailing zeros do not count."""
NUMBER_EXPONENT_MAX = 125
"""Decimal exponent of the first significant digit."""
NUMBER_EXPONENT_MIN = -130
PARTITION_KEY_MAX_BYTES = 2_048
SORT_KEY_MAX_BYTES = 1_024
ITEM_COLLECTION_SIZE_MAX_BYTES = 10 * 1024**3
"""All items of one partition key value and their entries in local indexes, in tables that have such."""
PARTITION_SIZE_MAX_BYTES = 10 * 1024**3
PARTITION_READ_UNITS, PARTITION_WRITE_UNITS = 3_000, 1_000
"""What a partition serves a second."""
ON_DEMAND_PARTITIONS = 4
"""A new table on demand begins with so many in the service."""
PARTITIONS_MAX = 4_096
"""Of a source, ours."""

# --- streams ---
# Source: developer guide, streams and their API; service model of November 2026.

LIST_STREAMS_MAX = 100
DESCRIBE_STREAM_MAX = 100
"""Shards."""
GET_RECORDS_MAX = 1_000
GET_RECORDS_MAX_BYTES = 1024 * 1024

# --- transactions ---
# Source: developer guide, quotas page; service model of November 2026.

TRANSACTION_SIZE_MAX_BYTES = 4 * 1024 * 1024
"""Sum of the sizes of the items that one transaction reads or writes."""
TRANSACTION_COMMIT_MAX_BYTES = 14 * 1024 * 1024
"""Of the rows that one transaction writes, and of their images in streams, as they are stored: a bound of our own, which only items of very many
tiny values reach."""
TOKEN_LIFE_SECONDS = 600
"""How long a request with the same ClientRequestToken is the same transaction."""
TRANSACTION_FACTOR = 2
"""How many times as much as by a single strongly consistent operation a table's own arm is charged."""

# --- PartiQL ---
# Source: developer guide, PartiQL pages; service model of November 2026.

STATEMENT_LENGTH_MAX = 8_192
"""Characters of one statement."""
STATEMENT_PARTITIONS_MAX = 50
"""Partition key values that one WHERE clause may ask for."""
STATEMENT_NESTING_MAX = 100
"""Brackets and NOTs inside each other; our own bound, far beyond anything written by hand."""
BATCH_STATEMENTS_MAX = 25
TRANSACTION_STATEMENTS_MAX = 100

# --- time to live ---
# Source: developer guide, time to live; UpdateTimeToLive in the API reference.

TTL_COOLDOWN_SECONDS = 3_600.0
"""After a change, time to live of the table cannot be changed for so long."""
EXPIRY_AGE_MAX_SECONDS = 5 * 365 * 86_400
"""An item that expired longer ago is not deleted: its number is taken for something else."""

# --- our own bounds ---
# The API names none of these. They keep one request from holding up all others; docs/compatibility.md lists them.

REQUEST_MEMBERS_MAX = 420_000
"""Commas and colons of a body outside of its texts. Of single items only those can have more that are lists of nothing but empty strings or nulls."""
ROW_MAX_BYTES = 4 * 1024 * 1024
"""An item's JSON at rest. Only thousands of numbers like 1E-130 reach it, which weigh 3 bytes and are written with 131 digits."""
REPLY_JSON_MAX_BYTES = 32 * 1024 * 1024
"""JSON of the items that one reply tells; the item that reaches it may still be in it. Items of very many tiny values have up to nine times as
much JSON as they count bytes, numbers like 1E-130 up to 67 times."""
LEGACY_CONDITIONS_MAX = 1_000
"""Attributes that Expected, QueryFilter, ScanFilter or KeyConditions name."""
