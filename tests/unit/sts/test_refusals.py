"""Which requests does STS refuse, in which words, and which fault first?"""

import base64
import json
from hashlib import sha512
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from hashrange.testing import Database

ROLE = "arn:aws:iam::111122223333:role/deploy"
GOOD: dict[str, Any] = {"RoleArn": ROLE, "RoleSessionName": "anna"}
ARN_PATTERN = r"[\u0009\u000A\u000D\u0020-\u007E\u0085\u00A0-\uD7FF\uE000-\uFFFD\u10000-\u10FFFF]+"
CONSTRAINT = "failed to satisfy constraint: Member must"
UNCHECKED = Config(parameter_validation=False, retries={"total_max_attempts": 1})


@pytest.fixture
def sts(database: Database) -> Any:
    """A client that sends what it is told."""
    return database.client("sts", config=UNCHECKED)


def refusal(function: Any, **members: Any) -> tuple[int, str, str]:
    with pytest.raises(ClientError) as error:
        function(**members)
    reply = error.value.response
    assert reply["Error"]["Type"] == "Sender"
    return reply["ResponseMetadata"]["HTTPStatusCode"], reply["Error"]["Code"], reply["Error"]["Message"]


def validation(*violations: str) -> tuple[int, str, str]:
    """What a request with these violations is answered."""
    errors = "1 validation error" if len(violations) == 1 else f"{len(violations)} validation errors"
    return 400, "ValidationError", f"{errors} detected: {'; '.join(violations)}"


@pytest.mark.parametrize(
    ("members", "violations"),
    [
        (
            {},
            [
                f"Value null at 'roleArn' {CONSTRAINT} not be null",
                f"Value null at 'roleSessionName' {CONSTRAINT} not be null",
            ],
        ),
        (
            {"RoleArn": "", "RoleSessionName": "a"},
            [
                f"Value '' at 'roleArn' {CONSTRAINT} satisfy regular expression pattern: {ARN_PATTERN}",
                f"Value '' at 'roleArn' {CONSTRAINT} have length greater than or equal to 20",
                f"Value 'a' at 'roleSessionName' {CONSTRAINT} have length greater than or equal to 2",
            ],
        ),
        (
            GOOD | {"RoleSessionName": "a<b>&'c"},
            [f"Value 'a<b>&'c' at 'roleSessionName' {CONSTRAINT} satisfy regular expression pattern: [\\w+=,.@-]*"],
        ),
        (
            GOOD | {"RoleSessionName": "s" * 65},
            [f"Value '{'s' * 65}' at 'roleSessionName' {CONSTRAINT} have length less than or equal to 64"],
        ),
        (
            GOOD | {"DurationSeconds": 899},
            [f"Value '899' at 'durationSeconds' {CONSTRAINT} have value greater than or equal to 900"],
        ),
        (
            GOOD | {"DurationSeconds": 43_201},
            [f"Value '43201' at 'durationSeconds' {CONSTRAINT} have value less than or equal to 43200"],
        ),
        (
            GOOD
            | {"ExternalId": "x", "TokenCode": "12345", "SourceIdentity": "aws:x", "MinimumSessionTokenSize": 4097},
            [
                f"Value 'x' at 'externalId' {CONSTRAINT} have length greater than or equal to 2",
                f"Value '12345' at 'tokenCode' {CONSTRAINT} have length greater than or equal to 6",
                f"Value 'aws:x' at 'sourceIdentity' {CONSTRAINT} satisfy regular expression pattern: [\\w+=,.@-]*",
                f"Value '4097' at 'minimumSessionTokenSize' {CONSTRAINT} have value less than or equal to 4096",
            ],
        ),
        (
            GOOD | {"Tags": [{"Key": "te|am", "Value": "ok"}, {"Key": "ü 1"}], "TransitiveTagKeys": [""]},
            [
                (
                    f"Value 'te|am' at 'tags.1.member.key' {CONSTRAINT} satisfy regular expression pattern:"
                    r" [\p{L}\p{Z}\p{N}_.:/=+\-@]+"
                ),
                f"Value null at 'tags.2.member.value' {CONSTRAINT} not be null",
                (
                    f"Value '' at 'transitiveTagKeys.1.member' {CONSTRAINT} satisfy regular expression pattern:"
                    r" [\p{L}\p{Z}\p{N}_.:/=+\-@]+"
                ),
                f"Value '' at 'transitiveTagKeys.1.member' {CONSTRAINT} have length greater than or equal to 1",
            ],
        ),
        (
            GOOD | {"Tags": [{"Key": str(number), "Value": ""} for number in range(51)]},
            [f"Value '51 members' at 'tags' {CONSTRAINT} have length less than or equal to 50"],
        ),
    ],
)
def test_constraints_are_reported_together_in_the_order_of_the_model(
    sts: Any, members: dict[str, Any], violations: list[str]
) -> None:
    assert refusal(sts.assume_role, **members) == validation(*violations)


@pytest.mark.parametrize(
    "arn",
    [
        "arn:aws:iam::111122223333:user/deploy",
        "arn:aws:iam::11112222333:role/deploy-it",
        "arn:aws:iam:eu-west-1:111122223333:role/deploy",
        "arn:aws:sts::111122223333:assumed-role/deploy/anna",
        "arn:aws:iam::111122223333:role/",
        "arn:aws:iam::111122223333:role/a b",
        "arn:aws:iam::111122223333:role/" + "x" * 65,
        "arn:aws:iam::١١١١٢٢٢٢٣٣٣٣:role/deploy",
        "deploy is no ARN at all",
    ],
)
def test_only_roles_are_assumed(sts: Any, arn: str) -> None:
    assert refusal(sts.assume_role, RoleArn=arn, RoleSessionName="anna") == (
        400,
        "ValidationError",
        "Request ARN is invalid",
    )


def test_policies_and_tags(sts: Any) -> None:
    policy = json.dumps({"Version": "2012-10-17", "Statement": []})
    tags = [{"Key": "team", "Value": "shop"}, {"Key": "Größe", "Value": ""}]
    reply = sts.assume_role(
        **GOOD, Policy=policy, PolicyArns=[{"arn": "arn:aws:iam::aws:policy/ReadOnlyAccess"}], Tags=tags,
        TransitiveTagKeys=["TEAM"], ExternalId="a:b/c",
    )  # fmt: skip
    assert 0 < reply["PackedPolicySize"] < 20
    assert sts.assume_role(**GOOD, Tags=tags)["PackedPolicySize"] < reply["PackedPolicySize"]
    for members, code, message in (
        ({"Policy": "nonsense"}, "MalformedPolicyDocument", "The policy is not in the valid JSON format."),
        ({"Policy": "[" * 2_000}, "MalformedPolicyDocument", "The policy is not in the valid JSON format."),
        (
            {"Policy": '{"a":"' + "x" * 2_741 + '"}'},
            "PackedPolicyTooLarge",
            "Packed policy consumes 135% of allotted space, please use smaller policy.",
        ),
        (
            {"PolicyArns": [{"arn": "arn:aws:iam::aws:policy/ReadOnlyAccess"}] * 11},
            "ValidationError",
            "The number of policy ARNs must be at most 10.",
        ),
        (
            {"Tags": [*tags, {"Key": "Team", "Value": "x"}]},
            "ValidationError",
            "Duplicate tag keys found. Please note that Tag keys are case insensitive.",
        ),
        (
            {"Tags": [{"Key": "aws:x", "Value": "x"}]},
            "ValidationError",
            "Tag keys must not begin with aws:, as aws:x does.",
        ),
        (
            {"TransitiveTagKeys": ["team"]},
            "ValidationError",
            "The transitive tag key team is none of the session tags.",
        ),
        (
            {"ProvidedContexts": [{"ProviderArn": "arn:aws:iam::aws:contextProvider/x", "ContextAssertion": "abcd"}]},
            "ValidationError",
            "Hashrange does not support ProvidedContexts.",
        ),
    ):
        assert refusal(sts.assume_role, **GOOD, **members) == (400, code, message)


def test_tags_that_need_too_much_space(sts: Any) -> None:
    tags = [{"Key": str(number), "Value": sha512(b"%d" % number).hexdigest()} for number in range(50)]
    status, code, message = refusal(sts.assume_role, **GOOD, Tags=tags)
    assert (status, code) == (400, "PackedPolicyTooLarge")
    assert message.startswith("Packed size of session tags consumes ")


def test_numbers_that_are_none(sts: Any) -> None:
    for value in ("soon", "1.5", "9" * 5_000, ""):
        status, code, message = refusal(sts.get_session_token, DurationSeconds=value)
        assert (status, code) == (400, "ValidationError"), value
        assert "urationSeconds" in message


def test_the_form_of_access_keys(sts: Any) -> None:
    for key, violation in (
        (None, f"Value null at 'accessKeyId' {CONSTRAINT} not be null"),
        ("111122223333", f"Value '111122223333' at 'accessKeyId' {CONSTRAINT} have length greater than or equal to 16"),
        (
            "A" * 15 + "-",
            f"Value '{'A' * 15}-' at 'accessKeyId' {CONSTRAINT} satisfy regular expression pattern: [\\w]*",
        ),
    ):
        members = {} if key is None else {"AccessKeyId": key}
        assert refusal(sts.get_access_key_info, **members) == validation(violation)


@pytest.mark.parametrize(
    ("operation", "members"),
    [("get_federation_token", {"Name": "anna"}), ("decode_authorization_message", {"EncodedMessage": "x"})],
)
def test_operations_that_are_not_served_say_so(sts: Any, operation: str, members: dict[str, str]) -> None:
    name = "".join(part.title() for part in operation.split("_"))
    assert refusal(getattr(sts, operation), **members) == (
        400,
        "UnsupportedOperationException",
        f"Hashrange does not support {name} yet.",
    )


# --- web identities ------------------------------------------------------------------------------------


def web_token(claims: object, parts: int = 3) -> str:
    """A JSON web token whose signature means nothing."""
    texts = [json.dumps({"alg": "RS256"}), json.dumps(claims), "signature", "more"]
    return ".".join(base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode() for text in texts[:parts])


CLAIMS = {"iss": "https://tokens.example.com", "sub": "repo:shop/api", "aud": ["sts.amazonaws.com"], "exp": 4e9}


def test_a_role_for_a_web_identity(sts: Any, database: Database) -> None:
    reply = sts.assume_role_with_web_identity(**GOOD, WebIdentityToken=web_token(CLAIMS))
    assert (reply["Provider"], reply["Audience"], reply["SubjectFromWebIdentityToken"]) == (
        "https://tokens.example.com",
        "sts.amazonaws.com",
        "repo:shop/api",
    )
    keys = reply["Credentials"]
    client = database.client(
        "sts",
        aws_access_key_id=keys["AccessKeyId"],
        aws_secret_access_key=keys["SecretAccessKey"],
        aws_session_token=keys["SessionToken"],
    )
    assert client.get_caller_identity()["Arn"] == "arn:aws:sts::111122223333:assumed-role/deploy/anna"


@pytest.mark.parametrize(
    ("token", "code", "message"),
    [
        ("abcd", "InvalidIdentityToken", "The ID Token provided is not a valid JWT."),
        (web_token(CLAIMS, 2), "InvalidIdentityToken", "The ID Token provided is not a valid JWT."),
        (web_token([]), "InvalidIdentityToken", "The ID Token provided is not a valid JWT."),
        (web_token({"exp": "x"}), "InvalidIdentityToken", "The ID Token provided is not a valid JWT."),
        ("a.é.c", "InvalidIdentityToken", "The ID Token provided is not a valid JWT."),
        (web_token({"iss": "x", "sub": "y"}), "InvalidIdentityToken", "Missing a required claim: exp"),
        (web_token(CLAIMS | {"exp": 1_700_000_000}), "ExpiredTokenException", "Token expired: current date/time "),
    ],
)
def test_tokens_that_are_refused(sts: Any, token: str, code: str, message: str) -> None:
    status, found, text = refusal(sts.assume_role_with_web_identity, **GOOD, WebIdentityToken=token)
    assert (status, found) == (400, code)
    assert text.startswith(message)
