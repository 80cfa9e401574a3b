"""Which function does a text name? Its name, its ARN or a part of that, each perhaps with a qualifier (`name:$LATEST`).

Source: Lambda's API reference, *FunctionName*; the pattern is the service model's. A Region may have any name that a
signature may have, such as `local`, if it stands in a whole ARN.
"""

import re
from typing import NamedTuple

from hashrange.aws_services.operation import Caller
from hashrange.functions.api.operation import LambdaError
from hashrange.functions.refusals import FunctionMissing, constraint_refusal, parameter_refusal
from hashrange.limits import FUNCTION_NAME_LENGTH_MAX
from hashrange.messages import functions_api as messages
from hashrange.messages import requests

LATEST = "$LATEST"
"""The only version of a function: versions cannot be published."""
FUNCTION_NAME_PATTERN = (
    r"(arn:(aws[a-zA-Z-]*)?:lambda:)?((eusc-)?[a-z]{2}((-gov)|(-iso([a-z]?)))?-[a-z]+-\d{1}:)?(\d{12}:)?(function:)?"
    r"([a-zA-Z0-9-_\.]+)(:(\$LATEST(\.PUBLISHED)?|[a-zA-Z0-9-_]+))?"
)
"""As messages show it."""

_TEXT_LENGTH_MAX = 256
_END = r"(?P<name>[a-zA-Z0-9_-]+)(?::(?P<qualifier>\$LATEST|[a-zA-Z0-9_-]+))?"
_match_arn = re.compile(
    r"arn:aws[a-zA-Z-]*:lambda:(?P<region>[a-zA-Z0-9_-]{1,63}):(?P<account>\d{12}):function:" + _END, re.ASCII
).fullmatch
_match_part = re.compile(
    r"(?:(?P<region>(?:eusc-)?[a-z]{2}(?:-gov|-iso[a-z]?)?-[a-z]+-\d):)?(?:(?P<account>\d{12}):)?(?:function:)?" + _END,
    re.ASCII,
).fullmatch


class FunctionKey(NamedTuple):
    """What tells one function from all others."""

    account: str
    region: str
    name: str

    @property
    def arn(self) -> str:
        """The function's ARN, without a qualifier."""
        return f"arn:aws:lambda:{self.region}:{self.account}:function:{self.name}"

    @property
    def caller(self) -> Caller:
        """Who sees this function."""
        return Caller(self.account, self.region)


class FunctionReference(NamedTuple):
    """What a request names."""

    key: FunctionKey
    qualifier: str | None
    """None: the request names the function itself; else a version or an alias."""

    @property
    def arn(self) -> str:
        """The ARN of what is named."""
        return self.key.arn if self.qualifier is None else f"{self.key.arn}:{self.qualifier}"


def parse_arn(arn: str) -> FunctionReference | None:
    """What a whole ARN names, in any account and Region; None if it is no function's ARN."""
    found = _match_arn(arn)
    if found is None or len(arn) > _TEXT_LENGTH_MAX:
        return None
    return FunctionReference(FunctionKey(found["account"], found["region"], found["name"]), found["qualifier"])


def without_latest(arn: str) -> str:
    """A function's ARN without the qualifier `$LATEST`, which names the same as none."""
    return arn.removesuffix(f":{LATEST}")


def read_reference(text: str, caller: Caller, qualifier: str | None = None) -> FunctionReference:
    """What a request names by its member FunctionName and, if it has one, its member Qualifier.

    Raises LambdaError, in this order: the text is no name; it is another Region's, another account's;
    the name and Qualifier contradict each other.
    """
    found = None if len(text) > _TEXT_LENGTH_MAX else _match_arn(text) or _match_part(text)
    if found is None:
        raise constraint_refusal("functionName", text, requests.PATTERN.format(bound=FUNCTION_NAME_PATTERN))
    if len(found["name"]) > FUNCTION_NAME_LENGTH_MAX:
        constraint = requests.LENGTH_AT_MOST.format(bound=FUNCTION_NAME_LENGTH_MAX)
        raise constraint_refusal("functionName", found["name"], constraint)
    key = FunctionKey(found["account"] or caller.account, found["region"] or caller.region, found["name"])
    if key.region != caller.region:
        raise FunctionMissing(messages.OTHER_REGION.format(region=key.region, own_region=caller.region))
    if key.account != caller.account:
        message = messages.OTHER_ACCOUNT.format(arn=key.arn, account=key.account, own_account=caller.account)
        raise LambdaError(403, "AccessDeniedException", message)
    if qualifier is not None and found["qualifier"] not in {None, qualifier}:
        raise parameter_refusal(messages.QUALIFIERS_DIFFER)
    return FunctionReference(key, qualifier or found["qualifier"])
