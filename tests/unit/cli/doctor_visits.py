"""What do the tests of `hashrange doctor` share? The command in a home of its own, and servers that it may meet."""

import contextlib
import io
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread
from typing import Any, Self

import pytest

from hashrange.cli.main import main
from hashrange.clock import SystemClock
from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.settings import Settings
from hashrange.store.embedded.opening import open_store
from tests.support.servers import ThreadServer

SECRET = "s3cr3t-of-nobody"
CLIENT: dict[str, Any] = {
    "AWS_ACCESS_KEY_ID": "any",
    "AWS_SECRET_ACCESS_KEY": SECRET,
    "AWS_REGION": "eu-west-1",
    "AWS_DEFAULT_REGION": "eu-west-1",
}
NEGATIVE_CHUNK = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nabc"
Found = dict[str, tuple[str, str]]
"""Subject → verdict and sentence; of several, the last."""


class Doctor:
    """Runs `hashrange doctor` in a home and a folder of its own, with no variables but the given ones."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home = home
        self._monkeypatch = monkeypatch
        (home / ".aws").mkdir()

    def __call__(self, *words: str, expected: int = -1, **environment: Any) -> Found:
        """`expected`: the exit code; -1: any."""
        written = io.StringIO()
        with self._monkeypatch.context() as patched, contextlib.redirect_stdout(written):
            patched.chdir(self.home)
            for name in list(os.environ):
                patched.delenv(name)
            for name, value in {"HOME": str(self.home), "HASHRANGE_PORT": "0", **environment}.items():
                patched.setenv(name, value)
            code = main(["doctor", "--json", *words])
        assert SECRET not in written.getvalue()
        if expected >= 0:
            assert code == expected, written.getvalue()
        return {one["subject"]: (one["verdict"], one["sentence"]) for one in json.loads(written.getvalue())}

    def in_process(self, *words: str, **environment: Any) -> tuple[int, str]:
        """Exit code and output of the command as a process of its own."""
        variables = {"HOME": str(self.home), "HASHRANGE_PORT": "0", "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-m", "hashrange", "doctor", *words]
        done = subprocess.run(
            command, cwd=self.home, env=variables | environment, capture_output=True, text=True, check=False
        )
        assert done.stderr == ""
        assert SECRET not in done.stdout
        return done.returncode, done.stdout

    def write(self, name: str, text: str) -> None:
        (self.home / ".aws" / name).write_text(text, encoding="utf-8")


@contextmanager
def listener(settings: Settings) -> Iterator[str]:
    """The endpoint of a server with a listener of these settings, TLS and credentials included."""
    running = ThreadServer(lambda: open_store(None, SystemClock(), None), ALL_OPERATIONS, settings=settings)
    yield running.endpoint
    running.stop()


class Answering:
    """A server that answers every request in the same way."""

    def __init__(self, status: int, body: bytes, **headers: str) -> None:
        class Handler(BaseHTTPRequestHandler):
            server_version, sys_version = headers.pop("server", "Other"), ""

            def do_GET(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.send_response_only(status)
                self.send_header("Server", self.version_string())
                for name, value in headers.items():
                    self.send_header(name, value)
                if "Date" not in headers:
                    self.send_header("Date", self.date_time_string())
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@contextmanager
def sending(reply: bytes) -> Iterator[str]:
    """The endpoint of a server that answers each connection with these bytes."""

    class Handler(StreamRequestHandler):
        def handle(self) -> None:
            self.request.recv(10_000)
            self.wfile.write(reply)

    with ThreadingTCPServer(("127.0.0.1", 0), Handler) as serving:
        thread = Thread(target=serving.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{serving.server_address[1]}"
        serving.shutdown()
        thread.join()


class Dripping:
    """A server that sends a byte now and then, until its client hangs up."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            accepted, _ = self._listening.accept()
            Thread(target=self._drip, args=(accepted,), daemon=True).start()

    @staticmethod
    def _drip(accepted: socket.socket) -> None:
        accepted.settimeout(0.02)
        accepted.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        is_open = True
        while is_open:
            try:
                accepted.sendall(b"x")
                is_open = accepted.recv(1000) != b""
            except TimeoutError:
                continue
            except OSError:
                is_open = False
        accepted.close()
