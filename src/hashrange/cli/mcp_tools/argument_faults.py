"""What is wrong with the arguments of a tool? One sentence for the first fault, by what the protocol's
library has found, not in its words.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from hashrange.written.names import did_you_mean
from hashrange.written.value_faults import SHOWN_CHARACTERS_MAX, show_value

_KINDS = {
    "string": "text",
    "dict": "an object",
    "list": "a list",
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
}
"""How pydantic's names of faults begin → what the argument must be."""
_BOUNDS = {
    "greater_than_equal": ("of at least", "ge"),
    "greater_than": ("above", "gt"),
    "less_than_equal": ("of at most", "le"),
    "less_than": ("below", "lt"),
}
"""pydantic's name of a fault → words, and the name of the bound."""


def argument_fault(tool: str, known: Sequence[str], error: ValidationError) -> str:
    """The sentence for a tool with these arguments. Names and values are cut where they are long."""
    fault: Mapping[str, Any] = error.errors(include_url=False)[0]
    kind, place = fault["type"], [str(part)[:SHOWN_CHARACTERS_MAX] for part in fault["loc"]]
    name = place[0] if place else ""
    if kind == "extra_forbidden":
        return f"{tool} has no argument {name}.{did_you_mean(name, known) or ' It has ' + ', '.join(known) + '.'}"
    if kind == "missing":
        return f"{tool} needs the argument {name}."
    return (
        f"{tool}: {' of '.join(reversed(place))} is {show_value(fault['input'], 'object')};"
        f" it must be {_expected(kind, fault.get('ctx', {}))}."
    )


def _expected(kind: str, context: Mapping[str, Any]) -> str:
    if kind in _BOUNDS:
        words, bound = _BOUNDS[kind]
        return f"a number {words} {context[bound]}"
    return _KINDS.get(kind.partition("_")[0], "as the tool describes it")
