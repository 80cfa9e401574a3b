"""An endpoint that has timed out is not waited for again soon, so that many tries of one moment
take one time-out of real time.
"""

import pytest

from hashrange.functions.http_client import Unanswered
from tests.support.clocks import VirtualClock


def test_an_endpoint_is_silent_for_as_long_as_its_time_out() -> None:
    clock = VirtualClock()
    silent = Unanswered(clock, 30.0)
    assert silent.seconds_without_answer("a") is None
    silent.timed_out("a")
    assert silent.seconds_without_answer("a") == pytest.approx(30)
    assert silent.seconds_without_answer("b") is None
    clock.advance(1000)
    assert silent.seconds_without_answer("a") == pytest.approx(30)
    clock.advance_all(29)
    assert silent.seconds_without_answer("a") == pytest.approx(59)
    clock.advance_all(1)
    assert silent.seconds_without_answer("a") is None


def test_an_answer_and_new_content_end_the_wait() -> None:
    silent = Unanswered(VirtualClock(), 30.0)
    silent.timed_out("a")
    silent.timed_out("b")
    silent.timed_out("c")
    silent.answered("a")
    assert silent.seconds_without_answer("a") is None
    assert silent.seconds_without_answer("b") is not None
    silent.forget()
    assert silent.seconds_without_answer("c") is None
