"""What do the measured functions do? They say when they began, by the clock that all processes of the machine share."""

import os
import time
from typing import Any

_notes = os.open(os.environ["NOTES"], os.O_WRONLY)


def note(event: dict[str, Any], context: object) -> None:
    """Write one line for each invocation: seconds, and number of records."""
    os.write(_notes, b"%f %d\n" % (time.monotonic(), len(event["Records"])))


def begin(event: dict[str, Any], context: object) -> float:
    """Return the seconds of this moment, or end the process, so that the next invocation is a cold start."""
    began_seconds = time.monotonic()
    if event["ends"]:
        os._exit(0)
    return began_seconds
