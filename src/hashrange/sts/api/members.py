"""Which members and checks do the operations of STS share? Constraints, all of which are reported together,
and what a session is asked for with.

Order of checks: the constraints of all members, in the order of the model; the role's ARN;
policies and tags; the duration.
"""

import math
import re
import unicodedata
import zlib
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn

import msgspec

from hashrange.aws_services.constraints import MemberChecks, out_of_bounds
from hashrange.aws_services.operation import ErrorShape, MemberFault, ServiceError
from hashrange.messages import sts as sentences
from hashrange.messages.constraints import MATCHING, NULL_FAULT
from hashrange.sts.limits import PACKED_BYTES_MAX, POLICY_ARNS_MAX, POLICY_CHARACTERS_MAX, TOKEN_SIZE_MAX
from hashrange.sts.session import AssumedRole, role_id_of

ERRORS = MappingProxyType(
    {
        "AccessDenied": ErrorShape(403, "AccessDenied"),
        "ExpiredIdentityToken": ErrorShape(400, "ExpiredTokenException"),
        "ExpiredTokenException": ErrorShape(403, "ExpiredToken"),
        "IncompleteSignatureException": ErrorShape(400, "IncompleteSignature"),
        "InternalFailure": ErrorShape(500, "InternalFailure"),
        "InvalidSignatureException": ErrorShape(403, "SignatureDoesNotMatch"),
        "MissingAuthenticationTokenException": ErrorShape(403, "MissingAuthenticationToken"),
        "UnrecognizedClientException": ErrorShape(403, "InvalidClientTokenId"),
    }
)
"""How STS sends its errors, including errors of signatures.
Source: STS API reference, *Common Errors*; service model of STS."""


TAG_CHARACTERS_INSPECTED = 1_000
"""Characters of a tag's key or value that are looked at: a request of 2 MB would take 0.2 s."""


class TextRule(NamedTuple):
    """What a text must be."""

    least: int
    most: float
    pattern: str | None = None
    """As messages show it."""
    is_match: Callable[[str], object] = bool


def _rule(least: int, most: float, pattern: str, shown: str | None = None) -> TextRule:
    return TextRule(least, most, shown or pattern, re.compile(pattern, re.ASCII).fullmatch)


def _is_tag_text(text: str) -> bool:
    """True if the first characters are those of tags: more than `TAG_CHARACTERS_INSPECTED` are too many anyway."""
    inspected = text[:TAG_CHARACTERS_INSPECTED]
    return all(one in "_.:/=+-@" or unicodedata.category(one)[0] in "LZN" for one in inspected)


ARN_RULE = _rule(
    20,
    2_048,
    "[\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]+",
    r"[\u0009\u000A\u000D\u0020-\u007E\u0085\u00A0-\uD7FF\uE000-\uFFFD\u10000-\u10FFFF]+",
)
NAME_RULE = _rule(2, 64, r"[\w+=,.@-]*")
POLICY_RULE = _rule(1, math.inf, "[\t\n\r\x20-\xff]+", r"[\u0009\u000A\u000D\u0020-\u00FF]+")
EXTERNAL_ID_RULE = _rule(2, 1_224, r"[\w+=,.@:\/-]*")
SERIAL_NUMBER_RULE = _rule(9, 256, r"[\w+=/:,.@-]*")
TOKEN_CODE_RULE = _rule(6, 6, r"[\d]*")
ACCESS_KEY_RULE = _rule(16, 128, r"[\w]*")
IDENTITY_TOKEN_RULE = TextRule(4, 20_000)
PROVIDER_RULE = TextRule(4, 2_048)
TAG_KEY_RULE = TextRule(1, 128, r"[\p{L}\p{Z}\p{N}_.:/=+\-@]+", lambda text: text != "" and _is_tag_text(text))
TAG_VALUE_RULE = TextRule(0, 256, r"[\p{L}\p{Z}\p{N}_.:/=+\-@]*", lambda text: _is_tag_text(text) or text == "")

_is_role_arn = re.compile(
    r"arn:(aws[a-z-]*):iam::([0-9]{12}):role/(?:[!-.0-~]+/)*([A-Za-z0-9_+=,.@-]{1,64})", re.ASCII
).fullmatch


_CHECKS = MemberChecks("ValidationError", shown_path=str)


class Violations:
    """Collects the broken constraints of a request, in the order in which its members are checked."""

    def __init__(self) -> None:
        self._found: list[str] = []

    def check_text(self, path: str, text: str | None, rule: TextRule, *, is_required: bool = False) -> None:
        """Check a text; None: it is not given."""
        if text is None:
            if is_required:
                self._found.append(NULL_FAULT.format(path=path))
            return
        if rule.pattern is not None and not rule.is_match(text):
            self._add(path, text, MATCHING.format(pattern=rule.pattern))
        self._add(path, text, out_of_bounds(len(text), rule.least, rule.most, "length"))

    def check_number(self, path: str, number: int | None, least: int, most: int) -> None:
        """Check a number; None: it is not given."""
        if number is not None:
            self._add(path, number, out_of_bounds(number, least, most))

    def check_count(self, path: str, members: Sequence[Any] | None, most: int) -> None:
        """Check how many members a list has; None: it is not given."""
        count = len(members or ())
        self._add(path, f"{count} members", out_of_bounds(count, 0, most, "length"))

    def check_token_size(self, size_bytes: int | None) -> None:
        """Check `MinimumSessionTokenSize`."""
        self.check_number("minimumSessionTokenSize", size_bytes, 0, TOKEN_SIZE_MAX)

    def _add(self, path: str, value: object, constraint: str | None) -> None:
        if constraint is not None:
            self._found.append(_CHECKS.fault(path, value, constraint))

    def refuse_any(self) -> None:
        """Raise ServiceError with all that were found, if any was."""
        if self._found:
            raise _CHECKS.refusal(*self._found)


def word_sts_fault(fault: MemberFault) -> ServiceError:
    """The error for a request whose members have wrong types."""
    return ServiceError("ValidationError", sentences.MALFORMED.format(path=fault.path, detail=fault.detail))


def refuse_sts(message: str) -> NoReturn:
    """Raise ValidationError with this message."""
    raise ServiceError("ValidationError", message)


class PolicyArnMember(msgspec.Struct, frozen=True):
    """A managed policy."""

    arn: str | None = None


def role_of(arn: str, session_name: str) -> tuple[str, AssumedRole]:
    """The account of an ARN's role, and the role as a session without a source identity has it. Raises ServiceError."""
    found = _is_role_arn(arn)
    if found is None:
        refuse_sts(sentences.ROLE_ARN)
    return found[2], AssumedRole(found[1], found[3], role_id_of(arn), session_name, None)


def check_policies(found: Violations, policy: str | None, arns: Sequence[PolicyArnMember] | None) -> None:
    """Check the constraints of `PolicyArns` and `Policy`."""
    for place, one in enumerate((arns or ())[: POLICY_ARNS_MAX + 1], 1):
        found.check_text(f"policyArns.{place}.member.arn", one.arn, ARN_RULE)
    found.check_text("policy", policy, POLICY_RULE)


def packed_percent(
    policy: str | None, arns: Sequence[PolicyArnMember] | None, tags: Sequence[tuple[str, str]] = ()
) -> int | None:
    """`PackedPolicySize`; None without policies and tags.
    Raises ServiceError for a policy that is no JSON, and for too much of any.
    """
    if policy is None and not arns and not tags:
        return None
    if arns is not None and len(arns) > POLICY_ARNS_MAX:
        refuse_sts(sentences.TOO_MANY_POLICIES.format(most=POLICY_ARNS_MAX))
    texts = [one.arn for one in arns or () if one.arn is not None]
    if policy is not None:
        texts.append(policy)
    characters = sum(map(len, texts))
    if characters > POLICY_CHARACTERS_MAX:
        _refuse_packed(sentences.PACKED_POLICY, -(-characters * 100 // POLICY_CHARACTERS_MAX))
    if policy is not None:
        _check_policy(policy)
    packed = zlib.compress("\n".join([*texts, *(text for tag in tags for text in tag)]).encode(), wbits=-15)
    percent = -(-len(packed) * 100 // PACKED_BYTES_MAX)
    if percent > 100:
        _refuse_packed(sentences.PACKED_POLICY if texts else sentences.PACKED_TAGS, percent)
    return percent


def _check_policy(policy: str) -> None:
    try:
        is_object = isinstance(msgspec.json.decode(policy), dict)
    except (msgspec.DecodeError, RecursionError):
        is_object = False
    if not is_object:
        raise ServiceError("MalformedPolicyDocument", sentences.POLICY_NO_JSON)


def _refuse_packed(text: str, percent: int) -> NoReturn:
    raise ServiceError("PackedPolicyTooLarge", text.format(percent=percent))
