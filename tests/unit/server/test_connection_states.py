"""States of a connection: each is reached and left, all transitions are in the tables, and each has its event."""

from enum import StrEnum
from itertools import product
from typing import Any

import pytest

from hashrange.server import connection_states as states
from hashrange.server.connection_states import (
    BETWEEN,
    BUSY,
    CLOSE,
    ENDED,
    FLOWING,
    IDLE,
    INSIDE,
    LISTENING,
    OVER,
    REFUSAL_SENT,
    REFUSED,
    TAKE,
    WAITING,
    Answering,
    ConnectionStep,
    Input,
    Receiving,
    Sending,
    is_listened_to,
    next_step,
)

MACHINES: dict[type[StrEnum], StrEnum] = {Receiving: BETWEEN, Answering: IDLE, Sending: FLOWING, Input: LISTENING}
"""Each state machine's type and its initial state."""
FINAL = {states.GONE, states.ENDED}
EVENTS: dict[str, dict[Any, Any]] = {
    name: value for name, value in vars(states).items() if isinstance(value, dict) and name.isupper()
}
BOOLEANS = (False, True)
SITUATIONS = list(product(Receiving, Answering, Sending, Input, BOOLEANS, BOOLEANS, BOOLEANS))


def events_of(machine: type[StrEnum]) -> list[dict[Any, Any]]:
    return [event for event in EVENTS.values() if isinstance(next(iter(event)), machine)]


def test_all_events_are_found() -> None:
    assert len(EVENTS) == 17
    assert sum(len(events_of(machine)) for machine in MACHINES) == len(EVENTS)


@pytest.mark.parametrize("machine", MACHINES)
def test_every_state_is_reached_and_left(machine: type[StrEnum]) -> None:
    moves = [(state, after) for event in events_of(machine) for state, after in event.items()]
    reached = {MACHINES[machine]}
    while more := {after for state, after in moves if state in reached} - reached:
        reached |= more
    assert reached == set(machine)
    assert {state for state, after in moves if after is not state} == set(machine) - FINAL


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_stays_within_its_machine_and_its_states(name: str) -> None:
    event = EVENTS[name]
    (machine,) = {type(state) for state in [*event, *event.values()]}
    assert all(isinstance(state, str) for state in machine)
    for state in (state for one in MACHINES for state in one if state not in event):
        with pytest.raises(KeyError):
            event[state]


def test_a_state_belongs_to_one_machine() -> None:
    """States are strings, so two states of different machines with the same text would be equal."""
    everything = [str(state) for machine in MACHINES for state in machine]
    assert len(set(everything)) == len(everything)


def test_nothing_is_done_while_a_request_is_in_work_or_when_all_is_over() -> None:
    for situation in SITUATIONS:
        if situation[1] is BUSY or situation[0] in OVER:
            assert next_step(*situation) is ConnectionStep.NOTHING


def test_each_step_has_its_event() -> None:
    seen = set()
    for situation in SITUATIONS:
        receiving, answering, sending, input_state, has_requests, has_rest, _ = situation
        step = next_step(*situation)
        seen.add(step)
        if step is ConnectionStep.ASK_FOR_TURN:
            assert answering in TAKE
            assert sending is FLOWING
            assert has_requests or (has_rest and receiving is not WAITING)
        elif step is not ConnectionStep.NOTHING:
            assert not has_requests
            assert not has_rest
        if step is ConnectionStep.SEND_REFUSAL:
            assert receiving in REFUSAL_SENT
        elif step is ConnectionStep.FINISH:
            assert receiving in CLOSE
            assert receiving is not REFUSED
            assert input_state is ENDED
        elif step is ConnectionStep.SEND_CONTINUE:
            assert receiving is INSIDE
    assert seen == set(ConnectionStep)


def test_a_client_is_heard_while_nothing_is_in_the_way() -> None:
    for receiving, sending in product(Receiving, Sending):
        for has_requests, has_long_read, is_held in product((False, True), repeat=3):
            is_free = sending is FLOWING and receiving is not WAITING and not (has_requests or has_long_read or is_held)
            assert is_listened_to(receiving, sending, has_requests, has_long_read, is_held) == is_free
