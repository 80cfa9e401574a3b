"""Which texts does the HTTP front end send? Replies that belong to no operation,
and the message of InternalServerError.
"""

from hashrange.limits import MESSAGE_CHARACTERS_MAX

# HEALTHY and UNKNOWN_OPERATION_BODY: service behaviour, captures to Oct 2026 (operations.md 1.1).
HEALTHY = "healthy: dynamodb.{region}.amazonaws.com "
UNKNOWN_OPERATION_BODY = b"<UnknownOperationException/>\n"

# Service behaviour, captures to Oct 2026 (errors.md 1, HTTP status 500).
INTERNAL_ERROR = "The server encountered an internal error trying to fulfill the request."

# Our own wording, from MALFORMED_REQUEST to REQUEST_TOO_SLOW: no text of the service is known for these cases.
MALFORMED_REQUEST = b"Bad Request\n"
BODY_TOO_LARGE = b"Request Entity Too Large\n"
BODY_OVER_LIMIT = "The request has a body of more than {most} bytes. Send less at once."
TOO_MANY_CONNECTIONS = b"Service Unavailable: the limit of open connections is reached\n"
TOO_MUCH_UNFINISHED = b"Service Unavailable: too many requests are on their way at a time\n"
REQUEST_TOO_SLOW = b"Request Timeout\n"

# Our own: /metrics knows nothing of signatures.
METRICS_UNAUTHORIZED = b"Give an access key and its secret key as user and password (HTTP basic authentication).\n"
METRICS_NOT_AWAITED = (
    b"The metrics are not made for a client that ends its input before it has read them."
    b" Keep the connection open in both directions.\n"
)
NO_METRICS_KEY = (
    "--metrics-from names {key}, which is no access key of the credentials file."
    " Name keys of the file with commas between them, or everyone."
)

# Our own: the service has no pages, and no loopback.
FOREIGN_HOST = (
    "The host {value} is no name of this server. If it leads to this server, start the server with"
    " --allowed-hosts and that name."
)
FOREIGN_PAGE = (
    "A page of another site may not send this request (origin: {value}). To let a page in, start the server with"
    " --allowed-origins and the page's origin."
)


def shown_message(message: str) -> str:
    """An error's message as a reply has it: a very long one is cut."""
    return message if len(message) <= MESSAGE_CHARACTERS_MAX else f"{message[:MESSAGE_CHARACTERS_MAX]}..."
