"""What is told of a schema document? Sentences, each with its place in the document and the rule that found it."""

from typing import Literal, NamedTuple

FindingLevel = Literal["wrong", "advice", "note"]
"""`wrong`: the design does not do what it says; `advice`: it works, but costs more than it must; `note`: a trade-off,
which asks for nothing."""


class ModelFinding(NamedTuple):
    """Something to tell. `rule`: a short name that does not change."""

    level: FindingLevel
    rule: str
    place: str
    """Such as `access pattern getTenant`."""
    sentence: str
    """What is so, and what to do about it."""


def wrong(rule: str, place: str, sentence: str) -> ModelFinding:
    """A finding of something that does not work."""
    return ModelFinding("wrong", rule, place, sentence)


def advice(rule: str, place: str, sentence: str) -> ModelFinding:
    """A finding of something that works."""
    return ModelFinding("advice", rule, place, sentence)


def note(rule: str, place: str, sentence: str) -> ModelFinding:
    """A trade-off."""
    return ModelFinding("note", rule, place, sentence)
