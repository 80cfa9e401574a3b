"""Which errors of Lambda's API do functions meet? Each with its status and code; `messages.functions` words them.

Source of statuses and codes: botocore's service model of Lambda, 2015-03-31.
"""

from hashrange.functions.api.operation import LambdaError
from hashrange.messages import functions_api as messages
from hashrange.messages import requests
from hashrange.messages.functions import CONCURRENCY_EXCEEDED


class FunctionMissing(LambdaError):
    """There is no such function, or no such version of it."""

    def __init__(self, message: str) -> None:
        super().__init__(404, "ResourceNotFoundException", message)


class FunctionsSwitchedOff(LambdaError):
    """The function's code would run on this machine, and the server was not started to run code."""

    def __init__(self) -> None:
        super().__init__(400, "InvalidParameterValueException", messages.SWITCHED_OFF)


def parameter_refusal(message: str) -> LambdaError:
    """The request's parameters cannot be used."""
    return LambdaError(400, "InvalidParameterValueException", message)


def conflict_refusal(message: str) -> LambdaError:
    """The function exists, or is in a state that forbids the request."""
    return LambdaError(409, "ResourceConflictException", message)


def throttling_refusal(reason: str) -> LambdaError:
    """Too many invocations run, or wait. `reason`: one of the model's enumeration ThrottleReason."""
    return LambdaError(429, "TooManyRequestsException", CONCURRENCY_EXCEEDED, Reason=reason)


def constraint_refusal(member: str, value: str, constraint: str) -> LambdaError:
    """A member breaks a constraint of the service model. `member`: its name with a small first letter."""
    violation = requests.VIOLATION.format(value=f"'{messages.cut(value)}'", path=member, constraint=constraint)
    return LambdaError(400, "ValidationException", requests.ONE_ERROR.format(errors=violation))
