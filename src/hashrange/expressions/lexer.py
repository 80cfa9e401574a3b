"""How is an expression split into tokens? By a regular expression. Syntax errors quote neighbouring tokens.

A name begins with an ASCII letter, except after `#` or `:`, where a digit or `_` may come first. A character that fits
no token becomes an UNKNOWN token, which the grammar never accepts. A leading zero is a token by itself.
Source: service behaviour, captures to 23 October 2026 (observed-2026-11.md 4).
"""

import re
from typing import NamedTuple

from hashrange.errors import RequestFault
from hashrange.items.steps import spend
from hashrange.limits import EXPRESSION_SIZE_MAX_BYTES
from hashrange.messages import expressions as say

NAME = "name"
PLACEHOLDER = "placeholder"
VALUE = "value"
DIGITS = "digits"
SYMBOL = "symbol"
UNKNOWN = "unknown"
END = "end"

_END_TEXT = "<EOF>"
_TOKEN = re.compile(
    r"(?P<name>[A-Za-z][A-Za-z0-9_]*)"
    r"|(?P<placeholder>#[A-Za-z0-9_]+)"
    r"|(?P<value>:[A-Za-z0-9_]+)"
    r"|(?P<symbol><>|<=|>=|[=<>(),.\[\]+-])"
    r"|(?P<digits>0|[1-9][0-9]*)"
    r"|(?P<unknown>[^ \t\r\n])",
)


class Token(NamedTuple):
    """One token: kind, text, and offsets (`end` is exclusive)."""

    kind: str
    text: str
    start: int
    end: int


def read_tokens(kind: str, text: str) -> list[Token]:
    """Return the tokens of `text` and an END token; raises RequestFault for text that is too long, empty or blank.

    A blank text is a syntax error that shows it as it was sent.
    `kind` is the parameter's name for messages, such as `ConditionExpression`.
    """
    size_bytes = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    if size_bytes > EXPRESSION_SIZE_MAX_BYTES:
        raise _size_fault(kind, size_bytes)
    spend(size_bytes >> 2)
    tokens = [Token(m.lastgroup or UNKNOWN, m.group(), m.start(), m.end()) for m in _TOKEN.finditer(text)]
    if not tokens:
        raise fault(kind, say.SYNTAX_ERROR.format(token=_END_TEXT, near=text) if text else say.EMPTY_EXPRESSION)
    tokens.append(Token(END, _END_TEXT, len(text), len(text)))
    return tokens


def _size_fault(kind: str, size_bytes: int) -> RequestFault:
    """The fault of a text that is too long; for UpdateExpression, the older layer's message omits the size."""
    current = fault(kind, say.EXPRESSION_SIZE.format(size_bytes=size_bytes))
    if kind != "UpdateExpression":
        return current
    return RequestFault(str(current), fault(kind, say.UPDATE_SIZE_OLDER).older_message)


def syntax_fault(kind: str, text: str, tokens: list[Token], position: int) -> RequestFault:
    """The syntax error at token number `position`; quotes it, and the text from one token before it to one after it."""
    first = tokens[max(position - 1, 0)]
    last = tokens[min(position + 1, len(tokens) - 1)]
    if last.kind == END:
        last = tokens[-2]
    near = text[first.start : last.end]
    return fault(kind, say.SYNTAX_ERROR.format(token=tokens[position].text, near=near))


def fault(kind: str, message: str) -> RequestFault:
    """A RequestFault with `message` after `Invalid {kind}: `; with `message` alone if `kind` is empty (PartiQL)."""
    return RequestFault(say.INVALID_EXPRESSION.format(kind=kind, fault=message) if kind else message)
