"""Which templates does a file or folder hold? CloudFormation and SAM in YAML or JSON, what `terraform show -json`
prints, and the folder `cdk.out` that the CDK synthesises.
"""

import os
from collections.abc import Iterator
from typing import Any

from hashrange.templates.stack import Stack
from hashrange.templates.terraform import is_terraform
from hashrange.templates.texts import JSON_BYTES_MAX, TemplateError, parse_template

MANIFEST = "manifest.json"
NAMES_OF_ALL = {"packaged", "plan", "template", "tfplan"}
"""Names that templates of different stacks have."""
ASSEMBLIES_DEPTH_MAX = 5
ANY = "unknown-"
"""Beginning of the Region of a stack of the CDK that is bound to none."""
FORMS = (
    "A template is a file of CloudFormation or SAM, a cdk.out folder, or what `terraform show -json PLAN` prints for a"
    " plan that `terraform plan -out PLAN` has written"
)


def read_stacks(path: str) -> list[Stack]:
    """The stacks of a file or folder, in order. Raises TemplateError, which names the file."""
    if os.path.isdir(path):
        if not os.path.isfile(os.path.join(path, MANIFEST)):
            raise TemplateError(f"{path}: the folder has no {MANIFEST}, so it is no cdk.out. {FORMS}.")
        stacks = list(_assembly(path, 1))
        if not stacks:
            raise TemplateError(f"{path}: the folder has no stacks.")
        return stacks
    if path.endswith((".tf", ".tofu")):
        raise TemplateError(f"{path}: Terraform's own files are not read. {FORMS}.")
    document = _document(path)
    if not is_terraform(document) and "Resources" not in document:
        raise TemplateError(f"{path}: it has neither Resources nor planned_values. {FORMS}.")
    return [Stack(stack_name(path), document, os.path.dirname(os.path.abspath(path)))]


def stack_name(path: str) -> str:
    """The name of a file without endings, or of its folder if the file is called like all others, in the characters of
    stacks' names.
    """
    folder, name = os.path.split(os.path.abspath(path))
    name = name.partition(".")[0]
    if name.lower() in NAMES_OF_ALL:
        name = os.path.basename(folder)
    return "".join(one if one.isascii() and one.isalnum() else "-" for one in name) or "stack"


def _document(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as opened:
            text = opened.read(JSON_BYTES_MAX + 1)
    except OSError as error:
        raise TemplateError(f"{path}: it cannot be read: {error.strerror}.") from None
    if text.startswith(b"PK"):
        raise TemplateError(f"{path}: it is a zip file. {FORMS}.")
    try:
        return parse_template(text)
    except TemplateError as error:
        raise TemplateError(f"{path}: {error}") from None


def _document_inside(path: str) -> dict[str, Any]:
    """A document of an assembly, which must be a file: to open a pipe would wait for whoever writes it."""
    if not os.path.isfile(path):
        raise TemplateError(f"{path}: it is no file.")
    return _document(path)


def _assembly(folder: str, depth: int) -> Iterator[Stack]:
    """The stacks of a cloud assembly, and of those inside it."""
    artifacts = _document_inside(os.path.join(folder, MANIFEST)).get("artifacts") or {}
    for name, artifact in artifacts.items() if isinstance(artifacts, dict) else ():
        properties = artifact.get("properties") if isinstance(artifact, dict) else None
        if not isinstance(properties, dict):
            continue
        if artifact.get("type") == "aws:cloudformation:stack":
            yield _cdk_stack(folder, name, artifact, properties)
        elif artifact.get("type") == "cdk:cloud-assembly" and depth < ASSEMBLIES_DEPTH_MAX:
            yield from _assembly(_inside(folder, properties.get("directoryName")), depth + 1)


def _cdk_stack(folder: str, name: str, artifact: dict[str, Any], properties: dict[str, Any]) -> Stack:
    template = _inside(folder, properties.get("templateFile"))
    region = str(artifact.get("environment", "")).rpartition("/")[2]
    assets_path = template.removesuffix(".template.json") + ".assets.json"
    files = _document_inside(assets_path).get("files") if os.path.lexists(assets_path) else {}
    assets = {key: os.path.abspath(_inside(folder, path)) for key, path in _assets(files)}
    bound = None if not region or region.startswith(ANY) else region
    return Stack(str(properties.get("stackName") or name), _document_inside(template), folder, bound, assets)


def _assets(files: Any) -> Iterator[tuple[str, str]]:
    """Object key and path of each file of a manifest of assets."""
    for asset in files.values() if isinstance(files, dict) else ():
        match asset:
            case {"source": {"path": str(path)}, "destinations": dict(destinations)}:
                for destination in destinations.values():
                    if isinstance(destination, dict):
                        yield str(destination.get("objectKey")), path


def _inside(folder: str, name: Any) -> str:
    """The path of a file of an assembly, which has no other folders than its own."""
    path = os.path.normpath(os.path.join(folder, str(name)))
    if not isinstance(name, str) or os.path.commonpath(
        [os.path.abspath(folder), os.path.abspath(path)]
    ) != os.path.abspath(folder):
        raise TemplateError(f"{folder}: {MANIFEST} names {name!r}, which is not inside the folder.")
    return path
