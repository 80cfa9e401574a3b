"""How do the shop's handlers get onto a server? From triggers.toml, with code in a folder;
or over Lambda's API, as zips with the same settings.
"""

import json
import string
import subprocess
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import boto3

from tests.clients.programs import node, prepare, program
from tests.support.waiting import wait_until

HERE = Path(__file__).parent
TRIGGERS = HERE / "triggers.toml"
PYTHON, TYPESCRIPT = HERE / "python", HERE / "typescript"
ROLE = "arn:aws:iam::000000000000:role/shop"
Plan = dict[str, list[dict[str, Any]]]
"""`functions` and `mappings`: members of CreateFunction, with a path `zip` in the place of Code,
and of CreateEventSourceMapping."""


class Code(NamedTuple):
    """Handlers in one language, and what runs them."""

    folder: Path
    runtime: str


def build_typescript() -> str:
    """Compile the handlers, unless they are compiled: modules in `dist`, bundles below it. Returns the path of Node."""
    path = node(TYPESCRIPT)
    sources = sorted(source.relative_to(TYPESCRIPT).as_posix() for source in TYPESCRIPT.glob("src/*.ts"))
    asked_by = ["package.json", "package-lock.json", "tsconfig.json", "bundle.js", *sources]
    npm = program("npm")
    prepare(TYPESCRIPT, [[npm, "run", "build"]], asked_by, "dist", [path, npm], beside="node_modules")
    return path


def triggers_text(code: Code, mail_url: str, failed: Path) -> str:
    """The file of triggers for these handlers."""
    values = {"code": code.folder, "runtime": code.runtime, "mail_url": mail_url, "failed": failed}
    return string.Template(TRIGGERS.read_text()).substitute(values)


def destinations_of(triggers: str) -> str:
    """The part of the file that says where failures go."""
    return "[destinations]" + triggers.partition("[destinations]")[2]


def make_plan(triggers: str, code: Code, zips: Path, stream_arns: Mapping[str, str]) -> Plan:
    """What a file of triggers declares, as requests; the zips are written into the folder `zips`."""
    declared = tomllib.loads(triggers)
    functions = [
        {
            "FunctionName": name,
            "Runtime": one["runtime"],
            "Handler": one["handler"],
            "Role": ROLE,
            "Timeout": one["timeout"],
            "Environment": {"Variables": one.get("environment", {})},
            "zip": str(zip_handler(code, one["handler"].partition(".")[0], zips)),
        }
        for name, one in declared["functions"].items()
    ]
    return {"functions": functions, "mappings": [mapping_members(one, stream_arns) for one in declared["mapping"]]}


def zip_handler(code: Code, name: str, zips: Path) -> Path:
    """Write the zip with one handler; returns its path."""
    path = zips / f"{name}.zip"
    (source,) = code.folder.glob(f"{name}.*")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.write(source, source.name)
    return path


def mapping_members(declared: Mapping[str, Any], stream_arns: Mapping[str, str]) -> dict[str, Any]:
    """The members of CreateEventSourceMapping for a declared mapping."""
    members: dict[str, Any] = {"StartingPosition": "TRIM_HORIZON"}
    for name, value in declared.items():
        match name:
            case "table":
                members["EventSourceArn"] = stream_arns[value]
            case "function":
                members["FunctionName"] = value
            case "filters":
                members["FilterCriteria"] = {"Filters": [{"Pattern": pattern} for pattern in value]}
            case "report_batch_item_failures":
                members["FunctionResponseTypes"] = ["ReportBatchItemFailures"]
            case "on_failure":
                members["DestinationConfig"] = {"OnFailure": {"Destination": value}}
            case _:
                members[name.title().replace("_", "")] = value
    return members


def deploy_with_boto3(endpoint: str, plan: Plan) -> None:
    """Create functions and mappings, and wait until they are active and enabled."""
    client = boto3.client(
        "lambda",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="key",
        aws_secret_access_key="secret",
    )
    for function in plan["functions"]:
        members = {name: value for name, value in function.items() if name != "zip"}
        client.create_function(**members, Code={"ZipFile": Path(function["zip"]).read_bytes()})
        client.get_waiter("function_active_v2").wait(FunctionName=function["FunctionName"])
    for mapping in plan["mappings"]:
        client.create_event_source_mapping(**mapping)
    wait_until(
        lambda: {one["State"] for one in client.list_event_source_mappings()["EventSourceMappings"]} == {"Enabled"}
    )
    client.close()


def deploy_with_typescript(endpoint: str, plan: Plan) -> None:
    """The same by the program `deploy.ts`, with the AWS SDK for JavaScript v3."""
    command = [build_typescript(), "--no-warnings", "dist/deploy.js", endpoint]
    done = subprocess.run(
        command, cwd=TYPESCRIPT, input=json.dumps(plan), capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
