"""Resource policies of a table, on a clock that the test moves: states, pending changes, revisions, races."""

import json
from typing import Any

import pytest

from hashrange.errors import PolicyNotFoundException, ResourceInUseException, ResourceNotFoundException
from hashrange.store.embedded.layout import decode_table, encode_table
from hashrange.tables.schema import ResourcePolicy
from tests.unit.tables.control_plane import ARN_PREFIX, ControlPlane

ARN = ARN_PREFIX + "music"
PENDING = "Attempt to change a resource which is still in use: {} is pending previous resource-based policy update: {}"


def document(sid: str = "a", action: str = "dynamodb:GetItem") -> str:
    """A canonical policy document."""
    root = {"AWS": "arn:aws:iam::000000000000:root"}
    made = {"Sid": sid, "Effect": "Allow", "Principal": root, "Action": action, "Resource": "*"}
    return json.dumps({"Version": "2012-10-17", "Statement": [made]}, separators=(",", ":"))


def put(plane: ControlPlane, arn: str = ARN, policy: str | None = None, **members: Any) -> int:
    """Put a policy; return its new revision."""
    return int(plane.call("PutResourcePolicy", ResourceArn=arn, Policy=policy or document(), **members)["RevisionId"])


def test_a_table_that_is_being_created_takes_no_policy_and_shows_its_own() -> None:
    plane = ControlPlane(delay_seconds=10)
    plane.create(ResourcePolicy=document())
    assert plane.call("GetResourcePolicy", ResourceArn=ARN)["Policy"] == document()
    for name, members in (("PutResourcePolicy", {"Policy": document("b")}), ("DeleteResourcePolicy", {})):
        with pytest.raises(ResourceNotFoundException, match="Requested resource not found: Table: music not found"):
            plane.call(name, ResourceArn=ARN, **members)


def test_a_table_that_is_being_deleted_shows_its_policy_and_takes_none() -> None:
    plane = ControlPlane(delay_seconds=10)
    plane.create(ResourcePolicy=document())
    plane.clock.advance(10)
    plane.call("DeleteTable", TableName="music")
    assert plane.call("GetResourcePolicy", ResourceArn=ARN)["Policy"] == document()
    for name, members in (("PutResourcePolicy", {"Policy": document("b")}), ("DeleteResourcePolicy", {})):
        with pytest.raises(ResourceInUseException, match="Table is being deleted: music"):
            plane.call(name, ResourceArn=ARN, **members)
    plane.clock.advance(10)
    with pytest.raises(ResourceNotFoundException):
        plane.call("GetResourcePolicy", ResourceArn=ARN)


def test_a_table_that_is_being_updated_takes_a_policy() -> None:
    plane = ControlPlane(delay_seconds=10)
    plane.create()
    plane.clock.advance(10)
    plane.call("UpdateTable", TableName="music", DeletionProtectionEnabled=True)
    put(plane)


def test_changes_wait_for_the_one_before() -> None:
    plane = ControlPlane(delay_seconds=10)
    plane.create()
    plane.clock.advance(10)
    first = put(plane)
    assert put(plane) == first, "the same policy is no change"
    with pytest.raises(PolicyNotFoundException):
        put(plane, policy=document("b"), ExpectedRevisionId="1")
    with pytest.raises(ResourceInUseException) as refusal:
        put(plane, policy=document("b"), ExpectedRevisionId=str(first))
    assert refusal.value.message == PENDING.format("Table", "music")
    with pytest.raises(ResourceInUseException):
        plane.call("DeleteResourcePolicy", ResourceArn=ARN)
    plane.clock.advance(10)
    assert put(plane, policy=document("b")) == first + 10_000


def test_a_streams_changes_wait_for_its_own() -> None:
    plane = ControlPlane(delay_seconds=10)
    stream = plane.create(StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})["LatestStreamArn"]
    label = stream.rpartition("/")[2]
    plane.clock.advance(10)
    put(plane, stream, document(action="dynamodb:GetRecords"))
    put(plane)
    with pytest.raises(ResourceInUseException) as refusal:
        put(plane, stream, document(action="dynamodb:DescribeStream"))
    assert refusal.value.message == PENDING.format("Stream", label)


def test_revisions_grow_while_the_clock_stands() -> None:
    plane = ControlPlane()
    plane.create()
    revisions = [put(plane), put(plane, policy=document("b"))]
    plane.call("DeleteResourcePolicy", ResourceArn=ARN)
    deletion = int(plane.call("DeleteResourcePolicy", ResourceArn=ARN)["RevisionId"])
    assert [*revisions, deletion, put(plane)] == [revisions[0] + number for number in range(4)]


@pytest.mark.parametrize("name", ["PutResourcePolicy", "DeleteResourcePolicy"])
def test_a_change_that_loses_a_race_is_made_again(name: str) -> None:
    plane = ControlPlane()
    plane.create(ResourcePolicy=document())
    plane.store.catalog.races = 2
    plane.call(name, ResourceArn=ARN, **({"Policy": document("b")} if name == "PutResourcePolicy" else {}))
    table = plane.store.catalog.stored["music"].schema
    assert table.tags == {"race0": "won", "race1": "won"}
    assert table.policy is not None
    assert table.policy.document == (document("b") if name == "PutResourcePolicy" else None)


def test_policies_are_part_of_the_stored_table() -> None:
    plane = ControlPlane()
    plane.create()
    table = plane.store.catalog.stored["music"].schema
    before = encode_table(table).replace(b',"policy":null,"stream_policies":{}', b"")
    assert b"policy" not in before
    assert decode_table(before) == table, "a table stored before there were policies"
    put(plane)
    changed = plane.store.catalog.stored["music"].schema
    assert changed.policy == ResourcePolicy(document(), changed.policy.revision if changed.policy else 0)
    assert decode_table(encode_table(changed)) == changed


def test_indexes_scale_once_they_are_active() -> None:
    plane = ControlPlane(delay_seconds=10)
    index = {
        "IndexName": "global",
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    plane.create(GlobalSecondaryIndexes=[index])

    def described() -> tuple[str, str, list[str]]:
        reply = plane.call("DescribeTableReplicaAutoScaling", TableName="music")["TableAutoScalingDescription"]
        (replica,) = reply["Replicas"]
        names = [one["IndexName"] for one in replica["GlobalSecondaryIndexes"]]
        return reply["TableStatus"], replica["ReplicaStatus"], names

    assert described() == ("CREATING", "CREATING", [])
    plane.clock.advance(10)
    assert described() == ("ACTIVE", "ACTIVE", ["global"])
