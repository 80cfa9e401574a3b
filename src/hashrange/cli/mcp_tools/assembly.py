"""Which server of tools does the protocol's library get? The tools, with their annotations;
and errors in the words of the database.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import ToolAnnotations
from pydantic import ValidationError

from hashrange import __version__
from hashrange.cli.mcp_tools.asking import AskedServer
from hashrange.cli.mcp_tools.tools import ReadTools, WriteTools
from hashrange.errors import HashrangeError
from hashrange.written.names import did_you_mean
from hashrange.written.value_faults import SHOWN_CHARACTERS_MAX, show_value

INSTRUCTIONS = """Tables and items of a DynamoDB-compatible server. Values are plain JSON; \
what JSON lacks is an object with one key: {"$set": [1, 2]},
{"$binary": "base64"}, {"$number": "1.00000000000000000001"}. Pages are short: if there_may_be_more is true, \
call again with start_after."""
READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
DESTROYS = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False)


def make_tool_server(asking: AskedServer, *, may_write: bool) -> MCPServer[Any]:
    """The server of tools, which talks to nobody yet."""
    reading = ReadTools(asking, may_write=may_write)
    reads = (
        reading.list_tables,
        reading.describe_table,
        reading.get_item,
        reading.query,
        reading.scan,
        reading.search_vectors,
        reading.advise_schema,
    )
    tools = [_strict(tool, READS) for tool in reads]
    tools.append(_strict(reading.run_partiql, DESTROYS if may_write else READS))
    if may_write:
        writing = WriteTools(asking)
        tools.append(_strict(writing.create_table, ADDS))
        changes = (writing.put_item, writing.update_item, writing.delete_item, writing.delete_table)
        tools += [_strict(change, DESTROYS) for change in changes]
    return MCPServer("hashrange", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING", tools=tools)


class _PlainTool(Tool):
    """A tool that tells what is wrong with arguments in words for readers: the library quotes its own checks."""

    async def run(self, arguments: dict[str, Any], context: Any, convert_result: bool = False) -> Any:
        try:
            return await super().run(arguments, context, convert_result)
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            sentence = argument_fault(self.name, list(self.fn_metadata.arg_model.model_fields), error.__cause__)
            raise ToolError(sentence) from error.__cause__


def _strict(tool: Callable[..., dict[str, Any]], annotations: ToolAnnotations) -> Tool:
    """The tool, which refuses arguments that it does not have: the library drops them,
    and a misspelled condition with them.
    """
    made = _PlainTool.from_function(_told(tool), annotations=annotations)
    arguments = made.fn_metadata.arg_model
    arguments.model_config["extra"] = "forbid"
    arguments.model_rebuild(force=True)
    made.parameters = arguments.model_json_schema(by_alias=True)
    return made


def _told(tool: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """The tool, whose errors models can read."""

    @functools.wraps(tool)
    def run(*arguments: Any, **named: Any) -> dict[str, Any]:
        try:
            return tool(*arguments, **named)
        except HashrangeError as error:
            raise ToolError(str(error)) from error

    return run


# --- faults of arguments --------------------------------------------------------------------------

_KINDS = {
    "string": "text",
    "dict": "an object",
    "list": "a list",
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
}
"""How pydantic's names of faults begin → what the argument must be."""
_BOUNDS = {
    "greater_than_equal": ("of at least", "ge"),
    "greater_than": ("above", "gt"),
    "less_than_equal": ("of at most", "le"),
    "less_than": ("below", "lt"),
}
"""pydantic's name of a fault → words, and the name of the bound."""


def argument_fault(tool: str, known: Sequence[str], error: ValidationError) -> str:
    """The sentence for the first fault that the protocol's library has found in the arguments of a tool, not in the
    library's words. Names and values are cut where they are long. `known`: names of the tool's arguments.
    """
    fault: Mapping[str, Any] = error.errors(include_url=False)[0]
    kind, place = fault["type"], [str(part)[:SHOWN_CHARACTERS_MAX] for part in fault["loc"]]
    name = place[0] if place else ""
    if kind == "extra_forbidden":
        return f"{tool} has no argument {name}.{did_you_mean(name, known) or ' It has ' + ', '.join(known) + '.'}"
    if kind == "missing":
        return f"{tool} needs the argument {name}."
    return (
        f"{tool}: {' of '.join(reversed(place))} is {show_value(fault['input'], 'object')};"
        f" it must be {_expected(kind, fault.get('ctx', {}))}."
    )


def _expected(kind: str, context: Mapping[str, Any]) -> str:
    if kind in _BOUNDS:
        words, bound = _BOUNDS[kind]
        return f"a number {words} {context[bound]}"
    return _KINDS.get(kind.partition("_")[0], "as the tool describes it")
