"""TagResource, and the rules of ResourceArn that the three tag operations share."""

from typing import Any

import pytest

from tests.conformance.tables import create_request, fault, fresh_name, tagged_table, tags, validation
from tests.support.raw_client import RawClient

OPERATIONS: dict[str, dict[str, Any]] = {
    "TagResource": {"Tags": [{"Key": "a", "Value": "b"}]},
    "UntagResource": {"TagKeys": ["a"]},
    "ListTagsOfResource": {},
}
ARN_START = "arn:aws:dynamodb:us-east-1:000000000000:table/"


@pytest.fixture
def arn(client: Any) -> str:
    """ARN of a table without tags."""
    return tagged_table(client)


def test_tags_are_added_and_replaced(client: Any, arn: str) -> None:
    client.tag_resource(ResourceArn=arn, Tags=[{"Key": "team", "Value": "blue"}, {"Key": "stage", "Value": ""}])
    client.tag_resource(ResourceArn=arn, Tags=[{"Key": "team", "Value": "red"}])
    assert client.list_tags_of_resource(ResourceArn=arn)["Tags"] == [
        {"Key": "stage", "Value": ""},
        {"Key": "team", "Value": "red"},
    ]


def test_fifty_are_the_most_whether_at_once_or_together(raw: RawClient, client: Any, arn: str) -> None:
    refusal = validation(raw, "TagResource", {"ResourceArn": arn, "Tags": tags(51)})
    client.tag_resource(ResourceArn=arn, Tags=tags(50))
    assert validation(raw, "TagResource", {"ResourceArn": arn, "Tags": tags(1, start=50)}) == refusal
    client.tag_resource(ResourceArn=arn, Tags=[{"Key": "key000", "Value": "new"}])
    assert validation(raw, "CreateTable", create_request(fresh_name(), Tags=tags(51))) == refusal


@pytest.mark.parametrize("key", ["aws:mine", "AWS:mine"])
def test_reserved_keys_are_refused(raw: RawClient, arn: str, key: str) -> None:
    request = {"ResourceArn": arn, "Tags": [{"Key": key, "Value": "x"}]}
    assert validation(raw, "TagResource", request) == f"Tag Key cannot be prefixed with aws:, Key: {key}"


def test_a_key_stands_once_in_a_request(raw: RawClient, arn: str) -> None:
    assert "Duplicate" in str(validation(raw, "TagResource", {"ResourceArn": arn, "Tags": tags(1) + tags(1)}))


@pytest.mark.parametrize("operation", OPERATIONS)
class TestArns:
    """The rules of ResourceArn, the same for all three."""

    def test_absent(self, raw: RawClient, operation: str) -> None:
        assert validation(raw, operation, OPERATIONS[operation]) == "Invalid TableArn"

    def test_no_arn_at_all(self, raw: RawClient, operation: str) -> None:
        message = validation(raw, operation, OPERATIONS[operation] | {"ResourceArn": "music"})
        assert "ARNs must start with 'arn:'" in str(message)

    def test_too_little_structure(self, raw: RawClient, operation: str) -> None:
        code, message = fault(raw, operation, OPERATIONS[operation] | {"ResourceArn": "arn:aws:dynamodb"})
        assert code == "AccessDeniedException"
        assert message == (
            "User: arn:aws:iam::000000000000:root is not authorized to perform: "
            f"dynamodb:{operation} on resource: arn:aws:dynamodb"
        )

    def test_no_table(self, raw: RawClient, operation: str) -> None:
        bad = "arn:aws:dynamodb:us-east-1:000000000000:chair/music"
        assert validation(raw, operation, OPERATIONS[operation] | {"ResourceArn": bad}) == (
            f"Invalid TableArn: Invalid ResourceArn provided as input {bad}"
        )

    def test_another_account(self, raw: RawClient, client: Any, operation: str) -> None:
        own = tagged_table(client)
        for name in (own.rpartition("/")[2], "nothing.here"):
            foreign = f"arn:aws:dynamodb:us-east-1:111122223333:table/{name}"
            assert fault(raw, operation, OPERATIONS[operation] | {"ResourceArn": foreign}) == (
                "AccessDeniedException",
                (
                    "User: arn:aws:iam::000000000000:root is not authorized to perform: "
                    f"dynamodb:{operation} on resource: {foreign}"
                ),
            )

    def test_another_region(self, raw: RawClient, client: Any, operation: str) -> None:
        foreign = tagged_table(client).replace("us-east-1", "eu-west-1")
        assert fault(raw, operation, OPERATIONS[operation] | {"ResourceArn": foreign})[0] == "ResourceNotFoundException"

    def test_missing_table(self, raw: RawClient, operation: str) -> None:
        missing = ARN_START + "nothing.here"
        code, message = fault(raw, operation, OPERATIONS[operation] | {"ResourceArn": missing})
        assert code == "ResourceNotFoundException"
        expected = f"Requested resource not found: ResourcArn: {missing} not found"
        assert message == ("Requested resource not found" if operation == "UntagResource" else expected)


@pytest.mark.parametrize(
    ("operation", "member", "empty"),
    [
        ("TagResource", "Tags", "Atleast one Tag needs to be provided as Input."),
        ("UntagResource", "TagKeys", "Atleast one Tag Key needs to be provided as Input."),
    ],
)
def test_lists_of_tags(raw: RawClient, operation: str, member: str, empty: str) -> None:
    missing = {"ResourceArn": ARN_START + "nothing.here"}
    path = member[0].lower() + member[1:]
    assert validation(raw, operation, missing) == (
        f"1 validation error detected: Value null at '{path}' failed to satisfy constraint: Member must not be null"
    )
    assert validation(raw, operation, missing | {member: []}) == empty
    bad_arn = {"ResourceArn": "arn:aws:dynamodb:us-east-1:000000000000:chair/music", member: []}
    assert "Invalid TableArn" in str(validation(raw, operation, bad_arn))


def test_tags_have_lengths(raw: RawClient, arn: str) -> None:
    for tag, message in (
        ({}, "The Tag Key provided is invalid, Key: null"),
        ({"Value": "v"}, "The Tag Key provided is invalid, Key: null"),
        ({"Key": "", "Value": "v" * 257}, "The Tag Key provided is invalid, Key: "),
        ({"Key": "k" * 129}, f"The Tag Key provided is invalid, Key: {'k' * 129}"),
        ({"Key": "k"}, "The Tag Value provided is invalid, Value: null"),
        ({"Key": "k", "Value": "v" * 257}, f"The Tag Value provided is invalid, Value: {'v' * 257}"),
    ):
        request = {"ResourceArn": arn, "Tags": [{"Key": "first", "Value": ""}, tag]}
        assert validation(raw, "TagResource", request) == message
