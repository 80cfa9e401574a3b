"""In which languages is a design written? The table below names each with its function, its file and what it leaves to
further commands.
"""

import json
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import NamedTuple

from hashrange.toolkit.design_requests import as_command, create_table_members, design_requests
from hashrange.toolkit.table_design import TableDesign


class DesignLanguage(NamedTuple):
    """A language of infrastructure."""

    writer: tuple[str, str]
    """Module and name of the function that writes a design."""
    file_ending: str


LANGUAGES = {
    "cloudformation": DesignLanguage(("hashrange.toolkit.design_cloudformation", "cloudformation"), ".yaml"),
    "cdk": DesignLanguage(("hashrange.toolkit.design_cdk", "cdk"), ".ts"),
    "terraform": DesignLanguage(("hashrange.toolkit.design_terraform", "terraform"), ".tf"),
    "json": DesignLanguage(("hashrange.toolkit.design_languages", "create_table_json"), ".json"),
}


def write_design(design: TableDesign, language: str) -> str:
    """The text that makes the table. Raises ToolkitFailure if a library for it is missing."""
    module, name = LANGUAGES[language].writer
    write: Callable[[TableDesign], str] = getattr(import_module(module), name)
    return write(design)


def create_table_json(design: TableDesign) -> str:
    """CreateTable for `aws dynamodb create-table --cli-input-json file://…`."""
    return json.dumps(create_table_members(design), indent=2, ensure_ascii=False) + "\n"


def commands_left(design: TableDesign, language: str) -> Iterable[str]:
    """Commands of the AWS CLI for what the language does not say: CreateTable knows less than a design."""
    return [as_command(one) for one in design_requests(design)[1:]] if language == "json" else []
