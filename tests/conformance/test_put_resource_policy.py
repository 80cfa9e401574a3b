"""PutResourcePolicy: which policy is stored, under which revision, and which policies are refused."""

import json
from typing import Any

import pytest

from tests.conformance.policies import ACCOUNT, ROOT, STREAM, document, new_table, statement, stream_of
from tests.conformance.tables import INVALID, create_request, fault, fresh_name, validation
from tests.support.raw_client import RawClient

NOT_FOUND = "Resource-based policy not found for the provided ResourceArn: "
DOCUMENT = INVALID + "Invalid policy document: "
UNBOUNDED = (
    "Resource-based policy grants unbounded access in one or more elements. "
    "Please revise the policy to ensure least-privilege form of access"
)
LOCKED_OUT = "The new resource policy will not allow you to update the resource policy in the future."


@pytest.fixture(scope="module")
def arn(client: Any) -> str:
    """ARN of a table whose policy any test may replace."""
    return new_table(client)


@pytest.fixture
def fresh(client: Any) -> str:
    """ARN of a table that never had a policy."""
    return new_table(client)


def put(client: Any, arn: str, policy: str, **members: Any) -> str:
    """Store a policy and return its revision."""
    return str(client.put_resource_policy(ResourceArn=arn, Policy=policy, **members)["RevisionId"])


def got(client: Any, arn: str) -> tuple[str, str]:
    """Policy and revision of a resource."""
    reply = client.get_resource_policy(ResourceArn=arn)
    return reply["Policy"], reply["RevisionId"]


# --- what is stored -----------------------------------------------------------------------------


def test_a_canonical_document_comes_back_as_it_was(client: Any, fresh: str) -> None:
    denied = ["dynamodb:Query", "dynamodb:Scan"]
    negated = {
        "Effect": "Deny",
        "Principal": {"AWS": ROOT},
        "NotAction": "dynamodb:DeleteTable",
        "NotResource": fresh + "/x",
        "Condition": {"StringEquals": {"aws:PrincipalAccount": ACCOUNT}},
    }
    policy = document(
        statement(fresh),
        statement(fresh + "/index/*", Sid="Deny", Effect="Deny", Principal="*", Action=denied),
        negated,
    )
    revision = put(client, fresh, policy)
    assert got(client, fresh) == (policy, revision)


EQUIVALENT: dict[str, dict[str, Any]] = {
    "actions in a list": {"Action": ["dynamodb:GetItem"]},
    "account id": {"Principal": {"AWS": ACCOUNT}},
    "the same principal twice": {"Principal": {"AWS": [ACCOUNT, ROOT]}},
    "effect in small letters": {"Effect": "allow"},
}


def test_an_equivalent_document_is_the_same_policy(client: Any, fresh: str) -> None:
    canonical = document(statement(fresh))
    revision = put(client, fresh, canonical)
    assert len(revision) == 13
    variants = [document(statement(fresh, **change)) for change in EQUIVALENT.values()]
    variants.append(json.dumps(json.loads(canonical), indent=4, sort_keys=True))
    variants.append(json.dumps({"Statement": statement(fresh, Resource=[fresh]), "Version": "2012-10-17"}))
    for variant in variants:
        assert put(client, fresh, variant) == revision
        assert got(client, fresh) == (canonical, revision)


def test_lists_of_several_stay_as_they_are(client: Any, fresh: str) -> None:
    policy = document(statement(fresh, Action=["dynamodb:query", "dynamodb:query", "dynamodb:GetItem"]))
    revision = put(client, fresh, policy)
    assert got(client, fresh) == (policy, revision)


def test_a_document_without_a_version_is_shown_with_the_old_one(client: Any, fresh: str) -> None:
    without = json.dumps({"Statement": [statement(fresh)]}, separators=(",", ":"))
    revision = put(client, fresh, without)
    shown = '{"Version":"2008-10-17",' + without[1:]
    assert got(client, fresh) == (shown, revision)
    assert put(client, fresh, without) == revision
    assert int(put(client, fresh, shown)) > int(revision)


def test_revisions_grow_and_are_no_fingerprints(client: Any, fresh: str) -> None:
    first, second = document(statement(fresh)), document(statement(fresh, Sid="Other"))
    revisions = [int(put(client, fresh, policy)) for policy in (first, second, first, second)]
    assert revisions == sorted(set(revisions))


def test_values_of_conditions_become_strings(client: Any, fresh: str) -> None:
    given = {"Bool": {"aws:SecureTransport": True}, "NumericLessThan": {"aws:x": [5]}}
    put(client, fresh, document(statement(fresh, Condition=given)))
    shown = json.loads(got(client, fresh)[0])["Statement"][0]["Condition"]
    assert shown == {"Bool": {"aws:SecureTransport": "true"}, "NumericLessThan": {"aws:x": "5"}}


def test_a_stream_has_a_policy_of_its_own(client: Any, raw: RawClient) -> None:
    table = new_table(client, StreamSpecification=STREAM)
    stream = stream_of(client, table)
    policy = document(statement(stream, Action=["dynamodb:DescribeStream", "dynamodb:GetRecords"]))
    revision = put(client, stream, policy)
    assert got(client, stream) == (policy, revision)
    assert fault(raw, "GetResourcePolicy", {"ResourceArn": table}) == ("PolicyNotFoundException", NOT_FOUND + table)
    put(client, table, document(statement(table)))
    assert got(client, stream) == (policy, revision)


def test_a_table_is_created_with_a_policy(client: Any, raw: RawClient) -> None:
    table = new_table(client, ResourcePolicy=document(statement("*", Principal={"AWS": ACCOUNT})))
    policy, revision = got(client, table)
    assert policy == document(statement("*"))
    assert put(client, table, policy, ExpectedRevisionId=revision) == revision
    assert validation(raw, "CreateTable", create_request(fresh_name(), ResourcePolicy="{")) == (
        DOCUMENT + "This policy contains invalid Json"
    )


def test_a_new_table_of_the_name_has_no_policy(client: Any, raw: RawClient, fresh: str) -> None:
    put(client, fresh, document(statement(fresh)))
    client.delete_table(TableName=fresh)
    client.create_table(**create_request(fresh.rpartition("/")[2]))
    assert fault(raw, "GetResourcePolicy", {"ResourceArn": fresh})[0] == "PolicyNotFoundException"


# --- revisions ----------------------------------------------------------------------------------


def test_the_expected_revision(client: Any, raw: RawClient, fresh: str) -> None:
    name = fresh.rpartition("/")[2]
    request = {"ResourceArn": fresh, "Policy": document(statement(fresh)), "ExpectedRevisionId": "123"}
    assert fault(raw, "PutResourcePolicy", request) == (
        "PolicyNotFoundException",
        NOT_FOUND
        + f"Requested update for policy with revision id 123, but no policy is associated to target table {name}.",
    )
    first = put(client, fresh, document(statement(fresh)), ExpectedRevisionId="NO_POLICY")
    assert fault(raw, "PutResourcePolicy", request | {"ExpectedRevisionId": "NO_POLICY"}) == (
        "PolicyNotFoundException",
        NOT_FOUND
        + f"Requested policy update expecting none to be present for table {name}, but a policy exists with revision id"
        f" {first}.",
    )
    assert fault(raw, "PutResourcePolicy", request) == (
        "PolicyNotFoundException",
        NOT_FOUND
        + f"Requested update for policy with revision id 123, but the policy associated to target table {name}"
        f" has revision id {first}.",
    )
    second = put(client, fresh, document(statement(fresh, Sid="Other")), ExpectedRevisionId=first)
    assert got(client, fresh) == (document(statement(fresh, Sid="Other")), second)


# --- documents that are refused -----------------------------------------------------------------

BAD_TEXTS = {
    "": "This policy contains invalid Json",
    "{not json": "This policy contains invalid Json",
    "[]": "This policy contains invalid Json",
    "[" * 20_000: "This policy contains invalid Json",
    "null": "This text appears not to be a policy",
    "{}": "Syntax error at position (1,3)",
    "{\n }\n": "Syntax error at position (2,3)",
    '{"Version":"2012-10-17","Statement":[]}': "Could not parse the policy: Statement is empty!",
    '{"Version":"2012-10-17","Statement":["x"]}': "Syntax error in element Statement",
    '{"Version":"2020-01-01","Statement":[]}': "Version must be 2012-10-17 or 2008-10-17",
    '{"Version":["2012-10-17"],"Statement":[]}': "Version must be 2012-10-17 or 2008-10-17",
    '{"Id":5,"Statement":[]}': "Syntax error in element Id",
    '{"Statements":[]}': "Unknown element Statements",
}


@pytest.mark.parametrize("text", BAD_TEXTS, ids=range(len(BAD_TEXTS)))
def test_texts_that_are_no_policy(raw: RawClient, arn: str, text: str) -> None:
    request = {"ResourceArn": arn, "Policy": text}
    assert validation(raw, "PutResourcePolicy", request) == DOCUMENT + BAD_TEXTS[text]


BAD_STATEMENTS: list[tuple[dict[str, Any], str]] = [
    ({"Effect": None}, DOCUMENT + "Missing required field Effect"),
    ({"Effect": "Perhaps"}, DOCUMENT + "Syntax error in element Effect"),
    ({"Principal": None}, DOCUMENT + "Missing required field Principal"),
    ({"Action": None}, DOCUMENT + "Missing required field Action"),
    ({"Resource": None}, DOCUMENT + "Missing required field Resource"),
    ({"NotAction": "dynamodb:GetItem"}, DOCUMENT + "Syntax error in element NotAction"),
    ({"Action": []}, DOCUMENT + "Syntax error in element Action"),
    ({"Action": 5}, DOCUMENT + "Syntax error in element Action"),
    ({"Resource": [5]}, DOCUMENT + "Syntax error in element Resource"),
    ({"Sid": 5}, DOCUMENT + "Syntax error in element Sid"),
    ({"Condition": "x"}, DOCUMENT + "Syntax error in element Condition"),
    ({"Condition": {"StringEquals": {"a": {}}}}, DOCUMENT + "Syntax error in element Condition"),
    ({"Allow": True}, DOCUMENT + "Unknown element Allow"),
    ({"Principal": ACCOUNT}, INVALID + "Invalid principal in policy document."),
    ({"Principal": {"AWS": "somebody"}}, INVALID + "Invalid principal in policy document."),
    ({"Principal": {"AWS": []}}, INVALID + "Invalid principal in policy document."),
    ({"Principal": {"Friend": "x"}}, INVALID + "Invalid principal in policy document."),
    ({"Principal": "*"}, UNBOUNDED),
    ({"Principal": {"AWS": "*"}}, UNBOUNDED),
    ({"Principal": {"AWS": [ACCOUNT, "*"]}}, UNBOUNDED),
    (
        {"Action": ["dynamodb:GetRecords", "dynamodb:GetItem", "dynamodb:DescribeStream"]},
        DOCUMENT + 'The following action names are invalid: "dynamodb:GetRecords", "dynamodb:DescribeStream"',
    ),
    ({"Action": "s3:GetObject"}, DOCUMENT + 'The following action names are invalid: "s3:GetObject"'),
    ({"Action": ""}, DOCUMENT + 'The following action names are invalid: ""'),
    ({"Resource": ""}, DOCUMENT + 'Resource  must be an ARN or "*"'),
    ({"Resource": "music"}, DOCUMENT + 'Resource music must be an ARN or "*"'),
]


@pytest.mark.parametrize(("change", "message"), BAD_STATEMENTS)
def test_statements_that_are_refused(raw: RawClient, arn: str, change: dict[str, Any], message: str) -> None:
    request = {"ResourceArn": arn, "Policy": document(statement(arn, **change))}
    assert validation(raw, "PutResourcePolicy", request) == message


def test_statement_ids_are_unique(raw: RawClient, arn: str) -> None:
    request = {"ResourceArn": arn, "Policy": document(statement(arn), statement(arn))}
    assert validation(raw, "PutResourcePolicy", request) == DOCUMENT + "The Statement Ids in the policy are not unique"


def test_a_refused_document_changes_nothing(client: Any, raw: RawClient, fresh: str) -> None:
    before = document(statement(fresh))
    revision = put(client, fresh, before)
    validation(raw, "PutResourcePolicy", {"ResourceArn": fresh, "Policy": document(statement(fresh, Principal="*"))})
    assert got(client, fresh) == (before, revision)


def test_resources_need_not_be_this_table(client: Any, fresh: str) -> None:
    resources = ["*", fresh + "/index/i", fresh + "-other", "arn:aws:dynamodb:*:*:table/*"]
    put(client, fresh, document(statement(fresh, Resource=resources)))


def test_tables_and_streams_keep_to_their_own(client: Any, raw: RawClient) -> None:
    table = new_table(client, StreamSpecification=STREAM)
    stream = stream_of(client, table)
    id_of = {arn: arn.partition(f"{ACCOUNT}:")[2] for arn in (table, stream)}

    def refusal(resource: str, named: str, action: str) -> str | None:
        policy = document(statement(named, Action=action))
        return validation(raw, "PutResourcePolicy", {"ResourceArn": resource, "Policy": policy})

    sentence = DOCUMENT + 'The relative-id "{}" is invalid for ARN "{}"'
    assert refusal(table, stream, "dynamodb:GetItem") == sentence.format(id_of[stream], stream)
    assert refusal(stream, table, "dynamodb:GetRecords") == sentence.format(id_of[table], table)
    assert refusal(stream, stream, "dynamodb:GetItem") == sentence.format(id_of[stream], stream)
    invalid = DOCUMENT + 'The following action names are invalid: "dynamodb:ListStreams"'
    assert refusal(stream, stream, "dynamodb:ListStreams") == invalid
    put(client, stream, document(statement("*", Action="dynamodb:*")))


@pytest.mark.parametrize("size", [20_480, 20_481])
def test_a_document_holds_20_kilobytes_with_its_blanks(client: Any, raw: RawClient, fresh: str, size: int) -> None:
    policy = document(statement(fresh))
    padded = policy + " " * (size - len(policy))
    if size == 20_480:
        put(client, fresh, padded)
        assert got(client, fresh)[0] == policy
    else:
        assert validation(raw, "PutResourcePolicy", {"ResourceArn": fresh, "Policy": padded}) == (
            INVALID + "Maximum policy size of 20480 bytes exceeded"
        )


def test_bytes_count_and_not_characters(raw: RawClient, arn: str) -> None:
    request = {"ResourceArn": arn, "Policy": document(statement(arn, Sid="é" * 10_200))}
    sent = json.dumps(request | {"Policy": request["Policy"].replace("\\u00e9", "é")}, ensure_ascii=False).encode()
    assert len(request["Policy"].replace("\\u00e9", "é")) < 20_480
    assert raw("PutResourcePolicy", sent).json()["message"] == INVALID + "Maximum policy size of 20480 bytes exceeded"


# --- lockout ------------------------------------------------------------------------------------

LOCKOUTS: list[tuple[dict[str, Any], bool]] = [
    ({"Principal": "*"}, True),
    ({"Principal": {"AWS": ACCOUNT}}, True),
    ({"Action": "dynamodb:*"}, True),
    ({"Action": ["dynamodb:GetItem", "DYNAMODB:PUT*"]}, True),
    ({"Action": None, "NotAction": "dynamodb:GetItem"}, True),
    ({"Principal": None, "NotPrincipal": {"AWS": "111111111111"}}, True),
    ({"Resource": "arn:aws:dynamodb:*:*:table/*"}, True),
    ({"Action": "dynamodb:Put?esource*P?licy"}, True),
    ({"Resource": "arn:aws:dynamodb:*:*:table/*?"}, True),
    ({"Effect": "Allow", "Principal": {"AWS": ACCOUNT}}, False),
    ({"Resource": "arn:aws:dynamodb:*:*:table/[m]usic"}, False),
    ({"Resource": "arn:aws:dynamodb:*:*:table/?music"}, False),
    ({"Action": "dynamodb:DeleteResourcePolicy"}, False),
    ({"Action": None, "NotAction": "dynamodb:PutResourcePolicy"}, False),
    ({"Principal": {"AWS": "111111111111"}}, False),
    ({"Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:role/*"}}, False),
    ({"Principal": None, "NotPrincipal": {"AWS": ACCOUNT}}, False),
    ({"Resource": "arn:aws:dynamodb:us-east-1:000000000000:table/another"}, False),
    ({"Condition": {"StringEquals": {"aws:PrincipalArn": "x"}}}, False),
]


@pytest.mark.parametrize(("change", "is_locked_out"), LOCKOUTS)
def test_nobody_locks_himself_out_unasked(
    client: Any, raw: RawClient, arn: str, change: dict[str, Any], is_locked_out: bool
) -> None:
    denied = {"Effect": "Deny", "Principal": "*", "Action": "dynamodb:PutResourcePolicy", "Resource": "*"}
    request = {"ResourceArn": arn, "Policy": document(statement(arn, **(denied | change)))}
    if is_locked_out:
        for confirmed in ({}, {"ConfirmRemoveSelfResourceAccess": False}):
            assert fault(raw, "PutResourcePolicy", request | confirmed) == ("AccessDeniedException", LOCKED_OUT)
        client.put_resource_policy(**request, ConfirmRemoveSelfResourceAccess=True)
    else:
        client.put_resource_policy(**request)
    assert client.delete_resource_policy(ResourceArn=arn)["RevisionId"]


# --- resources ----------------------------------------------------------------------------------

START = "arn:aws:dynamodb:us-east-1:000000000000:table/"
BAD_ARNS = {
    "music": INVALID + "ARNs must start with 'arn:': music",
    "arn:aws": INVALID + "Provided Arn is not a DynamoDB resource arn: arn:aws",
    START + "music/backup/0170": INVALID + f"Provided Arn is not a DynamoDB resource arn: {START}music/backup/0170",
    "arn:aws:dynamodb:us-east-1:111111111111:table/music": (
        "This action is only supported by accounts that match the resource owner’s account."
    ),
    "arn:aws:dynamodb:eu-west-1:000000000000:table/music": INVALID
    + "Invalid resource Arn: arn:aws:dynamodb:eu-west-1:000000000000:table/music",
    "arn:aws-cn:dynamodb:us-east-1:000000000000:table/music": INVALID
    + "Invalid resource Arn: arn:aws-cn:dynamodb:us-east-1:000000000000:table/music",
    START + "music/index/i": INVALID
    + f"Invalid resource arn provided, only table or stream is accepted. Provided resource arn: {START}music/index/i",
}


@pytest.mark.parametrize("operation", ["GetResourcePolicy", "PutResourcePolicy", "DeleteResourcePolicy"])
class TestArns:
    """The rules of ResourceArn, the same for all three policy operations."""

    @pytest.mark.parametrize("bad", BAD_ARNS)
    def test_forms(self, raw: RawClient, operation: str, bad: str) -> None:
        request = {"ResourceArn": bad} | ({"Policy": document(statement("*"))} if operation.startswith("Put") else {})
        assert validation(raw, operation, request) == BAD_ARNS[bad]

    @pytest.mark.parametrize(
        ("part", "message"),
        [
            ("nothing.here", "Table: nothing.here not found"),
            ("nothing.here/stream/2026", "Table: nothing.here not found"),
            ("{name}/stream/2026", "Stream: 2026 not found for Table: {name}"),
        ],
    )
    def test_missing(self, raw: RawClient, arn: str, operation: str, part: str, message: str) -> None:
        name = arn.rpartition("/")[2]
        policy = document(statement("*", Action="dynamodb:*"))
        request = {"ResourceArn": START + part.format(name=name)}
        request |= {"Policy": policy} if operation.startswith("Put") else {}
        assert fault(raw, operation, request) == (
            "ResourceNotFoundException",
            "Requested resource not found: " + message.format(name=name),
        )

    def test_no_arn(self, raw: RawClient, operation: str) -> None:
        message = str(validation(raw, operation, {"Policy": "x"}))
        assert message == (
            "1 validation error detected: Value null at 'resourceArn' failed to satisfy constraint:"
            " Member must not be null"
        )
