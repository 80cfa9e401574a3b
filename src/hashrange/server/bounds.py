"""How slow may a client be? The deadlines of a connection. Pure.

Source of limits: operations.md 1.1.
"""

HEAD_SECONDS_MAX = 10.0
"""From a request's first byte to the end of its head."""
BODY_SECONDS_FREE = 20.0
"""So long a body may take at any speed; from then on it must have come at `BODY_BYTES_PER_SECOND_MIN` on average."""
BODY_BYTES_PER_SECOND_MIN = 16 * 1024
IDLE_SECONDS_MAX = 600.0
WRITE_SECONDS_MAX = 60.0
"""So long a client may leave a reply unread."""
LINGER_SECONDS = 2.0
"""After a refusal, what the client still sends is read and dropped for so long: else it may never see the refusal."""


def is_too_slow(age_seconds: float, message_bytes: int, *, has_head: bool) -> bool:
    """May a request not take this long? `message_bytes` have come of it."""
    if not has_head:
        return age_seconds > HEAD_SECONDS_MAX
    return age_seconds > BODY_SECONDS_FREE + message_bytes / BODY_BYTES_PER_SECOND_MIN
