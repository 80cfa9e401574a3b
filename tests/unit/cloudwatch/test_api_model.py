"""The API has the operations and members of CloudWatch's model, as botocore has it."""

from typing import Any

import botocore.session
import msgspec
import pytest
from botocore import xform_name
from botocore.config import Config
from botocore.exceptions import ClientError

from hashrange.aws_services.operation import FormWire, Operation
from hashrange.cloudwatch.alarms.alarms import Alarms
from hashrange.cloudwatch.api.registry import METRIC_OPERATIONS, cloudwatch_api
from hashrange.cloudwatch.api.tags import OPERATIONS as TAG_OPERATIONS
from hashrange.insights.api.insight_rules import insight_operations
from hashrange.settings import Settings
from hashrange.testing import server
from tests.unit.cloudwatch.conftest import World

NOTHING: Any = None
MODEL: Any = botocore.session.get_session().get_service_model("cloudwatch")


@pytest.mark.parametrize("world", ["memory"], indirect=True)
def test_operations_and_their_members_are_those_of_the_model(world: World) -> None:
    api = cloudwatch_api(world.metrics, Alarms(world.store.documents, world.clock), insight_operations(NOTHING))
    served: dict[str, Operation[FormWire]] = {operation.name: operation for operation in api.operations}
    assert len(served) == len(api.operations)
    assert api.unserved.isdisjoint(served)
    assert served.keys() <= set(MODEL.operation_names) <= served.keys() | api.unserved
    whole = {operation.name for operation in (*METRIC_OPERATIONS, *TAG_OPERATIONS)}
    assert whole <= served.keys()
    for name, operation in served.items():
        members = MODEL.operation_model(name).input_shape.members
        own = {field.name for field in msgspec.structs.fields(operation.request)}
        assert own <= members.keys(), name
        if name in whole:
            assert own == members.keys(), name
    errors = {shape.name for shape in MODEL.error_shapes}
    for name, shape in api.errors.items():
        assert name in errors, name
        assert MODEL.shape_for(name).metadata["error"]["httpStatusCode"] == shape.status
        assert MODEL.shape_for(name).metadata["error"].get("code", name) == shape.query_code


@pytest.mark.parametrize(
    ("operation", "members"),
    [
        (
            "PutMetricDataQueryDefinition",
            {"Id": "load", "Path": "/own", "Expression": "SELECT 1", "Type": "SQL"},
        ),
        ("GetMetricDataQueryDefinition", {"Id": "load"}),
        ("ListMetricDataQueryDefinitions", {}),
        ("DeleteMetricDataQueryDefinition", {"Id": "load"}),
        ("PutLogAlarm", {}),
    ],
)
def test_operations_that_are_not_served_are_refused_by_name(operation: str, members: dict[str, str]) -> None:
    with server(Settings(data_dir=None)) as database:
        client = database.client("cloudwatch", config=Config(parameter_validation=False))
        with pytest.raises(ClientError) as caught:
            getattr(client, xform_name(operation))(**members)
    error = caught.value.response["Error"]
    assert error["Message"] == f"Hashrange does not support {operation} yet."
