"""AWS Labs' DynamoDB MCP server, unmodified, validates a data model against Hashrange:
tables, items, and access patterns that it runs.
"""

from pathlib import Path

import boto3
import pytest

from tests.clients.programs import heard, python
from tests.clients.serving import ServerProcess
from tests.clients.stories import HERE

FOLDER = HERE / "mcp_labs"
MODEL = "dynamodb_data_model.json"
TOOL = """#!/bin/sh
# Stands in for a container tool, of which the server asks whether its container of DynamoDB Local runs, and at which port.
case "$*" in
  *inspect*) echo 3.3.0 ;;
  *Ports*) echo "127.0.0.1:{port}->8000/tcp" ;;
  *) echo 0123456789ab ;;
esac
"""  # noqa: E501

pytestmark = pytest.mark.packaging


def test_a_data_model_is_validated(server: ServerProcess, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    tool = tools / "docker"
    tool.write_text(TOOL.replace("{port}", server.endpoint.rpartition(":")[2]), encoding="utf-8")
    tool.chmod(0o755)
    (tmp_path / MODEL).write_bytes((FOLDER / MODEL).read_bytes())
    told = heard([python(FOLDER), "validate.py", str(tmp_path), str(tools)], FOLDER)
    assert told["told"].startswith("# Transform DynamoDB Access Pattern Validation Results")
    answers = {one["pattern_id"]: one["response"] for one in told["results"]["validation_response"]}
    assert list(answers) == ["1", "2", "3", "4", "5"]
    assert '"total": {"N": "12.5"}' in answers["1"]
    assert '"Count": 2' in answers["2"]
    assert '"Count": 2' in answers["3"]
    assert "ConditionalCheckFailedException" not in answers["4"]
    assert "ConditionalCheckFailedException" in answers["5"]
    client = boto3.client(
        "dynamodb",
        endpoint_url=server.endpoint,
        region_name="us-east-1",
        aws_access_key_id="any",
        aws_secret_access_key="any",
    )
    assert client.scan(TableName="Shop")["Count"] == 3
    key = {"customer": {"S": "c2"}, "order": {"S": "o3"}}
    assert client.get_item(TableName="Shop", Key=key)["Item"]["status"] == {"S": "paid"}
