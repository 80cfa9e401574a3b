"""What does `hashrange doctor` report? Findings: a verdict, what it is about, and one or two sentences with
the remedy. None holds a secret.
"""

from typing import Literal, NamedTuple

FindingVerdict = Literal["ok", "note", "hint", "wrong"]


class Finding(NamedTuple):
    """One thing that was looked at."""

    verdict: FindingVerdict
    """`note`: right if clients have something in their code, which is not looked at; `hint`: works,
    but surprises people; `wrong`: a client or the server will fail."""
    subject: str
    """One or two words, such as `region`."""
    sentence: str


def fine(subject: str, sentence: str) -> Finding:
    """A finding that needs no attention."""
    return Finding("ok", subject, sentence)


def noted(subject: str, sentence: str) -> Finding:
    """A finding that is right if clients have in their code what is missing here."""
    return Finding("note", subject, sentence)


def surprising(subject: str, sentence: str) -> Finding:
    """A finding that works otherwise than people may expect."""
    return Finding("hint", subject, sentence)


def failing(subject: str, sentence: str) -> Finding:
    """A finding that makes a client or the server fail."""
    return Finding("wrong", subject, sentence)
