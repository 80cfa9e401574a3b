"""A job sends an event that has timed out at a URL there again once nobody waits any more, or somebody else does."""

import asyncio

from hashrange.functions.events import JobInvocations
from hashrange.functions.invocation import Invocation

ARN, OTHER = "arn:aws:lambda:eu-west-1:000000000000:function:a", "arn:aws:lambda:eu-west-1:000000000000:function:b"


class Function:
    """All functions; they do not answer in time while `is_silent`."""

    def __init__(self) -> None:
        self.is_silent = True
        self.wait = 0
        self.jobs = JobInvocations(self.invoke, lambda: self.wait)
        self.sent: list[tuple[object, bytes]] = []

    async def invoke(self, function: object, payload: bytes, request_id: str, client_context: str | None) -> Invocation:
        self.sent.append((function, payload))
        return Invocation(b"1", "Unhandled" if self.is_silent else None, is_unanswered=self.is_silent)

    def send(self, payload: bytes, arn: str = ARN) -> Invocation:
        return asyncio.run(self.jobs.invoke(arn, payload, "request-1"))


def test_while_one_waits_an_event_is_sent_until_it_has_timed_out() -> None:
    function = Function()
    function.send(b"1")
    function.wait = 1
    for _ in range(3):
        for payload in (b"1", b"2"):
            assert function.send(payload).function_error == "Unhandled"
    function.send(b"1", OTHER)
    assert function.sent == [(ARN, b"1"), (ARN, b"1"), (ARN, b"2"), (OTHER, b"1")]
    skipped = function.send(b"1").payload
    assert b"Sandbox.Timedout" in skipped
    assert b"RequestId: request-1 Error: Task timed out with this event before" in skipped


def test_the_next_one_who_waits_has_it_sent_again() -> None:
    function = Function()
    function.wait = 1
    function.send(b"1")
    function.wait = 2
    function.send(b"1")
    function.send(b"1")
    assert len(function.sent) == 2
    function.wait = 0
    function.is_silent = False
    assert function.send(b"1").function_error is None


def test_what_answers_is_sent_each_time() -> None:
    function = Function()
    function.is_silent, function.wait = False, 1
    for _ in range(3):
        assert function.send(b"1").function_error is None
    assert len(function.sent) == 3
