"""Where are the parameters from before expressions? In two files; this is their common door."""

from hashrange.expressions.legacy_conditions import expected_condition, filter_condition, key_conditions
from hashrange.expressions.legacy_updates import attribute_updates

__all__ = ["attribute_updates", "expected_condition", "filter_condition", "key_conditions"]
