"""Do a request's expression parameters fit together? Checks before and after compiling its expressions.

Order: legacy parameters mixed with expressions; ExpressionAttributeNames, then ExpressionAttributeValues, without an
expression that could use them; then for each of these maps: empty map, invalid tokens, and in ExpressionAttributeNames
invalid attribute names. After compiling all expressions: unused names, unused values. Source: service behaviour,
captures to Oct 2026.
"""

import re
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol

from hashrange.errors import RequestFault
from hashrange.items.steps import TOGETHER_MEMBERS, batches, walk
from hashrange.items.types import Value
from hashrange.items.values import NAME_SURELY_SHORT, check_name
from hashrange.limits import EXPRESSION_TOKEN_MAX_BYTES
from hashrange.messages import expressions as say

NamedParameters = Sequence[tuple[str, object]]
"""Pairs (parameter name, its value or None), in the order in which the service's messages list them."""

NO_VALUES: dict[str, Value] = {}
"""The values of a request without ExpressionAttributeValues."""
_NAMES = "ExpressionAttributeNames"
_VALUES = "ExpressionAttributeValues"
_NAME_TOKEN = re.compile(r"#[A-Za-z0-9_]+")
_VALUE_TOKEN = re.compile(r":[A-Za-z0-9_]+")


class TokenUser(Protocol):
    """A parsed or compiled expression, which knows the tokens it uses."""

    @property
    def used_names(self) -> AbstractSet[str]:
        """The `#tokens` that the expression uses."""

    @property
    def used_values(self) -> AbstractSet[str]:
        """The `:tokens` that the expression uses."""


def check_mixing(legacy: NamedParameters, expressions: NamedParameters) -> None:
    """Refuse legacy and expression parameters in one request."""
    legacy_given = [name for name, value in legacy if value is not None]
    if legacy_given:
        given = [name for name, value in expressions if value is not None]
        if given:
            raise RequestFault(
                say.MIXED_PARAMETERS.format(legacy=", ".join(legacy_given), expressions=", ".join(given))
            )


def check_maps(expressions: NamedParameters, names: dict[str, str] | None, values: dict[str, Value] | None) -> None:
    """Refuse names or values without an expression that could use them, empty maps, invalid tokens and names."""
    _check_needed(expressions, names, values)
    if names is not None:
        _check_names(names)
    if values is not None:
        _check_tokens(_VALUES, values, _VALUE_TOKEN)


def _check_needed(expressions: NamedParameters, names: dict[str, str] | None, values: dict[str, Value] | None) -> None:
    """Refuse names or values without an expression that could use them."""
    if names is not None and all(value is None for _, value in expressions):
        raise RequestFault(say.NAMES_WITHOUT_EXPRESSION)
    if values is not None:
        users = [(name, value) for name, value in expressions if name != "ProjectionExpression"]
        if all(value is None for _, value in users):
            raise _values_without_expression([name for name, _ in users])


def _check_names(names: dict[str, str]) -> None:
    """Refuse an empty map, invalid tokens, and invalid names of attributes."""
    _check_tokens(_NAMES, names, _NAME_TOKEN)
    for token, name in walk(names.items()):
        if not name:
            raise RequestFault(say.EMPTY_NAME.format(key=token))
        if len(name) > NAME_SURELY_SHORT:
            check_name(name)


def check_search_maps(
    expressions: NamedParameters, names: dict[str, str] | None, values: dict[str, Value] | None
) -> None:
    """The same as `check_maps` in the order of the search endpoint: empty maps, invalid tokens and names, then names or
    values without an expression that could use them.
    """
    for parameter, tokens in ((_NAMES, names), (_VALUES, values)):
        if tokens is not None and not tokens:
            raise RequestFault(say.EMPTY_MAP.format(parameter=parameter))
    if names is not None:
        _check_names(names)
    if values is not None:
        _check_tokens(_VALUES, values, _VALUE_TOKEN)
    _check_needed(expressions, names, values)


def _values_without_expression(users: list[str]) -> RequestFault:
    older = say.VALUES_WITHOUT_EXPRESSION_OLDER.format(
        parameters=" and ".join(users), verb="is" if len(users) == 1 else "are"
    )
    return RequestFault(say.VALUES_WITHOUT_EXPRESSION, older)


def _check_tokens(parameter: str, tokens: Collection[str], pattern: re.Pattern[str]) -> None:
    """Refuse an empty map, and tokens that are too long or do not match `pattern`."""
    if not tokens:
        raise RequestFault(say.EMPTY_MAP.format(parameter=parameter))
    for token in walk(tokens):
        if pattern.fullmatch(token) is None or len(token) > EXPRESSION_TOKEN_MAX_BYTES:
            raise RequestFault(say.BAD_KEY.format(parameter=parameter, key=token))


def check_unused(names: dict[str, str] | None, values: dict[str, Value] | None, *compiled: TokenUser | None) -> None:
    """Refuse names, then values, that no compiled expression uses."""
    if names:
        _refuse_unused(_NAMES, names, [one.used_names for one in compiled if one is not None])
    if values:
        _refuse_unused(_VALUES, values, [one.used_values for one in compiled if one is not None])


def _refuse_unused(parameter: str, tokens: Collection[str], used: list[AbstractSet[str]]) -> None:
    if len(tokens) <= TOGETHER_MEMBERS and not set(tokens).difference(*used):
        return
    all_used = frozenset().union(*used)
    unused = [token for some in batches(tokens) for token in some if token not in all_used]
    if unused:
        raise RequestFault(say.UNUSED.format(parameter=parameter, keys=", ".join(unused)))
