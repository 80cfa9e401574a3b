"""The mail service that the shop's handlers call: takes mails as JSON over HTTP, each once,
and does not take some of them at first.
"""

import json
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class MailService:
    """What the service has been sent."""

    def __init__(self, url: str, refused_at_first: Collection[str]) -> None:
        self.url = url
        self.mails: dict[str, Any] = {}
        """Idempotency-Key → mail."""
        self.refused: set[str] = set()
        """Keys of mails that were not taken at first."""
        self._refused_at_first = refused_at_first

    def take(self, key: str, mail: Any) -> int:
        """Take a mail; returns the status of the reply. A mail that comes again must be the same."""
        if key in self._refused_at_first and key not in self.refused:
            self.refused.add(key)
            return 503
        return 200 if self.mails.setdefault(key, mail) == mail else 422


@contextmanager
def mail_service(refused_at_first: Collection[str]) -> Iterator[MailService]:
    """A running service."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            mail = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(service.take(self.headers["Idempotency-Key"], mail))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_request(self, code: object = "-", size: object = "-") -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        service = MailService(f"http://127.0.0.1:{server.server_port}/", refused_at_first)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield service
        finally:
            server.shutdown()
            thread.join()
