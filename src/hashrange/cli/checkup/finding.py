"""What does `hashrange doctor` report? Findings: a verdict, what it is about, and one or two sentences with
the remedy. None holds a secret.
"""

from functools import partial
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


fine = partial(Finding, "ok")
"""fine(subject, sentence): a finding that needs no attention."""
noted = partial(Finding, "note")
"""A finding that is right if clients have in their code what is missing here."""
surprising = partial(Finding, "hint")
"""A finding that works otherwise than people may expect."""
failing = partial(Finding, "wrong")
"""A finding that makes a client or the server fail."""
