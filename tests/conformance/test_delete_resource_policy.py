"""DeleteResourcePolicy: first and repeated deletion, with and without an expected revision."""

from typing import Any

from tests.conformance.policies import STREAM, document, new_table, statement, stream_of
from tests.conformance.tables import fault
from tests.support.raw_client import RawClient

NOT_FOUND = "Resource-based policy not found for the provided ResourceArn: "


def test_where_none_was_it_says_nothing(client: Any, raw: RawClient) -> None:
    arn = new_table(client)
    for _ in range(2):
        reply = raw("DeleteResourcePolicy", {"ResourceArn": arn})
        assert (reply.status, reply.body) == (200, b"{}")


def test_a_deleted_policy_leaves_a_revision(client: Any, raw: RawClient) -> None:
    arn = new_table(client)
    name = arn.rpartition("/")[2]
    policy = document(statement(arn))
    revision = client.put_resource_policy(ResourceArn=arn, Policy=policy)["RevisionId"]
    assert client.delete_resource_policy(ResourceArn=arn, ExpectedRevisionId=revision)["RevisionId"] == revision
    assert fault(raw, "GetResourcePolicy", {"ResourceArn": arn}) == ("PolicyNotFoundException", NOT_FOUND + arn)
    deletion = client.delete_resource_policy(ResourceArn=arn)["RevisionId"]
    assert int(deletion) > int(revision)
    assert client.delete_resource_policy(ResourceArn=arn)["RevisionId"] == deletion
    assert fault(raw, "DeleteResourcePolicy", {"ResourceArn": arn, "ExpectedRevisionId": revision}) == (
        "PolicyNotFoundException",
        NOT_FOUND
        + f"Requested update for policy with revision id {revision}, but the policy associated to target table {name}"
        f" has revision id {deletion}.",
    )
    again = client.put_resource_policy(ResourceArn=arn, Policy=policy, ExpectedRevisionId="NO_POLICY")["RevisionId"]
    assert int(again) > int(deletion)


def test_the_expected_revision(client: Any, raw: RawClient) -> None:
    arn = new_table(client)
    name = arn.rpartition("/")[2]
    request = {"ResourceArn": arn, "ExpectedRevisionId": "123"}
    assert fault(raw, "DeleteResourcePolicy", request) == (
        "PolicyNotFoundException",
        NOT_FOUND
        + f"Requested update for policy with revision id 123, but no policy is associated to target table {name}.",
    )
    revision = client.put_resource_policy(ResourceArn=arn, Policy=document(statement(arn)))["RevisionId"]
    assert fault(raw, "DeleteResourcePolicy", request) == (
        "PolicyNotFoundException",
        NOT_FOUND
        + f"Requested update for policy with revision id 123, but the policy associated to target table {name}"
        f" has revision id {revision}.",
    )
    assert client.get_resource_policy(ResourceArn=arn)["Policy"] == document(statement(arn))


def test_the_expected_revision_of_a_stream(client: Any, raw: RawClient) -> None:
    stream = stream_of(client, new_table(client, StreamSpecification=STREAM))
    policy = document(statement(stream, Action="dynamodb:GetRecords"))
    revision = client.put_resource_policy(ResourceArn=stream, Policy=policy)["RevisionId"]
    assert fault(raw, "DeleteResourcePolicy", {"ResourceArn": stream, "ExpectedRevisionId": "123"}) == (
        "PolicyNotFoundException",
        NOT_FOUND + "Requested update for policy with revision id 123, but the policy associated to target stream "
        f"{stream.rpartition('/')[2]} has revision id {revision}.",
    )


def test_a_streams_policy_goes_alone(client: Any) -> None:
    table = new_table(client, StreamSpecification=STREAM)
    stream = stream_of(client, table)
    client.put_resource_policy(ResourceArn=table, Policy=document(statement(table)))
    revision = client.put_resource_policy(
        ResourceArn=stream, Policy=document(statement(stream, Action="dynamodb:GetRecords"))
    )["RevisionId"]
    assert client.delete_resource_policy(ResourceArn=stream)["RevisionId"] == revision
    assert client.get_resource_policy(ResourceArn=table)["Policy"] == document(statement(table))
