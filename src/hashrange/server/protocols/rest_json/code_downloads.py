"""How does a client fetch a function's zip? By a GET of the URL that GetFunction returned,
which needs no signature and expires.
"""

from hashrange.errors import Abandoned, StorageError
from hashrange.functions.functions import Functions
from hashrange.messages.functions_api import NO_LINKED_CODE
from hashrange.server.incoming import Respond
from hashrange.server.protocols.wire_protocol import WireProtocol
from hashrange.wire.http import CODE_PATH, HttpRequest


class CodeDownloads(WireProtocol):
    """Protocol of the URLs under which GetFunction offers functions' zips."""

    def __init__(self, functions: Functions) -> None:
        self._functions = functions

    def claims(self, request: HttpRequest) -> bool:
        """True for a GET below CODE_PATH, whether the link is valid or not."""
        return request.method == b"GET" and request.url.startswith(CODE_PATH)

    def prepare(self, request: HttpRequest, respond: Respond) -> None:
        """Answer with the zip; 403 if the link is not valid, or the function has other code now.
        Returns None; may give way.
        """
        link = request.url.removeprefix(CODE_PATH).partition(b"?")[0].decode("latin-1")
        try:
            zipped = self._functions.linked_zip(link)
        except StorageError as error:
            respond(500, str(error).encode(), b"text/plain")
            return
        except Abandoned:
            respond(500, b"")  # the client has left: this only ends the request
            return
        if zipped is None:
            respond(403, NO_LINKED_CODE.encode(), b"text/plain")
        else:
            respond(200, zipped, b"application/zip")
