"""Lambda's operations against botocore's service model: methods, paths, members, constraints,
and the status and members of errors.

The tests iterate over the registries, so an operation that is added there is compared too.
Each difference is listed here with its reason.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.loaders import Loader

from hashrange.aws_services.operation import Operation
from hashrange.functions.api.api_paths import API_PATHS
from hashrange.functions.api.operation import RestWire
from hashrange.functions.api.registry import OPERATIONS as FUNCTION_OPERATIONS
from hashrange.server.protocols.rest_json.replies import MESSAGE_IN_CAPITALS
from hashrange.server.protocols.rest_json.routes import Routes
from hashrange.triggers.api.registry import OPERATIONS as MAPPING_OPERATIONS
from hashrange.triggers.api.requests import ARN_PATTERN
from hashrange.wire.shape import Bounds, Shape, structure_of

SOURCE = Path(__file__).parents[3] / "src" / "hashrange"
MODEL: dict[str, Any] = Loader().load_service_model("lambda", "service-2", "2015-03-31")
SHAPES: dict[str, dict[str, Any]] = MODEL["shapes"]
OPERATIONS: dict[str, Operation[RestWire]] = {one.name: one for one in (*FUNCTION_OPERATIONS, *MAPPING_OPERATIONS)}

REGION_OF_MODEL = r"(eusc-)?[a-z]{2}((-gov)|(-iso([a-z]?)))?-[a-z]+-\d{1}"
REGION_OF_OURS = ARN_PATTERN.partition(":([a-zA-Z0-9\\-])+:(")[2].partition(")?:")[0]
"""Regions of local clients have any name."""

PATTERNS_CHECKED_BY_OPERATIONS = {
    "NamespacedFunctionName": "functions/names.py: a Region in a whole ARN has any name",
    "TagKey": "the pattern has classes of characters that Python's regular expressions lack",
    "TagValue": "as TagKey",
    "Pattern": "matches every text",
}
"""Shape of the model whose pattern the request struct does not declare → where it is checked, or why it is not."""
KINDS = {
    "string": {"String"},
    "boolean": {"Boolean"},
    "integer": {"Integer"},
    "long": {"Long"},
    "double": {"Double"},
    "float": {"Double"},
    "timestamp": {"Double"},
    "blob": {"Blob"},
    "list": {"List"},
    "map": {"Map"},
    "structure": {"Structure"},
}
STATUSES = {"DeleteFunction": 204}
"""Operation whose replies have a status of their own: the model lets the reply tell it."""
OUR_ERRORS = {
    "AccessDeniedException": 403,
    "MalformedHttpRequestException": 400,
    "RequestEntityTooLargeException": 413,
    "UnknownOperationException": 404,
    "UnsupportedOperationException": 400,
    "ValidationException": 400,
}
"""Errors that the model does not declare: all but the fifth are in Lambda's list of common errors,
or in reports of users."""


def members_of(name: str) -> dict[str, dict[str, Any]]:
    """Member → its declaration, for the input of an operation."""
    shape = MODEL["operations"][name].get("input")
    return {} if shape is None else SHAPES[shape["shape"]]["members"]


def required_of(name: str) -> set[str]:
    shape = MODEL["operations"][name].get("input")
    return set() if shape is None else set(SHAPES[shape["shape"]].get("required", ()))


# --- paths ----------------------------------------------------------------------------------------


def test_the_table_of_paths_is_the_models() -> None:
    assert {
        name: (one["http"]["method"], one["http"]["requestUri"]) for name, one in MODEL["operations"].items()
    } == API_PATHS


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_an_operation_has_the_models_method_path_and_status(name: str) -> None:
    operation, http = OPERATIONS[name], MODEL["operations"][name]["http"]
    assert (operation.wire.method, operation.wire.path) == (http["method"], http["requestUri"])
    assert operation.wire.status == STATUSES.get(name, http["responseCode"])


@pytest.mark.parametrize("name", sorted(API_PATHS))
def test_each_operation_is_found_by_its_own_path(name: str) -> None:
    method, path = API_PATHS[name]
    routes = Routes(OPERATIONS.values())
    url = re.sub(r"\{(\w+)\}", r"a%2F\1", path).encode()
    found = routes.find(method, url)
    assert found is not None
    route, texts = found
    assert (route.name, route.operation) == (name, OPERATIONS.get(name))
    assert texts == {text: f"a/{text}" for text in re.findall(r"\{(\w+)\}", path)}


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_members_are_taken_from_the_models_places(name: str) -> None:
    operation = OPERATIONS[name]
    places: dict[str, dict[str, str]] = {"uri": {}, "querystring": {}, "header": {}}
    for member, declared in members_of(name).items():
        if "location" in declared:
            places[declared["location"]][declared["locationName"]] = member
    assert places["uri"] == {text: text for text in re.findall(r"\{(\w+)\}", operation.wire.path)}
    assert dict(operation.wire.query) == places["querystring"]
    assert dict(operation.wire.headers) == {header.lower(): member for header, member in places["header"].items()}
    shape = MODEL["operations"][name].get("input")
    payload = None if shape is None else SHAPES[shape["shape"]].get("payload")
    assert operation.wire.raw_body == payload


# --- members and constraints ----------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_an_operation_has_the_models_members(name: str) -> None:
    shape = structure_of(OPERATIONS[name].request)
    assert {member.name for member in shape.members} == set(members_of(name))
    assert {member.name for member in shape.members if member.is_required} == required_of(name)


def differences(ours: Shape, model_name: str, path: str) -> Iterator[tuple[str, str, Any, Any]]:
    """Yield (path, what, ours, the model's) for each difference of a value's type and constraints."""
    model = SHAPES[model_name]
    if ours.kind not in KINDS[model["type"]]:
        yield path, "kind", ours.kind, model["type"]
        return
    yield from bounds_differences(ours.bounds, model_name, path)
    if model["type"] == "list":
        assert ours.member is not None
        yield from differences(ours.member, model["member"]["shape"], path + "[]")
    elif model["type"] == "map":
        assert ours.member is not None
        yield from bounds_differences(ours.keys or Bounds(), model["key"]["shape"], path + "{key}")
        yield from differences(ours.member, model["value"]["shape"], path + "{}")
    elif model["type"] == "structure" and ours.members:
        if {one.name for one in ours.members} != set(model["members"]):
            yield path, "members", {one.name for one in ours.members}, set(model["members"])
        if {one.name for one in ours.members if one.is_required} != set(model.get("required", ())):
            yield path, "required", None, model.get("required")
        for one in ours.members:
            if one.name in model["members"]:
                yield from differences(one.shape, model["members"][one.name]["shape"], f"{path}.{one.name}")


def bounds_differences(ours: Bounds, model_name: str, path: str) -> Iterator[tuple[str, str, Any, Any]]:
    model = SHAPES[model_name]
    if model["type"] in ("integer", "long", "double", "float"):
        found: dict[str, tuple[Any, Any]] = {
            "min": (ours.minimum, model.get("min")),
            "max": (ours.maximum, model.get("max")),
        }
    else:
        found = {"min": (ours.min_length or 0, model.get("min", 0)), "max": (ours.max_length, model.get("max"))}
    found["enum"] = (list(ours.enumeration), model.get("enum", []))
    pattern = model.get("pattern")
    if model_name not in PATTERNS_CHECKED_BY_OPERATIONS or ours.pattern is not None:
        found["pattern"] = (ours.pattern, pattern and pattern.replace(REGION_OF_MODEL, REGION_OF_OURS))
    for what, (mine, theirs) in found.items():
        if mine != theirs:
            yield path, what, mine, theirs


_CHECKED = "checked where functions/api reads the member"
_REFUSED = "the member is refused unless it asks for nothing, or is only returned"
_QUOTA = "functions that are no managed instances have smaller quotas"
_NO_LAYERS = "there are no layers, whatever they are asked for"
_OTHER_SOURCES = "empty lists of other event sources are accepted, others are refused"
OTHER_CONSTRAINTS: dict[tuple[str, str], str] = {
    **dict.fromkeys(
        [
            (name, "pattern")
            for name in (
                "Action",
                "Code.SourceKMSKeyArn",
                "Environment.Variables{key}",
                "EventSourceToken",
                "FunctionName",
                "Handler",
                "LoggingConfig.LogGroup",
                "Principal",
                "PrincipalOrgID",
                "Qualifier",
                "Resource",
                "Role",
                "SourceAccount",
                "SourceArn",
                "SourceKMSKeyArn",
                "StatementId",
            )
        ],
        _CHECKED,
    ),
    **dict.fromkeys(
        [
            ("FunctionName", "max"),
            ("PackageType", "enum"),
            ("PackageType", "max"),
            ("Runtime", "enum"),
            ("Runtime", "max"),
        ],
        _CHECKED,
    ),
    **dict.fromkeys(
        [
            (name, "pattern")
            for name in (
                "Code.S3Bucket",
                "Code.S3Key",
                "Code.S3ObjectVersion",
                "CodeSigningConfigArn",
                "DeadLetterConfig.TargetArn",
                "DurableExecutionName",
                "KMSKeyArn",
                "Layers[]",
                "MasterRegion",
                "S3Bucket",
                "S3Key",
                "S3ObjectVersion",
                "TenantId",
                "VpcConfig.SecurityGroupIds[]",
                "VpcConfig.SubnetIds[]",
            )
        ],
        _REFUSED,
    ),
    **dict.fromkeys([("FileSystemConfigs", "max"), ("PublishTo", "enum")], _REFUSED),
    **dict.fromkeys([("EphemeralStorage.Size", "max"), ("MemorySize", "max"), ("Timeout", "max")], _QUOTA),
    **dict.fromkeys(
        [("CompatibleRuntime", "enum"), ("CompatibleRuntime", "max"), ("LayerName", "pattern")], _NO_LAYERS
    ),
    ("ReservedConcurrentExecutions", "max"): "an Integer of Java",
    **dict.fromkeys(
        [(name, what) for name in ("Topics", "Queues") for what in ("min", "max")]
        + [(name, what) for name in ("Topics[]", "Queues[]") for what in ("min", "max", "pattern")]
        + [("SourceAccessConfigurations", "max")],
        _OTHER_SOURCES,
    ),
}
"""(path of the member, constraint) → why it is not the model's."""


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_members_have_the_models_types_and_constraints(name: str) -> None:
    shape = structure_of(OPERATIONS[name].request)
    model = members_of(name)
    found = [
        difference for one in shape.members for difference in differences(one.shape, model[one.name]["shape"], one.name)
    ]
    assert not [one for one in found if one[:2] not in OTHER_CONSTRAINTS]


def test_every_listed_difference_exists() -> None:
    found = {
        difference[:2]
        for name, operation in OPERATIONS.items()
        for one in structure_of(operation.request).members
        for difference in differences(one.shape, members_of(name)[one.name]["shape"], one.name)
    }
    assert set(OTHER_CONSTRAINTS) <= found


# --- errors ---------------------------------------------------------------------------------------


def test_message_is_written_as_in_the_model() -> None:
    exceptions = {name: shape["members"] for name, shape in SHAPES.items() if shape.get("exception")}
    raised = exceptions.keys() & {code for _, _, code in raised_errors()}
    assert {name for name in raised if "Message" in exceptions[name]} == MESSAGE_IN_CAPITALS
    assert all("message" in exceptions[name] for name in raised - MESSAGE_IN_CAPITALS)


def raised_errors() -> Iterator[tuple[str, int, str]]:
    """Yield (file, status, code) of every LambdaError that the source makes."""
    for package in ("functions", "triggers", "server"):
        for path in sorted((SOURCE / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if not isinstance(node, ast.Call) or len(node.args) < 3:
                    continue
                status, code, *_ = node.args
                if (
                    isinstance(status, ast.Constant)
                    and isinstance(status.value, int)
                    and isinstance(code, ast.Constant)
                    and str(code.value).endswith("Exception")
                ):
                    yield path.name, status.value, str(code.value)


def test_errors_have_the_models_status() -> None:
    statuses = {
        name: shape["error"]["httpStatusCode"] for name, shape in SHAPES.items() if shape.get("exception")
    } | OUR_ERRORS
    found = list(raised_errors())
    assert len(found) >= 8
    assert [one for one in found if statuses.get(one[2]) != one[1]] == []
