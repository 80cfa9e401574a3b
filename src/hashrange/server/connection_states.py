"""In which states can a connection be, which events lead from one to another, and what does it do next? Pure.

Four small machines, one for each question. Their states are independent of each other; what follows from several of them
together is said by the functions at the end of this file.

`Receiving`: what is made of the bytes that come?

    BETWEEN    Nothing of the next request has come, or only behind requests that wait to be answered.
    INSIDE     A read has ended inside a request. Its deadline runs.
    WAITING    The request has a large body, and there is no room for it yet (`receive_budget.py`). Nothing of it is parsed meanwhile.
    REFUSED    The client has sent what is no request, or may send no more. Its refusal goes out behind the replies that are due;
               nothing more is parsed.
    LINGERING  The refusal is out. What the client still sends is read and dropped, or it might never see the refusal.
    CLOSING    The server has closed the connection. What is written still goes out; nothing is parsed, answered or written.
    GONE       The connection is lost. Final.

`Answering`: IDLE, or BUSY with exactly one request. `Sending`: FLOWING, or BLOCKED because the client does not read its replies.
`Input`: LISTENING to the client, PAUSED, ENDING once the client has said that it sends nothing more, and ENDED when all that came before
has had its turn. ENDED is final.

An event is a dict from the states in which it can occur to the states that follow: `state = EVENT[state]`. In any other state it raises
KeyError: that is a bug of the server, which costs one connection.
This file must not know sockets, requests or time.
"""

from enum import StrEnum, auto


class Receiving(StrEnum):
    """What is made of the bytes that come."""

    BETWEEN = auto()
    INSIDE = auto()
    WAITING = auto()
    REFUSED = auto()
    LINGERING = auto()
    CLOSING = auto()
    GONE = auto()


class Answering(StrEnum):
    """Is a request in work?"""

    IDLE = auto()
    BUSY = auto()


class Sending(StrEnum):
    """Does the client read its replies?"""

    FLOWING = auto()
    BLOCKED = auto()


class Input(StrEnum):
    """Is the client listened to?"""

    LISTENING = auto()
    PAUSED = auto()
    ENDING = auto()
    ENDED = auto()


# A member of an enumeration costs 90 ns when it is looked up in its class, and 10 as a name of a module.
BETWEEN, INSIDE, WAITING = Receiving.BETWEEN, Receiving.INSIDE, Receiving.WAITING
REFUSED, LINGERING, CLOSING, GONE = Receiving.REFUSED, Receiving.LINGERING, Receiving.CLOSING, Receiving.GONE
IDLE, BUSY = Answering.IDLE, Answering.BUSY
FLOWING, BLOCKED = Sending.FLOWING, Sending.BLOCKED
LISTENING, PAUSED, ENDING, ENDED = Input.LISTENING, Input.PAUSED, Input.ENDING, Input.ENDED

DEAF = frozenset((REFUSED, LINGERING, CLOSING, GONE))
"""Nothing that comes is parsed."""
OVER = frozenset((CLOSING, GONE))
"""Nothing is written any more either."""


# --- Receiving ----------------------------------------------------------------------------------

BEGIN = {BETWEEN: INSIDE}
"""A read has ended inside a request, and all requests before it are out of the way."""
COMPLETE = {INSIDE: BETWEEN}
"""That request is whole."""
WAIT = {INSIDE: WAITING}
"""There is no room for its body."""
LET_IN = {WAITING: INSIDE}
"""Now there is."""
REFUSE = {BETWEEN: REFUSED, INSIDE: REFUSED, WAITING: REFUSED}
"""The client has sent what is no request, too much or too slowly, or it is one client too many."""
REFUSAL_SENT = {REFUSED: LINGERING}
"""All replies before the refusal are out, and so is the refusal."""
CLOSE = dict.fromkeys((BETWEEN, INSIDE, WAITING, REFUSED, LINGERING), CLOSING)
"""The server closes the connection behind what is written."""
CUT_OFF = dict.fromkeys((BETWEEN, INSIDE, WAITING, REFUSED, LINGERING, CLOSING), CLOSING) | {GONE: GONE}
"""The server ends the connection at once, for a deadline or for an error of its own; that may be found out when all is over."""
LOSE = dict.fromkeys((BETWEEN, INSIDE, WAITING, REFUSED, LINGERING, CLOSING), GONE)
"""The transport says that the connection is lost, whoever ended it."""

# --- Answering, Sending, Input ------------------------------------------------------------------

TAKE = {IDLE: BUSY}
"""The next request is taken into work."""
ANSWER = {BUSY: IDLE}
"""Its reply is made; it may still be held for some microseconds (`outgoing.py`)."""

BLOCK = {FLOWING: BLOCKED}
"""More is written than the client reads."""
UNBLOCK = {BLOCKED: FLOWING}
"""The client has read on."""

PAUSE = {LISTENING: PAUSED}
"""`is_listened_to` has become false."""
RESUME = {PAUSED: LISTENING}
"""`is_listened_to` has become true."""
END = {LISTENING: ENDING, PAUSED: ENDING}
"""The client says that it sends nothing more. Under TLS it may say so while it is not listened to."""
REACH_END = {ENDING: ENDED}
"""Everything that came before the end has had its turn."""


# --- what follows from several states together --------------------------------------------------


def is_listened_to(
    receiving: Receiving, sending: Sending, has_requests: bool, has_long_read: bool, is_held: bool
) -> bool:
    """Should the client be heard? Not while it leaves replies unread, and not while something of what it has sent is in the way.

    `has_requests`: whole requests wait behind the one in work; `has_long_read`: a long read, or the rest of one, waits to be parsed;
    `is_held`: too much has been read of too many (`long_reads.py`).
    """
    return sending is FLOWING and receiving is not WAITING and not has_requests and not has_long_read and not is_held


class ConnectionStep(StrEnum):
    """What a connection does next, by itself."""

    NOTHING = auto()
    """Wait for an event."""
    ASK_FOR_TURN = auto()
    """In its turn (`incoming.py`) it takes the next request, or goes on with a long read."""
    SEND_REFUSAL = auto()
    """No reply is due before it."""
    FINISH = auto()
    """Close: the client sends nothing more, and has all its replies."""
    SEND_CONTINUE = auto()
    """Tell the client to send the body that it holds back."""


NOTHING, ASK_FOR_TURN, SEND_REFUSAL = ConnectionStep.NOTHING, ConnectionStep.ASK_FOR_TURN, ConnectionStep.SEND_REFUSAL
FINISH, SEND_CONTINUE = ConnectionStep.FINISH, ConnectionStep.SEND_CONTINUE


def next_step(
    receiving: Receiving,
    answering: Answering,
    sending: Sending,
    input_state: Input,
    has_requests: bool,
    has_rest: bool,
    holds_back: bool,
) -> ConnectionStep:
    """The next step, in the order of what has come: requests, the rest of a long read, the refusal, the end.

    `holds_back`: the client waits for a 100 before it sends its body.
    """
    if answering is BUSY or receiving in OVER:
        return NOTHING
    if has_requests:
        return NOTHING if sending is BLOCKED else ASK_FOR_TURN
    if has_rest:
        return NOTHING if sending is BLOCKED or receiving is WAITING else ASK_FOR_TURN
    if receiving is REFUSED:
        return SEND_REFUSAL
    if input_state is ENDED:
        return FINISH
    return SEND_CONTINUE if holds_back and receiving is INSIDE else NOTHING
