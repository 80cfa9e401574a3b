"""How do the operations of alarms refuse members? With ValidationError:
in the words of the services' common layer, or in those of alarms.

Source: reports of users, who quote the service.
"""

import math
import re
from collections.abc import Sequence
from typing import NoReturn

from hashrange.aws_services.operation import MemberFault, ServiceError
from hashrange.messages import alarms as sentences

_bound = re.compile(r"Expected `int` (>=|<=) (-?\d+)$").match


def word_alarm_fault(fault: MemberFault) -> ServiceError:
    """The error for a request whose members are wrong."""
    if fault.kind == "missing":
        return alarm_invalid(sentences.NULL_AT.format(path=_member(fault.path)))
    bound = _bound(fault.detail)
    if bound is None or fault.kind != "value":
        return alarm_invalid(sentences.MALFORMED.format(path=_member(fault.path), detail=fault.detail))
    text = sentences.LESS if bound[1] == ">=" else sentences.GREATER
    return _unfit(fault.path, fault.value, text.format(bound=bound[2]))


def alarm_invalid(message: str) -> ServiceError:
    """The error with this message."""
    return ServiceError("ValidationError", message)


def refuse_alarm(message: str) -> NoReturn:
    """Raise the error with this message."""
    raise alarm_invalid(message)


def require_alarm_member(path: str, value: object) -> None:
    """Raise ServiceError if a member is not there that an alarm of this kind needs."""
    if value is None:
        refuse_alarm(sentences.NULL.format(path=path))


def check_alarm_length(path: str, text: str, most: int, least: int = 1) -> None:
    """Raise ServiceError unless the text has a length in these bounds."""
    if not least <= len(text) <= most:
        constraint = sentences.LONGER.format(most=most) if len(text) > most else sentences.SHORTER.format(least=least)
        raise _unfit(path, text, constraint)


def check_alarm_choice(path: str, value: str, allowed: Sequence[str]) -> None:
    """Raise ServiceError unless the value is one of these."""
    if value not in allowed:
        raise _unfit(path, value, sentences.NOT_IN.format(values=", ".join(allowed)))


def check_alarm_count(path: str, members: Sequence[object], most: int, least: int = 0) -> None:
    """Raise ServiceError for a list with too many or too few members."""
    if not least <= len(members) <= most:
        constraint = (
            sentences.LONGER.format(most=most) if len(members) > most else sentences.SHORTER.format(least=least)
        )
        raise _unfit(path, str(list(members)), constraint)


def check_alarm_number(path: str, value: float) -> None:
    """Raise ServiceError for NaN and infinite numbers."""
    if not math.isfinite(value):
        refuse_alarm(sentences.NO_NUMBER.format(path=path))


def _unfit(path: str, value: str, constraint: str) -> ServiceError:
    return alarm_invalid(sentences.CONSTRAINT.format(value=value[:200], path=_member(path), constraint=constraint))


def _member(path: str) -> str:
    """`AlarmActions.1` → `alarmActions.1.member`, as the services' common layer names places."""
    parts = [part[:1].lower() + part[1:] for part in path.split(".")]
    return ".".join(f"{part}.member" if part.isdecimal() else part for part in parts)
