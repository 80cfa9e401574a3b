"""What does a request of Lambda's API get while no functions are switched on?
A refusal in that API's form, which says how to switch them on, or that a cluster has none.
"""

import re

import msgspec

from hashrange.messages.functions_api import API_SWITCHED_OFF
from hashrange.server.incoming import Respond
from hashrange.server.protocols.wire_protocol import WireProtocol
from hashrange.wire.http import HttpRequest

_is_lambda_path = re.compile(
    rb"/20\d\d-\d\d-\d\d/(functions|event-source-mappings|tags|account-settings|layers|code-signing-configs)(/|\?|$)"
).match
_CODE = "AccessDeniedException"


class LambdaSwitchedOff(WireProtocol):
    """Protocol of Lambda's API on a server without functions."""

    def __init__(self, sentence: str = API_SWITCHED_OFF) -> None:
        self._sentence = sentence

    def claims(self, request: HttpRequest) -> bool:
        """True if the path is one of Lambda's API."""
        return _is_lambda_path(request.url) is not None

    def prepare(self, request: HttpRequest, respond: Respond) -> None:
        """Refuse the request; returns None."""
        body = msgspec.json.encode({"Type": "User", "message": self._sentence})
        respond(403, body, b"application/json", b"x-amzn-ErrorType: %b\r\n" % _CODE.encode())
