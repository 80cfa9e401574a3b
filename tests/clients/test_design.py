"""`hashrange design` writes what the real tools take, and every language makes the same table on a started server."""

import json
import re
import subprocess
import tarfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import boto3
import pytest

from hashrange.cli.main import main
from tests.clients.design_readers import (
    SCALING,
    Request,
    read_cloudformation,
    read_commands,
    read_global_table,
    read_terraform,
    terraform_resources,
)
from tests.clients.programs import node, program
from tests.clients.serving import ServerProcess
from tests.clients.stories import HERE
from tests.support.kept_builds import identity_of, kept_build

FOLDER = HERE / "design"
PROVIDER = "@cdktf/provider-aws@21.22.1"
KEY = "arn:aws:kms:eu-west-1:123456789012:key/0c3a8f5e-2b1d-4e6f-9a7b-112233445566"
ENDINGS = {"cloudformation": "yaml", "cdk": "ts", "terraform": "tf", "json": "json"}
DESIGNS: dict[str, list[str]] = {
    "Plain": ["Plain", "--partition-key", "pk"],
    "Orders": [
        "Orders", "--partition-key", "customer", "--sort-key", "created:N",
        "--gsi", "by-status=status/created/keys-only", "--gsi", "by.status=status//include:total,state",
        "--lsi", "by-total=total:N", "--ttl", "expires", "--stream", "new-and-old-images",
        "--point-in-time-recovery", "--deletion-protection", "--table-class", "infrequent-access",
        "--tag", "stage=", "--tag", "team=orders",
    ],
    "Places": [
        "Places", "--partition-key", "id:B", "--gsi", "by-place=country,city,street,house:N/floor:N,door,side,id",
        "--gsi", "all-countries=country", "--stream", "keys-only", "--encryption", "aws-managed",
    ],
    "Scaled": [
        "Scaled", "--partition-key", "pk", "--sort-key", "sk", "--read", "5-100@60", "--write", "5-50",
        "--gsi", "GSI1=gsi1pk/gsi1sk", "--recovery-days", "7", "--stream", "old-image",
    ],
    "Fixed": ["Fixed", "--partition-key", "pk", "--billing", "provisioned", "--write", "3", "--gsi", "one=a/b"],
    "9.odd-name_x": [
        "9.odd-name_x", "--partition-key", "it's", "--sort-key", 'a \\ "d" é',
        "--tag", "1=2", "--tag", "why=it's so, \\ é", "--tag", "yes=no", "--ttl", "on", "--stream", "new-image",
        "--encryption", KEY,
    ],
}  # fmt: skip
"""Table → the command line that designs it."""


class Written(NamedTuple):
    """What the command has written."""

    files: dict[tuple[str, str], str]
    """Table and language → text."""
    folder: Path


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    folder = tmp_path_factory.mktemp("designs")
    files = {}
    for number, (table, words) in enumerate(DESIGNS.items()):
        for language, ending in ENDINGS.items():
            path = folder / f"{number}.{ending}"
            assert main(["design", *words, "--non-interactive", "--output", language, "--file", str(path)]) == 0
            files[table, language] = path.read_text(encoding="utf-8")
    return Written(files, folder)


def test_cfn_lint_finds_nothing(written: Written) -> None:
    from cfnlint.api import lint

    for table in DESIGNS:
        found = lint(written.files[table, "cloudformation"])
        assert not [str(one) for one in found], table


def test_cfn_lint_finds_nothing_in_the_template(tmp_path: Path) -> None:
    from cfnlint.api import lint

    assert main(["design", "--template", "--file", str(tmp_path / "table.yaml")]) == 0
    assert not [str(one) for one in lint((tmp_path / "table.yaml").read_text(encoding="utf-8"))]


def arguments_of(text: str, interface: str) -> set[str]:
    """The arguments of an interface in the declarations of the provider, as Terraform writes them."""
    body = re.search(rf"export interface {interface} [^{{]*{{(.*?)\n}}", text, re.DOTALL)
    assert body, interface
    return {
        re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", one) for one in re.findall(r"readonly (\w+)\??:", body[1])
    }


@pytest.fixture(scope="module")
def provider() -> Path:
    """The declarations of the resources that are written, of the AWS provider for Terraform."""
    npm = program("npm")
    names = ("dynamodb-table", "appautoscaling-target", "appautoscaling-policy")

    def build(place: Path) -> None:
        subprocess.run([npm, "pack", "--silent", PROVIDER], cwd=place, check=True, capture_output=True, timeout=120)
        [packed] = place.glob("*.tgz")
        with tarfile.open(packed) as archive:
            for name in names:
                member = archive.extractfile(f"package/lib/{name}/index.d.ts")
                assert member is not None
                (place / f"{name}.d.ts").write_bytes(member.read())
        packed.unlink()

    return kept_build("clients-design-provider", [PROVIDER.encode(), *map(str.encode, names)], build)


META_ARGUMENTS = {"lifecycle"}
NEWER = {"DynamodbTableGlobalSecondaryIndex": {"key_schema"}}
"""Blocks that the provider has since 6.29.0, by interface; the package holds 6.25.0."""


@pytest.mark.packaging
@pytest.mark.parametrize("table", DESIGNS)
def test_terraform_uses_arguments_that_the_provider_has(table: str, written: Written, provider: Path) -> None:
    for (kind, _), members in terraform_resources(written.files[table, "terraform"]).items():
        name = kind.removeprefix("aws_")
        text = (provider / f"{name.replace('_', '-')}.d.ts").read_text(encoding="utf-8")
        interface = "".join(word.title() for word in name.split("_"))
        require_known(members, text, interface, "Config")


def require_known(members: dict[str, Any], text: str, interface: str, ending: str = "") -> None:
    """Fail if a block has an argument that its interface does not declare."""
    known = arguments_of(text, f"{interface}{ending}") | NEWER.get(interface, set())
    assert members.keys() - known <= (META_ARGUMENTS if ending else set())
    for name, value in members.items():
        if name not in META_ARGUMENTS and isinstance(value, list) and value and isinstance(value[0], dict):
            inner = interface + "".join(word.title() for word in name.split("_"))
            if name != "key_schema":
                for one in value:
                    require_known(one, text, inner)


@pytest.fixture(scope="module")
def synthesised(written: Written) -> dict[str, Any]:
    """Table → the template that the CDK synthesises of the TypeScript. All are made in one run, which is kept."""
    path = node(FOLDER)
    stacks = {f"stack{number}.ts": written.files[table, "cdk"] for number, table in enumerate(DESIGNS)}
    index = "\n".join(f"export * from './{name.removesuffix('.ts')}';" for name in stacks)
    own = {name: (FOLDER / name).read_text(encoding="utf-8") for name in ("synth.ts", "tsconfig.json")}
    sources = {**stacks, **own, "stacks.ts": index}

    def build(place: Path) -> None:
        (place / "node_modules").symlink_to(FOLDER / "node_modules", target_is_directory=True)
        for name, text in sources.items():
            (place / name).write_text(text, encoding="utf-8")
        tsc = place / "node_modules" / "typescript" / "bin" / "tsc"
        for command in ([path, str(tsc), "-p", "."], [path, "synth.js"]):
            done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=100, check=False)
            assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
        (place / "templates.json").write_text(done.stdout, encoding="utf-8")

    lock = (FOLDER / "package-lock.json").read_bytes()
    ingredients = [lock, identity_of(path), *(f"{name} {text}".encode() for name, text in sources.items())]
    made = kept_build("clients-design-templates", ingredients, build) / "templates.json"
    return {name_of_table(one): one for one in json.loads(made.read_text(encoding="utf-8"))}


def name_of_table(template: dict[str, Any]) -> str:
    [name] = [one["Properties"]["TableName"] for one in template["Resources"].values() if "GlobalTable" in one["Type"]]
    return str(name)


class Described(NamedTuple):
    """All that a server says of a table, except what belongs to one table alone."""

    table: Any
    ttl: Any
    recovery: Any
    tags: Any
    targets: Any
    policies: Any


OWN = re.compile("(Arn|Label|DateTime|TableId)$")
UNORDERED = {"AttributeDefinitions", "GlobalSecondaryIndexes", "LocalSecondaryIndexes"}


def without_own(value: Any) -> Any:
    """A description without ARNs and times; the order of a list stays where it has a meaning."""
    if isinstance(value, dict):
        kept = {key: without_own(one) for key, one in value.items() if not OWN.search(key) or one == KEY}
        return {key: sorted(one, key=str) if key in UNORDERED else one for key, one in kept.items()}
    return [without_own(one) for one in value] if isinstance(value, list) else value


def described(server: ServerProcess, region: str, name: str) -> Described:
    dynamodb, scaling = clients(server.endpoint, region)
    table = dynamodb.describe_table(TableName=name)["Table"]
    backups = dynamodb.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
    recovery = backups["PointInTimeRecoveryDescription"]

    def found(operation: str, member: str, *keys: str) -> list[dict[str, Any]]:
        reply = getattr(scaling, operation)(ServiceNamespace="dynamodb")[member]
        return sorted(({key: one[key] for key in keys} for one in reply), key=str)

    place = ("ResourceId", "ScalableDimension")
    return Described(
        without_own(table),
        dynamodb.describe_time_to_live(TableName=name)["TimeToLiveDescription"],
        (recovery["PointInTimeRecoveryStatus"], recovery.get("RecoveryPeriodInDays")),
        dynamodb.list_tags_of_resource(ResourceArn=table["TableArn"])["Tags"],
        found("describe_scalable_targets", "ScalableTargets", *place, "MinCapacity", "MaxCapacity"),
        found(
            "describe_scaling_policies",
            "ScalingPolicies",
            *place,
            "PolicyName",
            "TargetTrackingScalingPolicyConfiguration",
        ),
    )


@cache
def clients(endpoint: str, region: str) -> tuple[Any, Any]:
    keys = {"aws_access_key_id": "hashrange", "aws_secret_access_key": "hashrange"}
    made = [boto3.client(one, endpoint_url=endpoint, region_name=region, **keys) for one in ("dynamodb", SCALING)]
    return made[0], made[1]


def send(server: ServerProcess, region: str, requests: Iterator[Request]) -> None:
    dynamodb, scaling = clients(server.endpoint, region)
    for service, operation, members in requests:
        getattr(scaling if service == SCALING else dynamodb, operation)(**members)
        if operation == "create_table":
            dynamodb.get_waiter("table_exists").wait(TableName=members["TableName"], WaiterConfig={"Delay": 0.01})


@pytest.mark.packaging
def test_every_language_makes_the_same_table(
    written: Written, synthesised: dict[str, Any], server: ServerProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    for table, words in DESIGNS.items():
        at = ["--endpoint", server.endpoint]
        capsys.readouterr()
        assert main(["design", *words, "--output", "json"]) == 0
        told = capsys.readouterr().err
        assert main(["design", *words, *at, "--region", "us-east-1", "--apply"]) == 0
        expected = described(server, "us-east-1", table)
        requests = {
            "us-east-2": read_cloudformation(written.files[table, "cloudformation"]),
            "us-west-1": read_global_table(synthesised[table]),
            "us-west-2": read_terraform(written.files[table, "terraform"]),
            "eu-west-1": read_commands(written.files[table, "json"], told),
        }
        for region, sent in requests.items():
            send(server, region, sent)
            assert described(server, region, table) == expected, (table, region)
        for language in ENDINGS if "aws-managed" not in words else ():  # the server has no KMS that knows its key
            capsys.readouterr()
            assert main(["design", "--from", table, *at, "--region", "us-east-1", "--output", language]) == 0
            printed = capsys.readouterr()
            assert printed.out == written.files[table, language]
