"""Operations of CloudWatch, Application Auto Scaling, DAX and STS against botocore's service models:
names, members, required ones, errors.
"""

from typing import Any

import msgspec
import pytest
from botocore.loaders import Loader

from hashrange.autoscaling.api.registry import autoscaling_api
from hashrange.aws_services.operation import FormWire, Operation, ServiceApi
from hashrange.cloudwatch.api.registry import cloudwatch_api
from hashrange.dax.api.registry import dax_api
from hashrange.insights.api.insight_rules import insight_operations
from hashrange.sts.api.registry import sts_api

NOTHING: Any = None
APIS: dict[str, ServiceApi] = {
    "cloudwatch": cloudwatch_api(NOTHING, NOTHING, insight_operations(NOTHING)),
    "application-autoscaling": autoscaling_api(NOTHING),
    "dax": dax_api(NOTHING),
    "sts": sts_api(NOTHING),
}
MODELS: dict[str, dict[str, Any]] = {
    "cloudwatch": Loader().load_service_model("cloudwatch", "service-2", "2010-08-01"),
    "application-autoscaling": Loader().load_service_model("application-autoscaling", "service-2", "2016-02-06"),
    "dax": Loader().load_service_model("dax", "service-2", "2017-04-19"),
    "sts": Loader().load_service_model("sts", "service-2", "2011-06-15"),
}
WORDED_BY_OPERATIONS = {
    ("PutMetricData", "Namespace"),
}
LATER = {"PutMetricAlarm": {"EvaluationCriteria", "ThresholdMetricId"}}
"""Members of models that are newer than botocore's."""
OPERATIONS = [
    pytest.param(name, operation, id=f"{name}-{operation.name}")
    for name, api in APIS.items()
    for operation in api.operations
]


def shape_of(service: str, operation: str) -> dict[str, Any]:
    model = MODELS[service]
    name = model["operations"][operation]["input"]["shape"]
    shape: dict[str, Any] = model["shapes"][name]
    return shape


@pytest.mark.parametrize("service", APIS)
def test_every_operation_of_the_model_is_served_or_named(service: str) -> None:
    api = APIS[service]
    served = {operation.name for operation in api.operations}
    assert not served & api.unserved
    assert set(MODELS[service]["operations"]) <= served | api.unserved


@pytest.mark.parametrize(("service", "operation"), OPERATIONS)
def test_members_are_those_of_the_model(service: str, operation: Operation[FormWire]) -> None:
    shape = shape_of(service, operation.name)
    fields = {field.encode_name: field for field in msgspec.structs.fields(operation.request)}
    assert set(shape.get("members", {})) <= set(fields), "a member of the model is missing"
    assert set(fields) - set(shape.get("members", {})) <= LATER.get(operation.name, set())
    if service == "sts":  # it reports missing members together with all other faults: tests/unit/sts/test_refusals.py
        return
    required = {name for name, field in fields.items() if field.required}
    assert required == set(shape.get("required", ()))


@pytest.mark.parametrize("service", APIS)
def test_errors_have_the_status_and_the_code_of_the_model(service: str) -> None:
    shapes = MODELS[service]["shapes"]
    for name, error in APIS[service].errors.items():
        known = shapes.get(name, {}).get("error")
        if known is not None and (service, name) != ("sts", "ExpiredTokenException"):
            # There it is the error of signatures; tests/unit/sts has the one of web identities, which shares its name.
            assert (error.status, error.query_code) == (known["httpStatusCode"], known.get("code", name)), name


@pytest.mark.parametrize("service", APIS)
def test_the_api_has_the_names_of_the_model(service: str) -> None:
    metadata, api = MODELS[service]["metadata"], APIS[service]
    assert (api.signing_name, api.target_prefix, api.json_version, api.version) == (
        metadata.get("signingName", metadata["endpointPrefix"]),
        metadata.get("targetPrefix", ""),
        metadata.get("jsonVersion", ""),
        metadata["apiVersion"],
    )
    assert metadata.get("xmlNamespace") == api.xml_namespace
