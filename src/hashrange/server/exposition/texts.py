"""Who waits for which text of the metrics? One text is made at a time, and answers all scrapes that
wished for it before it was begun.

The text of 2,400 tables has 42 MB and takes seconds, so scrapes that come faster would hold many.
A text that nobody waits for any more is given up where it gives way.
"""

import logging
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from hashrange.errors import Abandoned
from hashrange.items.steps import look
from hashrange.messages.http import METRICS_NOT_AWAITED
from hashrange.server.exposition.server_state import Viewer
from hashrange.server.incoming import Respond
from hashrange.service.workers import Workers
from hashrange.wire.content_codings import COMPRESS_FROM_BYTES, accepted_coding, compress
from hashrange.wire.http import HttpRequest
from hashrange.wire.identifiers import request_id_of

WAYS_GIVEN_MAX = 100
"""So often a text gives way for clients that have all ended what they send.
Most have left, but some only say so early."""
MakeText = Callable[[str, Viewer | None], tuple[bytes, bytes]]
"""Body and content type of a reply to a header Accept, for a viewer; may give way."""
_log = logging.getLogger("hashrange.server")


class Wish(NamedTuple):
    """What a scrape wants."""

    accept: str
    coding: bytes | None
    """The content coding of a large text."""
    viewer: Viewer | None


class _Scrapes:
    """Scrapes that one text answers. They are an `Abandonable`: the text is given up if all of them have left."""

    def __init__(self, wish: Wish) -> None:
        self.wish = wish
        self.waiting: list[tuple[HttpRequest, Respond]] = []
        self._ways_given = 0

    @property
    def is_abandoned(self) -> bool:
        """True if no client waits any more. Read each time that the making of the text has given way."""
        if all(request.is_abandoned for request, _ in self.waiting):
            return True
        if not all(request.is_abandoned or request.is_input_over for request, _ in self.waiting):
            return False
        self._ways_given += 1
        return self._ways_given > WAYS_GIVEN_MAX


class Texts:
    """The texts that are made for scrapes."""

    def __init__(self, make: MakeText, workers: Workers) -> None:
        self._make = make
        self._workers = workers
        self._next: deque[_Scrapes] = deque()
        """Scrapes whose text has not been begun, in order."""
        self._is_making = False

    def answer(self, request: HttpRequest, respond: Respond, viewer: Viewer | None) -> None:
        """Answer a scrape, now or later. Called in a worker, and may give way."""
        accept = (request.header(b"accept") or b"").decode("latin-1")
        wish = Wish(accept, accepted_coding(request.header(b"accept-encoding")), viewer)
        scrapes = next((one for one in self._next if one.wish == wish), None)
        if scrapes is None:
            scrapes = _Scrapes(wish)
            self._next.append(scrapes)
        scrapes.waiting.append((request, respond))
        if not self._is_making:
            self._answer_next()

    def _answer_next(self) -> None:
        """In a worker: make the next text, and answer its scrapes."""
        scrapes = self._next.popleft()
        self._is_making = True
        try:
            reply = self._reply(scrapes)
            for _, respond in scrapes.waiting:
                respond(*reply)
                look()  # thousands may have waited
        finally:
            self._is_making = bool(self._next)
        if self._is_making:
            self._workers.run_later(self._answer_next)

    def _reply(self, scrapes: _Scrapes) -> tuple[int, bytes, bytes, bytes]:
        """Status, body, content type and header lines; may give way."""
        if all(request.is_abandoned for request, _ in scrapes.waiting):
            return 500, b"", b"text/plain", b""  # this only ends the requests
        wish, workers = scrapes.wish, self._workers
        workers.running = scrapes
        try:
            text, content_type = self._make(wish.accept, wish.viewer)
            if wish.coding is None or len(text) <= COMPRESS_FROM_BYTES:
                return 200, text, content_type, b""
            return 200, compress(text, wish.coding), content_type, b"Content-Encoding: %b\r\n" % wish.coding
        except Abandoned:
            return 503, METRICS_NOT_AWAITED, b"text/plain", b""
        except Exception as error:  # noqa: BLE001 - whatever it is, the requests get an answer
            request_id = request_id_of(scrapes.waiting[0][0].number).decode()
            _log.error("request %s met an error of ours; please report it", request_id, exc_info=error)
            return 500, b"", b"text/plain", b""
        finally:
            workers.running = None
