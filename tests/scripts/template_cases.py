"""What a template wants, as text: its outputs, its requests if nothing is there, and what is left out."""

import json

from hashrange.templates.companion_requests import companion_requests
from hashrange.templates.late_values import readable
from hashrange.templates.requests import STACK_TAG, TemplateRequest, scaling_bounds, table_requests
from hashrange.templates.stack import Locality, Stack
from hashrange.templates.texts import TemplateError, parse_template
from hashrange.templates.wanted import WantedStack, wanted_of

HERE = Locality("111122223333", "eu-west-1")
TOPIC = "\nResources: {Topic: {Type: AWS::SNS::Topic}}"


def wanted_in(text: str) -> WantedStack:
    """What a template wants. Lines `parameter NAME=VALUE` before it give parameters; without resources it gets one."""
    lines = text.split("\n")
    given = dict(line.split(" ", 1)[1].split("=", 1) for line in lines if line.startswith("parameter "))
    template = "\n".join(line for line in lines if not line.startswith("parameter "))
    if "Resources" not in template and "planned_values" not in template:
        template += TOPIC
    return wanted_of(Stack("shop", parse_template(template.encode()), "."), HERE, given)


def shown(text: str) -> str:
    """All that a template wants."""
    try:
        wanted = wanted_in(text)
    except TemplateError as error:
        return f"refused: {error}"
    lines = [f"{name} = {readable(value)}" for name, value in wanted.outputs.items()]
    scaled = scaling_bounds(wanted.companions)
    requests = [one for table in wanted.tables for one in table_requests(table, None, "shop", scaled)]
    requests += [one for companion in wanted.companions for one in companion_requests(companion, None, None)]
    lines += map(request_line, requests)
    lines += [f"left out: {one.place} ({one.what}): {one.reason}" for one in wanted.left_out if one.place != "Topic"]
    return "\n".join(lines)


def request_line(request: TemplateRequest) -> str:
    """One request: operation and members, without the tag of the stack."""
    members = dict(request.members)
    if request.operation == "CreateTable":
        members["Tags"] = [one for one in members["Tags"] if one["Key"] != STACK_TAG]
    members = {name: one for name, one in members.items() if one != []}
    return f"{request.operation} {readable(json.dumps(members, ensure_ascii=False))}"
