"""What does `hashrange diagnose` say of a table? For each thing that it looks at a verdict: `found` with cause and
remedy, `ok`, or `unknown` with the reason.
"""

from typing import Literal, NamedTuple

VerdictState = Literal["found", "ok", "unknown"]


class CheckVerdict(NamedTuple):
    """What one check says."""

    check: str
    """One or two words, such as `large items`."""
    state: VerdictState
    evidence: str
    """What was seen; for `unknown`, why nothing was."""
    cause: str = ""
    remedy: str = ""


class FoundFault(NamedTuple):
    """What a check has found; it becomes a verdict with the check's name."""

    evidence: str
    cause: str
    remedy: str


class NotSeen(Exception):
    """A check cannot judge, as the message says."""
