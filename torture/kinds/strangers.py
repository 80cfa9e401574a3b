"""Which requests can clients send that do not know the secret? Large bodies, unsigned or signed with a wrong secret."""

from torture.kinds.kind import Hostile, Kind, Signature, json_list, spliced
from torture.kinds.needs import TABLE, key

UNSIGNED, WRONG = ("400 MissingAuthenticationTokenException",), ("400 InvalidSignatureException",)
WITHOUT_SECRET: tuple[tuple[str, Signature, tuple[str, ...]], ...] = (
    ("unsigned", "none", UNSIGNED),
    ("wrong-secret", "wrong", WRONG),
)


def values() -> Hostile:
    """A body of 12 MB of small values."""
    elements = json_list(b'{"N":"1"}', 1_200_000)
    return spliced("PutItem", {"TableName": TABLE, "Item": key("x") | {"a": "@list"}}, {"list": b'{"L":%b}' % elements})


def text() -> Hostile:
    """A body of 12 MB with a single value."""
    string = b'{"S":"%b"}' % (b"x" * 12_000_000)
    return spliced("PutItem", {"TableName": TABLE, "Item": key("x") | {"a": "@text"}}, {"text": string})


KINDS = tuple(
    Kind(f"{name}-{what}-12mb", make, answers, signature=signature)
    for name, signature, answers in WITHOUT_SECRET
    for what, make in (("values", values), ("text", text))
)
