"""DescribeLimits: the default quotas."""

from typing import Any


def test_limits_are_the_default_quotas(client: Any) -> None:
    reply = client.describe_limits()
    reply.pop("ResponseMetadata")
    assert reply == {
        "AccountMaxReadCapacityUnits": 80000,
        "AccountMaxWriteCapacityUnits": 80000,
        "TableMaxReadCapacityUnits": 40000,
        "TableMaxWriteCapacityUnits": 40000,
    }
