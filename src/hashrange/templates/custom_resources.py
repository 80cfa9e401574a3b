"""Which functions of a template serve nothing but its custom resources? Those that a ServiceToken names. They have
nothing to do where no custom resources are made, and their code often needs AWS.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from hashrange.templates.stack import FUNCTION_TYPE, MAPPING_TYPE

CUSTOM_TYPES = ("Custom::", "AWS::CloudFormation::CustomResource")


def only_for_custom_resources(resources: Mapping[str, Any]) -> set[str]:
    """The logical IDs of these functions; `resources`: of CloudFormation, as they are before anything is resolved."""
    serving = {
        name
        for resource in resources.values()
        if resource["Type"].startswith(CUSTOM_TYPES)
        for name in _referred(resource, "ServiceToken")
    }
    mapped = {
        name
        for resource in resources.values()
        if resource["Type"] == MAPPING_TYPE
        for name in _referred(resource, "FunctionName")
    }
    return {name for name in serving - mapped if name in resources and resources[name]["Type"] == FUNCTION_TYPE}


def _referred(resource: Mapping[str, Any], property_name: str) -> Iterator[str]:
    """The logical ID that a property refers to with Ref or Fn::GetAtt."""
    properties = resource.get("Properties")
    match properties.get(property_name) if isinstance(properties, dict) else None:
        case {"Fn::GetAtt": [str(name), *_]} | {"Ref": str(name)}:
            yield name
        case {"Fn::GetAtt": str(text)}:
            yield text.partition(".")[0]
