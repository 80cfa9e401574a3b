"""Patterns of actions and resources in policies, held against regular expressions."""

import random
import re
from functools import partial

from hashrange.operations.policies.lockout import matches
from tests.support.working import lines_between_looks


def expected(pattern: str, name: str) -> bool:
    text = "".join({"*": ".*", "?": "."}.get(one, re.escape(one)) for one in pattern)
    return re.fullmatch(text, name, re.DOTALL) is not None


def test_patterns_match_what_they_say() -> None:
    rng = random.Random(7)
    found = {True: 0, False: 0}
    for _ in range(20_000):
        pattern = "".join(rng.choices("ab*?[", k=rng.randrange(7)))
        name = "".join(rng.choices("ab[", k=rng.randrange(7)))
        is_matching = expected(pattern, name)
        assert matches(pattern, name) is is_matching, (pattern, name)
        found[is_matching] += 1
    assert min(found.values()) > 1_000


def test_a_long_pattern_takes_no_more_than_the_name_is_long() -> None:
    """A regular expression of it took 0.1 s, and half a megabyte for as long as the process lived."""
    name = "dynamodb:putresourcepolicy"
    for pattern in ("dynamodb:" + 9_000 * "*a", 20_000 * "*", "dynamodb:" + 17 * "*?" + 19_000 * "*", 20_000 * "?"):
        assert lines_between_looks(partial(matches, pattern, name)) < 2_000


def test_patterns_with_very_many_places_give_way() -> None:
    """A policy of a hundred such patterns was compared in one step of 0.4 s."""
    pattern = "*" + "a?" * 60 + "z*"
    assert 0 < lines_between_looks(partial(matches, pattern, "a" * 255)) < 3_000


def test_very_many_patterns_without_places_give_way() -> None:
    """A policy of 1,500 such resources was compared in one step of 75 ms."""
    arn = "arn:aws:dynamodb:us-east-1:000000000000:table/" + 255 * "a"

    def compare() -> bool:
        return any(matches("arn:*::::*", arn) for _ in range(1_500))

    assert 0 < lines_between_looks(compare) < 3_000
