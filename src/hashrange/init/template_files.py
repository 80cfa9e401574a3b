"""Which requests does a template of the init folder stand for? Those that make its tables; what else it has is left
out, with a warning.
"""

import logging
import re

import msgspec

from hashrange.init.contents import InitRequest
from hashrange.init.files import TEMPLATE_ENDINGS, InitError, InitFile, read_body
from hashrange.items.steps import spend_decoding
from hashrange.templates.companion_requests import resource_words
from hashrange.templates.reading import read_stacks
from hashrange.templates.requests import scaling_bounds, table_requests
from hashrange.templates.stack import LeftOut, Locality, Stack
from hashrange.templates.texts import TemplateError
from hashrange.templates.wanted import WantedStack, wanted_together
from hashrange.work_threads import WorkThread

MARKS = (b'"Resources"', b'"planned_values"')
"""A JSON file without any of these is no template."""
ONLY_TABLES = "only tables are made; `hashrange apply` makes the others"
_drop_order = re.compile(r"[0-9]+[-_.]+").sub
_log = logging.getLogger("hashrange.init")
_READING = WorkThread("hashrange-init-templates")


def holds_template(body: bytes) -> bool:
    """True if a JSON file is a template of CloudFormation or SAM, or a plan of Terraform."""
    if not any(mark in body for mark in MARKS):
        return False
    spend_decoding(len(body))
    try:
        members = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return any(bytes(members.get(mark.decode()[1:-1], msgspec.Raw())).startswith(b"{") for mark in MARKS)


async def template_requests(file: InitFile, place: Locality) -> list[InitRequest]:
    """The requests of a file, or of the stacks of a folder of the CDK, in order. Raises InitError.

    It is read on a thread: YAML of a megabyte takes a second.
    """
    try:
        return await _READING.run(_requests_in, file, place)
    except TemplateError as error:
        raise InitError(file.path, str(error).removeprefix(f"{file.path}: ")) from None


def _requests_in(file: InitFile, place: Locality) -> list[InitRequest]:
    if file.name.endswith(TEMPLATE_ENDINGS) and b"Resources" not in read_body(file):
        _log.warning("%s is not applied: it has no Resources, so it is no template of CloudFormation.", file.path)
        return []
    stacks = []
    for stack in read_stacks(file.path):
        if stack.region in {None, place.region}:
            stacks.append(stack._replace(name=_drop_order("", stack.name, count=1) or stack.name))
        else:
            _log.warning("%s: the stack %s is left out: it is for %s", file.name, stack.name, stack.region)
    found = []
    for stack, wanted in wanted_together(stacks, place, {}):
        found += _requests_of(stack, wanted)
        others = [LeftOut(one.place, resource_words(one), ONLY_TABLES) for one in wanted.companions]
        for left in [*(one for one in wanted.left_out if not one.is_for_aws), *others]:
            _log.warning("%s: %s (%s) is left out: %s", file.name, left.place, left.what, left.reason)
    return found


def _requests_of(stack: Stack, wanted: WantedStack) -> list[InitRequest]:
    scaled = scaling_bounds(wanted.companions)
    requests = [one for table in wanted.tables for one in table_requests(table, None, stack.name, scaled)]
    return [InitRequest(f"{one.resource}: ", one.operation, msgspec.json.encode(one.members), 0) for one in requests]
