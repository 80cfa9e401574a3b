"""Replies and errors of the operations on functions are Lambda's."""

import base64
import json
from typing import Any

import msgspec
import pytest

from hashrange import limits
from hashrange.aws_services.operation import Caller
from hashrange.functions import functions as functions_module
from hashrange.functions.api import concurrency, permissions
from hashrange.functions.api.operation import LambdaError
from hashrange.functions.api.registry import OPERATIONS
from tests.unit.functions.functions_world import CALLER, ECHO, ROLE, FunctionsWorld, make_zip, run_functions
from tests.unit.functions.world import PYTHON

OTHER = "def handler(event, context):\n    return 'other'\n"
ARN = "arn:aws:lambda:eu-west-1:000000000000:function:orders"

# --- descriptions -------------------------------------------------------------------------------


def test_a_created_function_is_described() -> None:
    async def test(world: FunctionsWorld) -> None:
        status, created, _ = await world.reply(
            "CreateFunction", FunctionName="orders", Runtime=PYTHON, Role=ROLE, Handler="app.handler",
            Code={"ZipFile": make_zip(app_py=ECHO)}, Environment={"Variables": {"TABLE": "t"}}, Architectures=["arm64"],
            VpcConfig={"SubnetIds": ["subnet-1"]}, TracingConfig={"Mode": "Active"}, LoggingConfig={"LogGroup": "mine"},
            EphemeralStorage={"Size": 1024}, SnapStart={"ApplyOn": "None"}, KMSKeyArn="arn:aws:kms:x", Layers=[],
            DeadLetterConfig={"TargetArn": ""}, Publish=False, PackageType="Zip",
        )  # fmt: skip
        assert status == 201
        for name in ("RevisionId", "RuntimeVersionConfig", "CodeSize"):
            assert created.pop(name)
        assert len(base64.b64decode(created.pop("CodeSha256"))) == 32
        assert created == {
            "FunctionName": "orders",
            "FunctionArn": ARN,
            "Runtime": PYTHON,
            "Role": ROLE,
            "Handler": "app.handler",
            "Description": "",
            "Timeout": 3,
            "MemorySize": 128,
            "LastModified": "2027-01-15T08:00:00.000+0000",
            "Version": "$LATEST",
            "TracingConfig": {"Mode": "Active"},
            "PackageType": "Zip",
            "Architectures": ["arm64"],
            "EphemeralStorage": {"Size": 1024},
            "SnapStart": {"ApplyOn": "None", "OptimizationStatus": "Off"},
            "LoggingConfig": {"LogFormat": "Text", "LogGroup": "mine"},
            "Environment": {"Variables": {"TABLE": "t"}},
            "VpcConfig": {
                "SubnetIds": ["subnet-1"],
                "SecurityGroupIds": [],
                "Ipv6AllowedForDualStack": False,
                "VpcId": "",
            },
            "KMSKeyArn": "arn:aws:kms:x",
            "State": "Pending",
            "StateReason": "The function is being created.",
            "StateReasonCode": "Creating",
        }

    run_functions(test)


def test_states_pass_at_once_without_a_delay() -> None:
    async def test(world: FunctionsWorld) -> None:
        assert (await world.create())["State"] == "Pending"
        shown = await world.call("GetFunctionConfiguration", FunctionName="orders")
        assert (shown["State"], shown["LastUpdateStatus"]) == ("Active", "Successful")
        updated = await world.call("UpdateFunctionConfiguration", FunctionName="orders", Description="d")
        assert (updated["State"], updated["LastUpdateStatus"], updated["LastUpdateStatusReasonCode"]) == (
            "Active", "InProgress", "Creating",
        )  # fmt: skip
        shown = await world.call("GetFunctionConfiguration", FunctionName="orders")
        assert (shown["LastUpdateStatus"], shown["Description"]) == ("Successful", "d")

    run_functions(test)


def test_states_last_as_long_as_the_delay() -> None:
    async def test(world: FunctionsWorld) -> None:
        update = {"FunctionName": "orders", "Description": "d"}
        await world.create()
        pending = (
            "The operation cannot be performed at this time. The function is currently in the following state: Pending"
        )
        world.clock.advance(9.5)
        assert await world.refused("Invoke", FunctionName="orders") == (409, "ResourceConflictException", pending)
        assert (await world.refused("UpdateFunctionConfiguration", **update))[2] == pending
        world.clock.advance(0.5)
        assert await world.invoke(event=1) == 1
        assert (await world.call("UpdateFunctionConfiguration", **update))["LastUpdateStatus"] == "InProgress"
        world.clock.advance(9.5)
        assert (await world.call("GetFunction", FunctionName="orders"))["Configuration"][
            "LastUpdateStatus"
        ] == "InProgress"
        assert (await world.refused("UpdateFunctionConfiguration", **update))[0] == 409
        assert await world.invoke(event=1) == 1
        world.clock.advance(0.5)
        await world.call("UpdateFunctionConfiguration", **update)

    run_functions(test, state_delay_seconds=10.0)


def test_names_arns_and_qualifiers() -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create(name=ARN)
        for text in ("orders", ARN, "function:orders", "000000000000:function:orders", "000000000000:orders"):
            shown = await world.call("GetFunctionConfiguration", FunctionName=text)
            assert shown["FunctionArn"] == ARN
        for members in ({"FunctionName": f"{ARN}:$LATEST"}, {"FunctionName": "orders", "Qualifier": "$LATEST"}):
            shown = await world.call("GetFunctionConfiguration", **members)
            assert (shown["FunctionArn"], shown["Version"]) == (f"{ARN}:$LATEST", "$LATEST")

    run_functions(test)


NAME_FAULTS = {
    "others": (
        404,
        "ResourceNotFoundException",
        "Function not found: arn:aws:lambda:eu-west-1:000000000000:function:others",
    ),
    "orders:7": (404, "ResourceNotFoundException", f"Function not found: {ARN}:7"),
    f"{ARN}:live": (404, "ResourceNotFoundException", f"Function not found: {ARN}:live"),
    "arn:aws:lambda:us-east-1:000000000000:function:orders": (
        404,
        "ResourceNotFoundException",
        "Functions from 'us-east-1' are not reachable in this region ('eu-west-1')",
    ),
    "arn:aws:lambda:eu-west-1:111122223333:function:orders": (403, "AccessDeniedException", "the account 111122223333"),
    "a b": (
        400,
        "ValidationException",
        (
            "1 validation error detected: Value 'a b' at 'functionName' failed to satisfy constraint: "
            r"Member must satisfy regular expression pattern: (arn:(aws[a-zA-Z-]*)?:lambda:)?"
        ),
    ),
    "ä": (400, "ValidationException", "Value 'ä' at 'functionName'"),
    "orders\n": (400, "ValidationException", "at 'functionName'"),
    "x" * 65: (400, "ValidationException", "Member must have length less than or equal to 64"),
    "a:" * 100_000: (400, "ValidationException", "at 'functionName'"),
    "arn:aws:s3:::bucket": (400, "ValidationException", "at 'functionName'"),
}


@pytest.mark.parametrize("name", NAME_FAULTS, ids=lambda name: name[:60])
def test_functions_that_are_not_there(name: str) -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create()
        for operation in OPERATIONS:
            fields = {field.encode_name: field for field in msgspec.structs.fields(operation.request)}
            if "FunctionName" not in fields or operation.name in ("CreateFunction", "GetProvisionedConcurrencyConfig"):
                continue
            others: dict[str, Any] = {
                "StatementId": "s",
                "Action": "lambda:InvokeFunction",
                "Principal": "*",
                "ReservedConcurrentExecutions": 1,
                "Name": "live",
            }
            required = {name: others[name] for name, field in fields.items() if field.required and name in others}
            with pytest.raises((LambdaError, msgspec.ValidationError)) as refusal:
                await world.reply(operation.name, FunctionName=name, **required)
            if isinstance(refusal.value, LambdaError):
                status, code, message = NAME_FAULTS[name]
                assert (refusal.value.http_status, refusal.value.code) == (status, code), operation.name
                assert message in refusal.value.message
                assert len(refusal.value.message) < 1500
            else:
                assert len(name) > 256, operation.name

    run_functions(test)


def test_a_qualifier_that_contradicts_the_name() -> None:
    async def test(world: FunctionsWorld) -> None:
        assert await world.refused("GetFunction", FunctionName="orders:1", Qualifier="2") == (
            400, "InvalidParameterValueException",
            "The derived qualifier from the function name does not match the specified qualifier.",
        )  # fmt: skip

    run_functions(test)


# --- what cannot be created ---------------------------------------------------------------------

CREATE_FAULTS: list[tuple[dict[str, Any], str, str]] = [
    (
        {"Role": "handlers"},
        "ValidationException",
        (
            r"1 validation error detected: Value 'handlers' at 'role' failed to satisfy constraint: "
            r"Member must satisfy regular expression pattern: arn:(aws[a-zA-Z-]*)?:iam::\d{12}:role/?[a-zA-Z_0-9+=,"
            r".@\-_/]+"
        ),
    ),
    ({"FunctionName": "orders:1"}, "", "versions and aliases are not supported"),
    ({"Publish": True}, "", "Publish is not supported: versions and aliases are not supported"),
    ({"PublishTo": "LATEST_PUBLISHED"}, "", "PublishTo is not supported"),
    (
        {"Runtime": "python2"},
        "",
        "Value python2 at 'runtime' failed to satisfy constraint: Member must satisfy enum value set: [nodejs18.x, ",
    ),
    ({"Runtime": "java21"}, "", "Functions of the runtime java21 do not run here"),
    (
        {"Runtime": None},
        "",
        "Runtime and Handler are mandatory parameters for functions created with deployment packages.",
    ),
    ({"Handler": ""}, "", "Runtime and Handler are mandatory"),
    ({"Handler": "a b"}, "ValidationException", "Value 'a b' at 'handler'"),
    ({"Handler": "a.b\0"}, "ValidationException", "at 'handler'"),
    ({"Code": {}}, "", "Please provide a source for function code."),
    ({"Code": {"ZipFile": b""}}, "", "Uploaded file must be a non-empty zip"),
    (
        {"Code": {"ZipFile": b"x"}},
        "",
        "Could not unzip uploaded file. Please check your file, then try to upload again.",
    ),
    ({"Code": {"S3Bucket": "bucket", "S3Key": "key"}}, "", "S3Bucket is not supported: code cannot be fetched from S3"),
    ({"Code": {"ImageUri": "image"}}, "", "container images are not run"),
    ({"PackageType": "Image"}, "", "container images are not run"),
    ({"ImageConfig": {}}, "", "container images are not run"),
    ({"Layers": ["arn:aws:lambda:eu-west-1:000000000000:layer:l:1"]}, "", "Layers is not supported"),
    (
        {"DeadLetterConfig": {"TargetArn": "arn:aws:sqs:eu-west-1:000000000000:q"}},
        "",
        "DeadLetterConfig is not supported",
    ),
    ({"LoggingConfig": {"LogFormat": "JSON"}}, "", "logs of functions have the format Text"),
    ({"LoggingConfig": {"SystemLogLevel": "WARN"}}, "", "logs of functions have the format Text"),
    ({"LoggingConfig": {"LogGroup": "a b"}}, "ValidationException", "at 'loggingConfig.logGroup'"),
    ({"FileSystemConfigs": [{}]}, "", "FileSystemConfigs is not supported"),
    ({"TenancyConfig": {}}, "", "TenancyConfig is not supported"),
    ({"CodeSigningConfigArn": "arn"}, "", "CodeSigningConfigArn is not supported"),
    ({"DurableConfig": {}}, "", "DurableConfig is not supported"),
    (
        {"Environment": {"Variables": {"AWS_REGION": "x", "OK": "1", "_HANDLER": "y"}}},
        "",
        (
            "contains reserved keys that are currently not supported for modification."
            " Reserved keys used in this request: AWS_REGION, _HANDLER"
        ),
    ),
    ({"Environment": {"Variables": {"1A": "x"}}}, "", "Map keys must satisfy constraint"),
    ({"Environment": {"Variables": {"AB": "\0"}}}, "", "contains a null character"),
    ({"Environment": {"Variables": {"AB": "x" * 4096}}}, "", "exceeded the 4KB limit"),
    ({"Tags": {"aws:x": "y"}}, "", "Tag keys starting with 'aws:' are reserved"),
    ({"Tags": {str(number): "" for number in range(51)}}, "", "exceeds the limit of 50 tags"),
]


@pytest.mark.parametrize(("members", "code", "message"), CREATE_FAULTS, ids=[str(one[0])[:50] for one in CREATE_FAULTS])
def test_functions_that_cannot_be_created(members: dict[str, Any], code: str, message: str) -> None:
    async def test(world: FunctionsWorld) -> None:
        with pytest.raises(LambdaError) as refusal:
            await world.create(**members)
        assert (refusal.value.http_status, refusal.value.code) == (400, code or "InvalidParameterValueException")
        assert message in refusal.value.message
        assert world.documents.content == {}

    run_functions(test)


def test_a_function_may_run_for_half_an_hour() -> None:
    async def test(world: FunctionsWorld) -> None:
        assert (await world.create(Timeout=1800))["Timeout"] == 1800
        changed = await world.call("UpdateFunctionConfiguration", FunctionName="orders", Timeout=901)
        assert changed["Timeout"] == 901
        with pytest.raises(msgspec.ValidationError, match="<= 1800"):
            await world.call("UpdateFunctionConfiguration", FunctionName="orders", Timeout=1801)
        with pytest.raises(msgspec.ValidationError, match="<= 1800"):
            await world.create("others", Timeout=1801)

    run_functions(test)


@pytest.mark.parametrize(
    "member", [{"RetentionPeriodInDays": 7}, {"ExecutionTimeout": 60}, {"KMSKeyArn": "arn:aws:kms:a"}]
)
def test_durable_functions_are_refused_by_name(member: dict[str, Any]) -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create()
        refusal = await world.refused("UpdateFunctionConfiguration", FunctionName="orders", DurableConfig=member)
        assert refusal[:2] == (400, "InvalidParameterValueException")
        assert refusal[2].startswith("DurableConfig is not supported")
        with pytest.raises(LambdaError, match="DurableConfig is not supported"):
            await world.create("others", DurableConfig=member)

    run_functions(test)


def test_two_faults_at_once_are_reported_in_order() -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create()
        for members, message in (
            ({"Role": "r", "Publish": True}, "at 'role'"),
            ({"Publish": True, "Layers": ["l"]}, "Publish"),
            ({"Layers": ["l"], "Code": {}}, "Layers"),
            ({"Code": {}, "Runtime": "x"}, "source for function code"),
            ({"Runtime": "x", "Tags": {"aws:": ""}}, "at 'runtime'"),
            ({"Tags": {"aws:": ""}}, "reserved"),
            ({"Code": {"ZipFile": b"x"}}, "already exist"),
        ):
            with pytest.raises(LambdaError, match=message):
                await world.create(**members)

    run_functions(test)


def test_more_code_than_an_account_may_store(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create()
        monkeypatch.setattr(functions_module, "CODE_STORAGE_BYTES_MAX", 10)
        with pytest.raises(LambdaError, match="Code storage limit exceeded") as refusal:
            await world.create("others")
        assert refusal.value.code == "CodeStorageExceededException"

    run_functions(test)


def test_revisions() -> None:
    async def test(world: FunctionsWorld) -> None:
        first = (await world.create())["RevisionId"]
        update = {"FunctionName": "orders", "Description": "d"}
        second = (await world.call("UpdateFunctionConfiguration", **update, RevisionId=first))["RevisionId"]
        assert second != first
        for operation, members in (
            ("UpdateFunctionConfiguration", update),
            ("UpdateFunctionCode", {"FunctionName": "orders", "ZipFile": make_zip(app_py=ECHO)}),
        ):
            assert await world.refused(operation, **members, RevisionId=first) == (
                412,
                "PreconditionFailedException",
                (
                    "The RevisionId provided does not match the latest RevisionId. Call the GetFunction/GetAlias API "
                    "to retrieve the latest RevisionId"
                ),
            )
        shown = await world.call("GetFunctionConfiguration", FunctionName="orders")
        assert shown["RevisionId"] == second

    run_functions(test)


def test_only_functions_are_deleted_and_not_their_version() -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create()
        assert (await world.refused("DeleteFunction", FunctionName="orders", Qualifier="$LATEST"))[2] == (
            "$LATEST version cannot be deleted without deleting the function."
        )
        assert (await world.reply("DeleteFunction", FunctionName="orders"))[:2] == (204, None)
        assert (await world.refused("DeleteFunction", FunctionName="orders"))[0] == 404

    run_functions(test)


# --- the zip ------------------------------------------------------------------------------------


def test_the_zip_can_be_fetched_for_ten_minutes() -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create()
        code = (await world.call("GetFunction", FunctionName="orders"))["Code"]
        assert code["RepositoryType"] == "S3"
        link = code["Location"].removeprefix("http://localhost/code/")
        assert world.functions.linked_zip(link) == make_zip(app_py=ECHO)
        for other in ("", "x", link[:-4], link[4:], "é", "A" * 100, link + "\n\n"):
            assert world.functions.linked_zip(other) is None or other.strip() == link
        await world.call("UpdateFunctionCode", FunctionName="orders", ZipFile=make_zip(app_py=OTHER))
        assert world.functions.linked_zip(link) is None, "the link is one of the former zip"
        link = (await world.call("GetFunction", FunctionName="orders"))["Code"]["Location"].rpartition("/")[2]
        assert world.functions.linked_zip(link) == make_zip(app_py=OTHER)
        world.clock.advance_all(limits.CODE_LINK_SECONDS)
        assert world.functions.linked_zip(link) is None
        location = (await world.call("GetFunction", FunctionName="orders"))["Code"]["Location"]
        link = location.removeprefix("http://localhost/code/")
        await world.call("DeleteFunction", FunctionName="orders")
        assert world.functions.linked_zip(link) is None

    run_functions(test, code_url="http://localhost/code/")


# --- lists --------------------------------------------------------------------------------------


def store_functions(world: FunctionsWorld, count: int) -> None:
    """Store many functions without starting any: copies of `orders`."""
    (document,) = [value for name, value in world.documents.content.items() if name.startswith("function/")]
    described = json.loads(document)
    copies = {f"f{number:05}": described | {"name": f"f{number:05}"} for number in range(count)}
    world.documents.replace(
        {f"function/{'/'.join(CALLER)}/{name}": json.dumps(one).encode() for name, one in copies.items()}
    )


def test_a_thousand_functions_are_listed_in_pages() -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create()
        store_functions(world, 1_001)
        names: list[str] = []
        marker: dict[str, str] = {}
        while True:
            reply = await world.call("ListFunctions", **marker)
            names += [one["FunctionName"] for one in reply["Functions"]]
            if "NextMarker" not in reply:
                break
            assert len(reply["Functions"]) == 50
            marker = {"Marker": reply["NextMarker"]}
        assert names == [f"f{number:05}" for number in range(1_001)]
        assert [one["FunctionName"] for one in (await world.call("ListFunctions", MaxItems=2))["Functions"]] == names[
            :2
        ]

    run_functions(test)


def test_lists_have_no_states() -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create()
        (listed,) = (await world.call("ListFunctions"))["Functions"]
        (version,) = (await world.call("ListVersionsByFunction", FunctionName="orders"))["Versions"]
        (all_versions,) = (await world.call("ListFunctions", FunctionVersion="ALL"))["Functions"]
        assert not {"State", "LastUpdateStatus", "RuntimeVersionConfig"} & {*listed, *version}
        assert (listed["FunctionArn"], version["FunctionArn"]) == (ARN, f"{ARN}:$LATEST")
        assert version == all_versions
        assert (await world.call("ListFunctions", MasterRegion="ALL"))["Functions"] == []

    run_functions(test)


# --- tags, policy, concurrency ------------------------------------------------------------------


def test_tags() -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create(Tags={"a": "1"})
        assert (await world.reply("TagResource", Resource=ARN, Tags={"b": "2", "a": ""}))[:2] == (204, None)
        await world.call("UntagResource", Resource=ARN, TagKeys=["b", "never"])
        assert await world.call("ListTags", Resource=ARN) == {"Tags": {"a": ""}}
        many = {str(number): "" for number in range(50)}
        assert "limit of 50 tags" in (await world.refused("TagResource", Resource=ARN, Tags=many))[2]
        assert (
            "Tags on function aliases and versions are not supported"
            in (await world.refused("ListTags", Resource=f"{ARN}:$LATEST"))[2]
        )
        mapping = "arn:aws:lambda:eu-west-1:000000000000:event-source-mapping:4b4d2f0c-0f4e-4a8f-9d0e-3a1b2c3d4e5f"
        assert (await world.refused("ListTags", Resource=mapping))[1] == "InvalidParameterValueException"
        assert (await world.refused("ListTags", Resource=ARN + "s"))[:2] == (404, "ResourceNotFoundException")

    run_functions(test)


def test_a_policy() -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create()
        assert await world.refused("GetPolicy", FunctionName="orders") == (
            404, "ResourceNotFoundException", "The resource you requested does not exist.",
        )  # fmt: skip
        add = {"FunctionName": "orders", "StatementId": "bucket", "Action": "lambda:InvokeFunction"}
        status, added, _ = await world.reply(
            "AddPermission",
            **add,
            Principal="s3.amazonaws.com",
            SourceArn="arn:aws:s3:::bucket",
            SourceAccount="000000000000",
        )
        statement = {
            "Sid": "bucket",
            "Effect": "Allow",
            "Principal": {"Service": "s3.amazonaws.com"},
            "Action": "lambda:InvokeFunction",
            "Resource": ARN,
            "Condition": {
                "StringEquals": {"AWS:SourceAccount": "000000000000"},
                "ArnLike": {"AWS:SourceArn": "arn:aws:s3:::bucket"},
            },
        }
        assert (status, json.loads(added["Statement"])) == (201, statement)
        policy = await world.call("GetPolicy", FunctionName="orders")
        assert json.loads(policy["Policy"]) == {"Version": "2012-10-17", "Id": "default", "Statement": [statement]}
        assert await world.refused("AddPermission", **add, Principal="*") == (
            409,
            "ResourceConflictException",
            (
                "The statement id (bucket) provided already exists. Please provide a new statement id, or "
                "remove the existing statement."
            ),
        )
        other = {"FunctionName": "orders", "StatementId": "bucket", "RevisionId": "other"}
        assert (await world.refused("RemovePermission", **other))[:2] == (412, "PreconditionFailedException")
        await world.call("RemovePermission", **{**other, "RevisionId": policy["RevisionId"]})
        assert await world.refused("RemovePermission", FunctionName="orders", StatementId="bucket") == (
            404, "ResourceNotFoundException", "Statement bucket is not found in resource policy.",
        )  # fmt: skip

    run_functions(test)


def add_request(**members: Any) -> permissions.AddPermissionRequest:
    usual = {"FunctionName": "f", "StatementId": "s", "Action": "lambda:InvokeFunction", "Principal": "*"}
    return permissions.AddPermissionRequest(**(usual | members))


@pytest.mark.parametrize(
    ("principal", "expected"),
    [
        ("*", "*"),
        ("111122223333", {"AWS": "arn:aws:iam::111122223333:root"}),
        ("arn:aws:iam::111122223333:role/x", {"AWS": "arn:aws:iam::111122223333:role/x"}),
        ("events.amazonaws.com", {"Service": "events.amazonaws.com"}),
    ],
)
def test_principals(principal: str, expected: Any) -> None:
    request = add_request(Principal=principal)
    permissions.check_permission(request)
    assert permissions.make_statement(request, ARN) == {
        "Sid": "s", "Effect": "Allow", "Principal": expected, "Action": "lambda:InvokeFunction", "Resource": ARN,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"Principal": "nobody"}, "The provided principal was invalid. Please check the principal and try again."),
        ({"StatementId": "a b"}, "Value 'a b' at 'statementId' failed"),
        ({"Action": "s3:GetObject"}, "at 'action'"),
        ({"SourceAccount": "1"}, "at 'sourceAccount'"),
        ({"SourceArn": "bucket"}, "at 'sourceArn'"),
    ],
)
def test_permissions_that_cannot_be_added(members: dict[str, Any], message: str) -> None:
    with pytest.raises(LambdaError) as refusal:
        permissions.check_permission(add_request(**members))
    assert message in refusal.value.message


def test_a_policy_that_is_too_long() -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create()
        permission = {
            "FunctionName": "orders", "Action": "lambda:InvokeFunction", "Principal": "s3.amazonaws.com",
            "SourceArn": "arn:aws:s3:::" + "x" * 9000,
        }  # fmt: skip
        await world.call("AddPermission", **permission, StatementId="a")
        await world.call("AddPermission", **permission, StatementId="b")
        status, code, message = await world.refused("AddPermission", **permission, StatementId="c")
        assert (status, code) == (400, "PolicyLengthExceededException")
        assert message.endswith("is bigger than the limit (20480).")

    run_functions(test)


def test_reserved_executions(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create()
        await world.create("others")
        assert await world.call("GetFunctionConcurrency", FunctionName="orders") == {}
        reserved = {"ReservedConcurrentExecutions": 500}
        assert await world.call("PutFunctionConcurrency", FunctionName="orders", **reserved) == reserved
        assert await world.call("GetFunctionConcurrency", FunctionName="orders") == reserved
        assert (await world.call("GetFunction", FunctionName="orders"))["Concurrency"] == reserved
        put = {"FunctionName": "others", "ReservedConcurrentExecutions": 401}
        assert await world.refused("PutFunctionConcurrency", **put) == (
            400,
            "InvalidParameterValueException",
            (
                "Specified ReservedConcurrentExecutions for function decreases account's UnreservedConcurrentExecution "
                "below its minimum value of [100]."
            ),
        )
        await world.call("PutFunctionConcurrency", FunctionName="orders", ReservedConcurrentExecutions=900)
        settings = await world.call("GetAccountSettings")
        assert settings["AccountLimit"]["UnreservedConcurrentExecutions"] == 100
        assert settings["AccountUsage"]["FunctionCount"] == 2
        assert (await world.reply("DeleteFunctionConcurrency", FunctionName="orders"))[:2] == (204, None)
        assert concurrency.reserved_by(world.functions, CALLER) == 0

    run_functions(test)


def test_what_tools_ask_for() -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create()
        name = {"FunctionName": "orders"}
        assert await world.call("GetFunctionCodeSigningConfig", **name) == name
        assert await world.call("GetFunctionRecursionConfig", **name) == {"RecursiveLoop": "Allow"}
        assert await world.call("GetRuntimeManagementConfig", **name) == {
            "UpdateRuntimeOn": "Auto", "FunctionArn": f"{ARN}:$LATEST",
        }  # fmt: skip

    run_functions(test)


# --- Invoke -------------------------------------------------------------------------------------


def test_an_invocation_and_its_headers() -> None:
    async def test(world: FunctionsWorld) -> None:
        code = (
            "def handler(event, context):\n    print('seen')\n    if event == 'fail': raise LookupError('no order')\n"
            "    return [event, context.client_context and context.client_context.custom]\n"
        )
        await world.create(code=code)
        status, body, headers = await world.reply("Invoke", FunctionName="orders", Payload=b'{"a": 1}', LogType="Tail")
        assert (status, body) == (200, b'[{"a": 1}, null]')
        log = base64.b64decode(headers["X-Amz-Log-Result"]).decode().splitlines()
        assert log[0].startswith("START RequestId: ")
        assert log[1] == "seen"
        assert set(headers) == {"x-amzn-RequestId", "X-Amz-Executed-Version", "X-Amz-Log-Result"}
        assert headers["x-amzn-RequestId"] == log[0].split()[2]
        status, body, headers = await world.reply("Invoke", FunctionName="orders", Payload=b'"fail"', LogType="None")
        assert (status, headers["X-Amz-Executed-Version"], headers["X-Amz-Function-Error"]) == (
            200,
            "$LATEST",
            "Unhandled",
        )
        assert set(headers) == {"x-amzn-RequestId", "X-Amz-Executed-Version", "X-Amz-Function-Error"}
        assert json.loads(body)["errorMessage"] == "no order"
        context = base64.b64encode(b'{"custom": {"b": 2}}').decode()
        assert await world.invoke(ClientContext=context) == [None, {"b": 2}]
        status, body, _ = await world.reply("Invoke", FunctionName="orders")
        assert body == b"[{}, null]"
        assert (await world.reply("Invoke", FunctionName="orders", InvocationType="DryRun"))[:2] == (204, b"")

    run_functions(test)


@pytest.mark.parametrize(
    ("members", "status", "code", "message"),
    [
        ({"Payload": b"{"}, 400, "InvalidRequestContentException", "Could not parse request body into json: "),
        ({"Payload": b'"\xff"'}, 400, "InvalidRequestContentException", "Could not parse request body into json: "),
        ({"Payload": b"1 2"}, 400, "InvalidRequestContentException", "Could not parse request body into json: "),
        ({"Payload": b"[" * 100_000}, 400, "InvalidRequestContentException", "it is nested too deeply"),
        (
            {"Payload": b'"' + b"x" * 6 * 1024 * 1024 + b'"'},
            413,
            "RequestEntityTooLargeException",
            "6291458 byte payload is too large for the RequestResponse invocation type (limit 6291456 bytes)",
        ),
        (
            {"Payload": b'"' + b"x" * 1024 * 1024 + b'"', "InvocationType": "Event"},
            413,
            "RequestEntityTooLargeException",
            "1048578 byte payload is too large for the Event invocation type (limit 1048576 bytes)",
        ),
        (
            {"ClientContext": "{}"},
            400,
            "InvalidRequestContentException",
            "Client context must be a valid Base64-encoded JSON object.",
        ),
        ({"ClientContext": "WzFd"}, 400, "InvalidRequestContentException", "Client context must be"),
        ({"ClientContext": "é"}, 400, "InvalidRequestContentException", "Client context must be"),
        ({"TenantId": "t"}, 400, "InvalidParameterValueException", "TenantId is not supported"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_invocations_that_cannot_begin(members: dict[str, Any], status: int, code: str, message: str) -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create()
        refusal = await world.refused("Invoke", FunctionName="orders", **members)
        assert refusal[:2] == (status, code)
        assert refusal[2].startswith(message) or message in refusal[2]

    run_functions(test)


def test_a_caller_of_another_account_finds_nothing() -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create()
        other = Caller("111122223333", "eu-west-1")
        assert (await world.refused("Invoke", other, FunctionName="orders"))[0] == 404
        assert (await world.refused("Invoke", other, FunctionName=ARN))[0] == 403

    run_functions(test)
