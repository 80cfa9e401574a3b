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
# Our own wording.
NO_JSON = "the body is no JSON"
# As users report it, of CloudWatch.
RATE_EXCEEDED = "Rate exceeded"
# (unconfirmed): the service's words.
SERVICE_FAILED = "The request processing has failed because of an unknown error, exception or failure."
# Service's words, from reports of users of PutMetricData.
REQUEST_TOO_LARGE = "Request size {size} exceeded {most} bytes"
