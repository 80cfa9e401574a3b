"""Which states does a connection have, which events change them, and what does it do next? Pure state machines.

The four state machines are independent; the functions at the end of this file combine them.

`Receiving`: how are received bytes handled?

    BETWEEN    No unfinished request has been received, except behind complete requests not yet answered.
    INSIDE     A read has ended inside a request. The request's deadline runs.
    WAITING    The request has a large body, which waits for memory (`receive_budget.py`). It is not parsed meanwhile.
    REFUSED    The client has sent a malformed request, too much or too slowly; or no memory is left, too many clients
               are connected, or the server stops. The refusal follows all due replies; nothing more is parsed.
    LINGERING  The refusal is sent. Further bytes are read and dropped: otherwise the client may never see the refusal.
    CLOSING    The server has closed the connection. Written bytes are still sent, except after CUT_OFF; nothing is
               parsed or answered.
    GONE       The connection is lost. Final.

`Answering`: IDLE, or BUSY with exactly one request.
`Sending`: FLOWING, or BLOCKED because the client does not read its replies.
`Input`: LISTENING to the client; PAUSED; ENDING once the client has ended its input; ENDED once that end has been
taken from the queue of `incoming.py`, behind all earlier input. ENDED is final.

An event is a dict from each state in which it can occur to the next state: `state = EVENT[state]`. Any other state
raises KeyError: a bug of the server, which costs one connection. Events of `Receiving` go through one function,
`Connection.change`, which also does what every such change brings with it. LOSE does not: what a lost connection holds
is released in a later turn. Each other event occurs in one place, but for ANSWER, which also ends a request that is
dropped.
This file must not know sockets, requests or time.
"""

from enum import StrEnum, auto


class Receiving(StrEnum):
    """How received bytes are handled."""

    BETWEEN = auto()
    INSIDE = auto()
    WAITING = auto()
    REFUSED = auto()
    LINGERING = auto()
    CLOSING = auto()
    GONE = auto()


class Answering(StrEnum):
    """Whether a request is being answered."""

    IDLE = auto()
    BUSY = auto()


class Sending(StrEnum):
    """Whether the client reads its replies."""

    FLOWING = auto()
    BLOCKED = auto()


class Input(StrEnum):
    """Whether the server reads from the client, and whether input has ended."""

    LISTENING = auto()
    PAUSED = auto()
    ENDING = auto()
    ENDED = auto()


# The enumerations' members as names of this module: a look-up takes 10 ns here, 90 ns in the class.
BETWEEN, INSIDE, WAITING = Receiving.BETWEEN, Receiving.INSIDE, Receiving.WAITING
REFUSED, LINGERING, CLOSING, GONE = Receiving.REFUSED, Receiving.LINGERING, Receiving.CLOSING, Receiving.GONE
IDLE, BUSY = Answering.IDLE, Answering.BUSY
FLOWING, BLOCKED = Sending.FLOWING, Sending.BLOCKED
LISTENING, PAUSED, ENDING, ENDED = Input.LISTENING, Input.PAUSED, Input.ENDING, Input.ENDED

NOT_PARSING = frozenset((REFUSED, LINGERING, CLOSING, GONE))
"""States in which received bytes are never parsed. WAITING is none of them: its bytes are parsed later."""
OVER = frozenset((CLOSING, GONE))
"""States of a connection that is closed or lost: nothing more is parsed or written."""

HAS_ENDED = frozenset((ENDING, ENDED))
"""States of `Input` in which the client has ended its input; it may have left, or may still read replies."""


# --- Receiving ----------------------------------------------------------------------------------

BEGIN = {BETWEEN: INSIDE}
"""A read has ended inside a request, and no complete request waits before it."""
COMPLETE = {INSIDE: BETWEEN}
"""The request being received is complete."""
WAIT = {INSIDE: WAITING}
"""The request's body has to wait for memory."""
LET_IN = {WAITING: INSIDE}
"""Memory for the waiting body has been reserved."""
REFUSE = {BETWEEN: REFUSED, INSIDE: REFUSED, WAITING: REFUSED}
"""The client is refused: malformed, too large or too slow input, no memory, too many clients, or a stopping server."""
REFUSAL_SENT = {REFUSED: LINGERING}
"""The refusal is written, behind all due replies."""
CLOSE = dict.fromkeys((BETWEEN, INSIDE, WAITING, REFUSED, LINGERING), CLOSING)
"""The server closes the connection after sending what is written."""
CUT_OFF = dict.fromkeys((BETWEEN, INSIDE, WAITING, REFUSED, LINGERING, CLOSING), CLOSING) | {GONE: GONE}
"""The server aborts the connection for a deadline or internal error, possibly after it was closed or lost."""
LOSE = dict.fromkeys((BETWEEN, INSIDE, WAITING, REFUSED, LINGERING, CLOSING), GONE)
"""The transport reports that the connection is lost, whichever side ended it."""

# --- Answering, Sending, Input ------------------------------------------------------------------

TAKE = {IDLE: BUSY}
"""The next complete request begins to be answered."""
ANSWER = {BUSY: IDLE}
"""The reply is made, and perhaps held until the end of the turn (`outgoing.py`); or the request is dropped."""

BLOCK = {FLOWING: BLOCKED}
"""The client reads its replies too slowly."""
UNBLOCK = {BLOCKED: FLOWING}
"""The client reads its replies again."""

PAUSE = {LISTENING: PAUSED}
"""The server stops reading from the client, because `is_listened_to` has become false."""
RESUME = {PAUSED: LISTENING}
"""The server reads from the client again, because `is_listened_to` has become true."""
END = {LISTENING: ENDING, PAUSED: ENDING}
"""The client has ended its input. Under TLS this may happen while reading is paused."""
REACH_END = {ENDING: ENDED}
"""The end of input is taken from the queue of `incoming.py`, behind all earlier input."""


# --- functions of several states ----------------------------------------------------------------


def is_listened_to(
    receiving: Receiving, sending: Sending, has_requests: bool, has_long_read: bool, is_held: bool
) -> bool:
    """True if the server should read from the client: not while replies are unread or received data waits.

    `has_requests`: complete requests wait, besides one being answered. `has_long_read`: a long read (at least
    `incoming.PIECE_BYTES`), or part of one, waits to be parsed. `is_held`: the client is not read before a later turn,
    because the long reads of all connections have reached their limit (`long_reads.py`).
    """
    return sending is FLOWING and receiving is not WAITING and not has_requests and not has_long_read and not is_held


class ConnectionStep(StrEnum):
    """The next thing that a connection does, as `next_step` chooses it from the states."""

    NOTHING = auto()
    """Wait for an event."""
    ASK_FOR_TURN = auto()
    """Queue the connection in `incoming.py`, which then takes the next request,
    or parses more of the received bytes."""
    SEND_REFUSAL = auto()
    """Send the refusal: no reply is due before it."""
    FINISH = auto()
    """Close: the client has ended its input, and all its requests are answered."""
    SEND_CONTINUE = auto()
    """Send `100 Continue`: the client holds back its body until then."""


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
    """Return the connection's next step: NOTHING while a request is being answered, or if the connection is closed.

    Order of precedence: complete requests (`has_requests`), the unparsed rest of a long read (`has_rest`), sending the
    refusal (REFUSED), the end of input, `100 Continue` (`holds_back`: the client sends its body only after that line).
    Requests and rest wait, and with them all that follows, while replies are unread; the rest also while a body waits
    for memory.
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
