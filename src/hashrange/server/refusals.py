"""How is input refused that does not become a request? With a status and a text; then the server closes the connection.

Source: operations.md 1.1.
"""

from typing import NamedTuple

from hashrange.messages import http as sentences


class Refusal(NamedTuple):
    """The reply that is sent before the server closes the connection."""

    status: int
    body: bytes
    header_lines: bytes = b"Content-Type: text/plain\r\n"
    """With line ends."""


MALFORMED = Refusal(400, sentences.MALFORMED_REQUEST)
SPEAKS_TLS = Refusal(400, sentences.MALFORMED_REQUEST)
"""For HTTPS on an HTTP port: the reply is that of MALFORMED, and the operator gets a hint in the log."""
BODY_TOO_LARGE = Refusal(413, sentences.BODY_TOO_LARGE)
TOO_SLOW = Refusal(408, sentences.REQUEST_TOO_SLOW)
TOO_MANY_CONNECTIONS = Refusal(503, sentences.TOO_MANY_CONNECTIONS)
TOO_MUCH_UNFINISHED = Refusal(503, sentences.TOO_MUCH_UNFINISHED)
