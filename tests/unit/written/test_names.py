"""Whoever misspells a name hears of the one that is most like it, unless what was given is far too long to be one."""

from hashrange.written.names import KNOWN_NAMES_MAX, NAME_LENGTH_MAX, NAMES_TOLD_MAX, did_you_mean, told_names


def test_the_name_that_is_most_like_it() -> None:
    assert did_you_mean("latancy", ["latency", "lag"]) == " Did you mean latency?"
    assert did_you_mean("x", ["latency"]) == ""


def test_a_text_that_is_no_name_is_not_compared() -> None:
    known = "k" * NAME_LENGTH_MAX
    assert did_you_mean(known, [known]) == f" Did you mean {known}?"
    assert did_you_mean(known + "k", [known]) == ""


def test_a_name_is_compared_with_the_first_of_many() -> None:
    others = ["x"] * (KNOWN_NAMES_MAX - 1)
    assert did_you_mean("latancy", [*others, "latency"]) == " Did you mean latency?"
    assert did_you_mean("latancy", [*others, "x", "latency"]) == ""


def test_the_first_of_many_names_are_told() -> None:
    assert told_names([]) == ""
    assert told_names(["a"] * NAMES_TOLD_MAX) == ", ".join("a" * NAMES_TOLD_MAX)
    assert told_names(["a"] * (NAMES_TOLD_MAX + 1)) == ", ".join("a" * NAMES_TOLD_MAX) + ", …"
