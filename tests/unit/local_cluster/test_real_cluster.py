"""Three nodes of Apache Cassandra come up, lose a member, and get it back."""

import sys

import pytest

from hashrange.local_cluster.cluster import local_cluster

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("java", "mvn"),
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the whole network 127"),
]


def test_three_nodes_fail_and_come_back() -> None:
    with local_cluster(nodes=3) as cluster:

        def states() -> list[str]:
            return [one.state for one in cluster.status()]

        assert states() == ["ready", "ready", "ready"]
        cluster.kill("1")
        cluster.pause("2")
        assert states() == ["ended", "paused", "ready"]
        cluster.resume("2")
        cluster.start("1")
        assert states() == ["ready", "ready", "ready"]
