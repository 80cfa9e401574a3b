"""Which constraints do members of requests break, and how is that said? In the words of AWS's common layer,
which Application Auto Scaling, alarms and the token service share.
"""

import re
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from hashrange.aws_services.operation import MemberFault, ServiceError
from hashrange.messages import constraints as sentences

_bound = re.compile(r"Expected `int` (>=|<=) (-?\d+)$").match


def out_of_bounds(number: float, least: float, most: float, what: Literal["length", "value"] = "value") -> str | None:
    """The bound that a number, or a length, is beyond; None if it is within both."""
    if number > most:
        return sentences.AT_MOST.format(what=what, bound=most)
    return sentences.AT_LEAST.format(what=what, bound=least) if number < least else None


def lower_path(path: str) -> str:
    """`StepAdjustments.1.Name` → `stepAdjustments.1.name`."""
    return ".".join(part[:1].lower() + part[1:] for part in path.split("."))


class MemberChecks(NamedTuple):
    """The checks of members that a service makes one after the other. All raise ServiceError."""

    code: str
    """Name of the error's shape."""
    shown_path: Callable[[str], str]
    """Path of a member, such as `AlarmActions.1` → the path as messages have it."""
    shown_max: int | None = None
    """Characters of a text or list that messages show; None: all."""

    def refusal(self, *faults: str) -> ServiceError:
        """The error that says these faults."""
        text = sentences.ONE_FAULT if len(faults) == 1 else sentences.SEVERAL_FAULTS
        return ServiceError(self.code, text.format(count=len(faults), faults="; ".join(faults)))

    def fault(self, path: str, value: object, constraint: str) -> str:
        """What is said of a value that breaks a constraint."""
        return sentences.FAULT.format(value=value, path=self.shown_path(path), constraint=constraint)

    def choice_fault(self, path: str, value: str | None, allowed: Sequence[str]) -> str | None:
        """What is said of a value, if there is one, that is none of these."""
        if value is None or value in allowed:
            return None
        return self.fault(path, value[: self.shown_max], sentences.ONE_OF_SET.format(values=", ".join(allowed)))

    def worded(self, fault: MemberFault) -> ServiceError | None:
        """The error for a member that is missing, or beyond a bound; None for other faults."""
        if fault.kind == "missing":
            return self.refusal(sentences.NULL_FAULT.format(path=self.shown_path(fault.path)))
        bound = _bound(fault.detail)
        if bound is None or fault.kind != "value":
            return None
        text = sentences.AT_LEAST if bound[1] == ">=" else sentences.AT_MOST
        return self.refusal(self.fault(fault.path, fault.value, text.format(what="value", bound=bound[2])))

    def check_length(self, path: str, text: str | None, most: int, least: int = 1) -> None:
        """Refuse a text, if there is one, whose length is not in these bounds."""
        if text is not None and (constraint := out_of_bounds(len(text), least, most, "length")):
            raise self.refusal(self.fault(path, text[: self.shown_max], constraint))

    def check_count(self, path: str, members: Sequence[object], most: int, least: int = 0) -> None:
        """Refuse a list with too many or too few members."""
        if constraint := out_of_bounds(len(members), least, most, "length"):
            raise self.refusal(self.fault(path, str(list(members[: self.shown_max]))[: self.shown_max], constraint))

    def check_choice(self, path: str, value: str | None, allowed: Sequence[str]) -> None:
        """Refuse a value, if there is one, that is none of these."""
        if fault := self.choice_fault(path, value, allowed):
            raise self.refusal(fault)
