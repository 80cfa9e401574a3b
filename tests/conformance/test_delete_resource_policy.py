"""DeleteResourcePolicy: once and again, with and without an expected revision."""

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
        NOT_FOUND + f"revision {revision} was expected, and the policy of table {name} has revision {deletion}.",
    )
    again = client.put_resource_policy(ResourceArn=arn, Policy=policy, ExpectedRevisionId="NO_POLICY")["RevisionId"]
    assert int(again) > int(deletion)


def test_the_expected_revision(client: Any, raw: RawClient) -> None:
    arn = new_table(client)
    name = arn.rpartition("/")[2]
    request = {"ResourceArn": arn, "ExpectedRevisionId": "123"}
    assert fault(raw, "DeleteResourcePolicy", request) == (
        "PolicyNotFoundException",
        NOT_FOUND + f"revision 123 was expected, and table {name} has no policy.",
    )
    client.put_resource_policy(ResourceArn=arn, Policy=document(statement(arn)))
    assert fault(raw, "DeleteResourcePolicy", request)[0] == "PolicyNotFoundException"
    assert client.get_resource_policy(ResourceArn=arn)["Policy"] == document(statement(arn))


def test_a_streams_policy_goes_alone(client: Any) -> None:
    table = new_table(client, StreamSpecification=STREAM)
    stream = stream_of(client, table)
    client.put_resource_policy(ResourceArn=table, Policy=document(statement(table)))
    revision = client.put_resource_policy(
        ResourceArn=stream, Policy=document(statement(stream, Action="dynamodb:GetRecords"))
    )["RevisionId"]
    assert client.delete_resource_policy(ResourceArn=stream)["RevisionId"] == revision
    assert client.get_resource_policy(ResourceArn=table)["Policy"] == document(statement(table))
