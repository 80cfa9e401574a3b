"""Which principals does a policy statement name? They are checked and brought into canonical form.

A Principal is `"*"`, or a map from a kind of principal to one or several names. An account's number becomes the ARN of
its root; repeated names are dropped; a principal need not exist. Source: service behaviour, captures of October 2026.
"""

import re

from hashrange.errors import ValidationException
from hashrange.messages import policies as say

Principal = str | dict[str, str | list[str]]

EVERYBODY = "*"
_KINDS = ("AWS", "Service", "Federated", "CanonicalUser")
_ACCOUNT = re.compile("[0-9]{12}").fullmatch
_AWS_NAME = re.compile(r"arn:aws[a-z-]*:(?:iam|sts)::[0-9]{12}:.+|A[A-Z0-9]{15,}", re.DOTALL).fullmatch
"""Matches the ARN of an account's root or of a user, role or session, and the unique id of a deleted principal."""


def root_of(account: str) -> str:
    """The ARN that stands for a whole account."""
    return f"arn:aws:iam::{account}:root"


def read_principal(given: object) -> Principal:
    """The canonical form of a Principal element; raises ValidationException for its first fault."""
    if given == EVERYBODY:
        return EVERYBODY
    if not isinstance(given, dict) or not given:
        raise ValidationException(say.PRINCIPAL_INVALID)
    principal: dict[str, str | list[str]] = {}
    for kind, names in given.items():
        several = names if isinstance(names, list) else [names]
        if kind not in _KINDS or not several:
            raise ValidationException(say.PRINCIPAL_INVALID)
        canonical = list(dict.fromkeys(_name(kind, name) for name in several))
        principal[kind] = canonical[0] if len(canonical) == 1 else canonical
    return principal


def is_everybody(principal: Principal | None) -> bool:
    """True if the principal includes every AWS account; False for None (the statement has no Principal)."""
    if principal is None or isinstance(principal, str):
        return principal == EVERYBODY
    return EVERYBODY in _aws_names(principal)


def names_account(principal: Principal, account: str) -> bool:
    """True if the principal includes the account as a whole."""
    if is_everybody(principal):
        return True
    assert isinstance(principal, dict), "no other string is canonical"
    return root_of(account) in _aws_names(principal)


def _aws_names(principal: dict[str, str | list[str]]) -> list[str]:
    names = principal.get("AWS", [])
    return [names] if isinstance(names, str) else names


def _name(kind: str, name: object) -> str:
    if not isinstance(name, str) or not name:
        raise ValidationException(say.PRINCIPAL_INVALID)
    if kind != "AWS" or name == EVERYBODY:
        return name
    if _ACCOUNT(name):
        return root_of(name)
    if not _AWS_NAME(name):
        raise ValidationException(say.PRINCIPAL_INVALID)
    return name
