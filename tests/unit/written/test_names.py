"""Whoever misspells a name hears of the one that is most like it, unless what was given is far too long to be one."""

from hashrange.written.names import NAME_LENGTH_MAX, did_you_mean


def test_the_name_that_is_most_like_it() -> None:
    assert did_you_mean("latancy", ["latency", "lag"]) == " Did you mean latency?"
    assert did_you_mean("x", ["latency"]) == ""


def test_a_text_that_is_no_name_is_not_compared() -> None:
    known = "k" * NAME_LENGTH_MAX
    assert did_you_mean(known, [known]) == f" Did you mean {known}?"
    assert did_you_mean(known + "k", [known]) == ""
