"""Very many tags, or names of tags, are looked at in pieces, of whichever service: other requests do not wait."""

from collections.abc import Callable
from typing import Any

import pytest

from hashrange.autoscaling.api.members import check_scaling_names, check_target_tags
from hashrange.aws_services.operation import ServiceError
from hashrange.cloudwatch.alarms.api.members import TagMember, check_alarm_tag_keys, tags_of
from hashrange.dax.api.tags import ClusterTagMember, added_cluster_tags
from tests.support.working import lines_between_looks

COUNT = 20_000
KEYS = [f"k{number}" for number in range(COUNT)]
TAGS = dict.fromkeys(KEYS, "v")
ALARM_TAGS = [TagMember(key, "v") for key in KEYS]
CLUSTER_TAGS = [ClusterTagMember(key, "v") for key in KEYS]


@pytest.mark.parametrize(
    "check",
    [
        lambda: check_target_tags(TAGS),
        lambda: check_alarm_tag_keys("TagKeys", KEYS),
        lambda: tags_of(ALARM_TAGS),
        lambda: added_cluster_tags({}, CLUSTER_TAGS),
    ],
    ids=["of targets", "keys of alarms", "of alarms", "of clusters"],
)
def test_very_many_tags_give_way(check: Callable[[], object]) -> None:
    """80,000 tags of a scalable target took 88 ms in one step."""
    assert lines_between_looks(check) < 2_000


class _Names(list[str]):
    """Names that note how many of them are shown in one go."""

    shown = 0

    def __getitem__(self, part: Any) -> Any:
        found = super().__getitem__(part)
        self.shown = len(found)
        return found

    def __iter__(self) -> Any:
        raise AssertionError("all names were shown")


def test_too_many_names_are_refused_by_those_that_are_shown() -> None:
    names = _Names(KEYS)
    with pytest.raises(ServiceError) as refused:
        check_scaling_names("TagKeys", names, 50)
    assert str(KEYS)[:100] in refused.value.message
    assert names.shown == 100
