"""How are requests sent whose bodies are JSON already, and whose replies stay JSON? Directly (direct_requests.py), and
if that does not succeed, by a client of boto3 that signs, sends and retries, but neither writes bodies nor parses
replies.

botocore's parser takes 22 µs for an item of 400 bytes, and its writer as long. Its events, which are public, put the
body in and take the reply out. So endpoints, credentials, proxies, retries and errors are those of any other command.
A request may be sent twice. So only requests are sent here for which that changes nothing.
"""

import threading
from collections.abc import Callable, Mapping
from typing import Any, Self

import msgspec

from hashrange.toolkit.failures import NO_DYNAMODB, THROTTLED_CODES, ToolkitFailure
from hashrange.toolkit.moving.direct_requests import SUCCESS_STATUS, DirectRequests
from hashrange.toolkit.patience import jittered_seconds
from hashrange.toolkit.target import CONNECTIONS_USUAL, Target

THROTTLED_TRIES = 12
"""How often a request is sent that is throttled each time, after all retries of boto3: for some two minutes."""
_RAW = "RawBody"
"""Member of a reply of boto3 that has its bytes. No operation has such a member."""


class Stopped(Exception):
    """The command ends, so that work on other threads ends too."""


def wait(stop: threading.Event, seconds: float) -> None:
    """Wait. Raises Stopped as soon as `stop` is set."""
    if stop.wait(seconds):
        raise Stopped


class RawClient:
    """A client for one service of a target, for any number of threads; a context manager."""

    def __init__(
        self,
        target: Target,
        service: str = "dynamodb",
        *,
        connections: int = CONNECTIONS_USUAL,
        stop: threading.Event | None = None,
    ) -> None:
        """`stop`: ends waits between retries."""
        self._target = target
        self._client = target.new_client(service, max(connections, CONNECTIONS_USUAL))
        self._stop = stop or threading.Event()
        self._direct = DirectRequests(target, self._client)
        self._local = threading.local()
        events = self._client.meta.events
        events.register("before-call", self._put_body_in)
        events.register("before-parse", _take_reply_out)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._direct.close()

    def send(self, operation: str, members: Mapping[str, Any], body: bytes) -> bytes:
        """The bytes of the reply. Raises ToolkitFailure, Stopped.

        `operation`: of boto3, such as `batch_write_item`. `members`: some that boto3 takes for it; they are not sent.
        """
        reply = self._direct.send(operation, body)
        if reply is not None:
            return reply
        if self._stop.is_set():
            raise Stopped
        for tries, seconds in enumerate(jittered_seconds(), 1):
            try:
                return self._send(operation, members, body)
            except ToolkitFailure as failure:
                if failure.code not in THROTTLED_CODES or tries == THROTTLED_TRIES:
                    raise
            wait(self._stop, seconds)
        raise AssertionError

    def ask(self, operation: str, members: Mapping[str, Any], body: bytes, decode: Callable[[bytes], Any]) -> Any:
        """The decoded reply; otherwise as `send`."""
        reply = self.send(operation, members, body)
        try:
            return decode(reply)
        except msgspec.DecodeError as error:
            raise ToolkitFailure(NO_DYNAMODB.format(place=self._target.place)) from error

    def _send(self, operation: str, members: Mapping[str, Any], body: bytes) -> bytes:
        self._local.body = body
        tables = members.get("RequestItems") or ()
        named = {"TableName": members.get("TableName") or next(iter(tables), None)}
        with self._target.worded(named):
            reply = getattr(self._client, operation)(**members)
        raw: bytes = reply[_RAW]
        return raw

    def _put_body_in(self, params: dict[str, Any], **_: Any) -> None:
        params["body"] = self._local.body


def _take_reply_out(response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any) -> None:
    """Give botocore an empty reply to parse. It still parses refusals."""
    if response_dict["status_code"] == SUCCESS_STATUS:
        customized_response_dict[_RAW] = response_dict["body"]
        response_dict["body"] = b"{}"
