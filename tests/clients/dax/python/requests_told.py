"""The requests of ../requests.json through DAX and directly; prints what each heard, as JSON.
Arguments: the endpoint of DynamoDB, that of DAX.
"""

import base64
import json
import re
import sys
from pathlib import Path
from typing import Any

import boto3
from amazondax import AmazonDaxClient
from botocore.config import Config

TOLD = Path(__file__).parent.parent / "requests.json"
CREDENTIALS = {"region_name": "eu-west-1", "aws_access_key_id": "AKIDEXAMPLE", "aws_secret_access_key": "secret"}


def requests(side: str) -> Any:
    """Tables and steps of a side, with its names of tables."""
    return binary(json.loads(TOLD.read_text(encoding="utf-8").replace("SIDE", side).replace("LONG", "x" * 300_000)))


def binary(value: Any) -> Any:
    """A value with bytes in the place of base64."""
    if isinstance(value, dict):
        if len(value) == 1:
            ((kind, inner),) = value.items()
            if kind == "B":
                return {"B": base64.b64decode(inner)}
            if kind == "BS":
                return {"BS": [base64.b64decode(one) for one in inner]}
        return {name: binary(inner) for name, inner in value.items()}
    return [binary(one) for one in value] if isinstance(value, list) else value


def plain(value: Any) -> Any:
    """A value with base64 in the place of bytes, without metadata."""
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items() if name != "ResponseMetadata"}
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode()
    return [plain(one) for one in value] if isinstance(value, list) else value


def heard(client: Any, step: Any) -> Any:
    """The reply to a step, that of each page, or the error."""
    method = getattr(client, re.sub(r"(?<!^)(?=[A-Z])", "_", step["call"]).lower())
    request, found = dict(step["request"]), []
    try:
        while True:
            found.append(plain(method(**request)))
            if not step.get("pages") or "LastEvaluatedKey" not in found[-1]:
                return found
            request["ExclusiveStartKey"] = binary(found[-1]["LastEvaluatedKey"])
    except Exception as error:  # The client of DAX has exceptions of several kinds.
        response = getattr(error, "response", {})
        told = response.get("Error", {"Code": type(error).__name__, "Message": str(error)})
        if "CancellationReasons" in response:
            return {"code": told["Code"], "message": told["Message"], "reasons": plain(response["CancellationReasons"])}
        return {"code": told["Code"], "message": told["Message"]}


def main() -> None:
    endpoint, dax_endpoint = sys.argv[1:]
    once = Config(retries={"total_max_attempts": 1})
    direct = boto3.client("dynamodb", endpoint_url=endpoint, config=once, **CREDENTIALS)
    told = {}
    with AmazonDaxClient(endpoint_url=dax_endpoint, **CREDENTIALS) as dax:
        for side, client in (("through", dax), ("direct", direct)):
            asked = requests(side)
            for table in asked["tables"]:
                direct.create_table(**table)
            told[side] = [heard(client, step) for step in asked["steps"]]
    json.dump(
        {side: json.loads(json.dumps(found).replace(f"{side}.", "SIDE.")) for side, found in told.items()}, sys.stdout
    )


main()
