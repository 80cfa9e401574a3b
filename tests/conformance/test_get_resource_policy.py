"""GetResourcePolicy: the policy, or the error without one. Forms of ARNs are tested with PutResourcePolicy."""

from typing import Any

import pytest

from tests.conformance.policies import document, new_table, statement
from tests.conformance.tables import fault
from tests.support.raw_client import RawClient


def test_a_table_without_a_policy(client: Any, raw: RawClient) -> None:
    arn = new_table(client)
    assert fault(raw, "GetResourcePolicy", {"ResourceArn": arn}) == (
        "PolicyNotFoundException",
        f"Resource-based policy not found for the provided ResourceArn: {arn}",
    )
    with pytest.raises(client.exceptions.PolicyNotFoundException):
        client.get_resource_policy(ResourceArn=arn)


def test_a_table_with_one(client: Any, raw: RawClient) -> None:
    arn = new_table(client)
    policy = document(statement(arn))
    revision = client.put_resource_policy(ResourceArn=arn, Policy=policy)["RevisionId"]
    assert raw("GetResourcePolicy", {"ResourceArn": arn}).json() == {"Policy": policy, "RevisionId": revision}
