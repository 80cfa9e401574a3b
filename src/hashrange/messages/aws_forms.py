"""Which error messages do the protocols of CloudWatch and Application Auto Scaling send,
before and besides their operations?
"""

# Our own wording: the service supports all of its operations.
NOT_SUPPORTED = "Hashrange does not support {operation} yet."
# Our own wording.
NO_SUCH_OPERATION = "{service} has no operation {operation}."
# (unconfirmed): as other services with this form word it.
NO_SUCH_VERSION = "Could not find operation {operation} for version {version}"
# (unconfirmed): the descriptions of MissingAction and MalformedQueryString in lists of common errors.
MISSING_ACTION = "The request is missing an action or a required parameter."
MALFORMED_FORM = "The query string contains a syntax error."
# As users report it, of CloudWatch.
RATE_EXCEEDED = "Rate exceeded"
# (unconfirmed): the service's words.
SERVICE_FAILED = "The request processing has failed because of an unknown error, exception or failure."
# Service's words, from reports of users of PutMetricData.
REQUEST_TOO_LARGE = "Request size {size} exceeded {most} bytes"

# --- what is wrong with a body, or a member of it: our own, as msgspec says of types ---------------

BODY_TOO_LONG = "the body has more than {most:,} bytes"
TOO_MANY_CONTAINERS = "the body has more than {most:,} lists and structures"
NO_JSON = "the body is no JSON"
NO_CBOR = "the body is no CBOR"
TAGS_OF_NO_TIMES = "the body has tags that are none of times"
BODY_NO_OBJECT = "the body is no object"
A_STRUCTURE = "a structure"
EXPECTED_STRUCTURE = "Expected a structure"
EXPECTED_LIST = "Expected a list"
EXPECTED_LEAF = "Expected a value"
EXPECTED_TIMESTAMP = "Expected a timestamp"
EXPECTED_NUMBERS = "Expected numbers of members, beginning with 1"
EXPECTED_ENTRIES = "Expected entries with key and value"
TIME_OUT_OF_RANGE = "the time is out of range"
TOO_MANY_LEVELS = "too many levels"
