"""How long does what an operation has begun stay in progress, although its work may be done earlier? As long as a fault
of the kind `long-operations` says, in service time; without one, not at all.
"""

import msgspec

from hashrange.operations.operation import Scope


class Lasting(msgspec.Struct, frozen=True, array_like=True):
    """Since when something has been in progress, and until when it stays so. Both are kept with it."""

    since_seconds: float
    until_seconds: float


def lasting_since_now(scope: Scope, table_name: str, operation: str) -> Lasting | None:
    """How long what an operation begins now stays in progress; None: until its work is done."""
    seconds = scope.least_seconds(table_name, operation)
    now_seconds = scope.clock.service_time()
    return Lasting(now_seconds, now_seconds + seconds) if seconds else None


def seconds_left(lasting: Lasting | None, now_seconds: float) -> float:
    """For how long it still stays in progress. Not at all if service time is before its begin: the server has been
    started again since, and its clock has not been moved.
    """
    if lasting is None or not lasting.since_seconds <= now_seconds < lasting.until_seconds:
        return 0.0
    return lasting.until_seconds - now_seconds
