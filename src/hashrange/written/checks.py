"""With which words and checks is a value looked through? The types of `values.fault_in`'s parameters."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

ObjectWord = Literal["table", "object"]
"""What the format of a file calls names with values: TOML's word or JSON's."""
Checks = Mapping[type, tuple[Callable[[Any], bool], str]]
"""Type that msgspec does not know → whether a value is of it, and what such a value is."""
