"""Would a policy prevent its author from changing it?
An unconditional Deny of PutResourcePolicy to the author's account does.

Statements with a Condition do not count: only the caller's account is known. Apart from this check, policies
are not enforced.
"""

from hashrange.items.steps import spend
from hashrange.operations.policies.document import Document, PolicyStatement, names_account, patterns_of

_ACTION = "dynamodb:putresourcepolicy"


def locks_out(document: Document, account: str, arn: str) -> bool:
    """True if a statement without Condition in the canonical document denies the account PutResourcePolicy on `arn`."""
    return any(_denies(statement, account, arn) for statement in document["Statement"])


def _denies(statement: PolicyStatement, account: str, arn: str) -> bool:
    if statement["Effect"] != "Deny" or "Condition" in statement:
        return False
    if "Principal" in statement:
        is_named = names_account(statement["Principal"], account)
    else:
        is_named = not names_account(statement["NotPrincipal"], account)
    return is_named and _covers(statement, "Action", _ACTION) and _covers(statement, "Resource", arn)


def _covers(statement: PolicyStatement, element: str, name: str) -> bool:
    """True if the statement's `element` matches the name, or its Not… form (NotAction, NotResource) does not."""
    patterns = patterns_of(statement, element)
    if element == "Action":
        patterns = [pattern.lower() for pattern in patterns]
    return any(matches(pattern, name) for pattern in patterns) == (element in statement)


def matches(pattern: str, name: str) -> bool:
    """True if the pattern is one of the name: `*` stands for any text, `?` for one character.
    Takes time by the length of the name.
    """
    spend(1 + len(pattern) // 16)
    if len(pattern) - pattern.count("*") > len(name):
        return False
    first, *others = pattern.split("*")
    if not others:
        return len(name) == len(first) and _fits(first, name, 0)
    *inner, last = others
    at, end = len(first), len(name) - len(last)
    if not _fits(first, name, 0) or not _fits(last, name, end):
        return False
    for piece in filter(None, inner):
        found = _find(piece, name, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return at <= end


def _find(piece: str, name: str, at: int, end: int) -> int:
    """The first place of the name at which a piece without `*` stands, between these two; -1 if there is none."""
    if "?" not in piece:
        return name.find(piece, at, end)
    return next((start for start in range(at, end - len(piece) + 1) if _fits(piece, name, start)), -1)


def _fits(piece: str, name: str, start: int) -> bool:
    """True if a piece without `*` stands at this place of the name, which is long enough."""
    if "?" not in piece:
        return name.startswith(piece, start)
    spend(1 + len(piece) // 16)
    return all(one in ("?", other) for one, other in zip(piece, name[start : start + len(piece)], strict=True))
