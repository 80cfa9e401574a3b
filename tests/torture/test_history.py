"""Does the judge of crashes find lost and invented writes, and accept both outcomes of pending ones?"""

from torture.loss.history import History


def written(*numbers: int) -> History:
    """The history of one key whose values were acknowledged one after another."""
    history = History()
    for number in numbers:
        history.send({"key": str(number)})
        history.acknowledge({"key": str(number)})
    return history


def test_what_was_acknowledged_must_be_there() -> None:
    history = written(1)
    assert history.judge({"key": "1"}) == ([], [])
    assert history.judge({}) == (["key"], [])


def test_an_older_value_is_a_loss() -> None:
    assert written(1, 2).judge({"key": "1"}) == (["key"], [])


def test_what_was_under_way_may_be_there_or_not() -> None:
    history = written(1)
    history.send({"key": "2", "other": "2"})
    assert history.judge({"key": "1"}) == ([], [])
    assert history.judge({"key": "2", "other": "2"}) == ([], [])


def test_what_was_never_written_is_invented() -> None:
    assert written(1).judge({"key": "1", "other": "1"}) == ([], ["other"])
    assert written(1).judge({"key": "3"}) == ([], ["key"])


def test_what_was_deleted_must_not_come_back() -> None:
    history = written(1)
    history.send({"key": None})
    assert history.judge({"key": "1"}) == ([], [])
    history.acknowledge({"key": None})
    assert history.judge({"key": "1"}) == ([], ["key"])


def test_what_a_consistent_read_has_shown_must_stay() -> None:
    history = written(1)
    history.send({"key": "2"})
    history.settle({"key": "2"})
    assert history.judge({"key": "1"}) == (["key"], [])
