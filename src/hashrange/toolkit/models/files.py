"""How are the files of models read and written? As a whole; what is there already is not overwritten."""

import json
import os
from importlib.resources import files

import msgspec

from hashrange.toolkit.failures import UsageFault
from hashrange.toolkit.models.document import SchemaDocument, document_schema

TEMPLATE = ("exported", "assets", "single-table-schema.json")
"""The document to begin with, which `hashrange toolkit export` writes, too."""
TEMPLATE_SCHEMA = "single-table-schema.schema.json"
"""The file with the JSON Schema that it names."""
FILE_BYTES_MAX = 4_000_000
"""Largest file that is read. The document to begin with has some 20,000 bytes."""
IS_THERE = "the file {path} exists already. Name another one."


def read_file(path: str) -> bytes:
    """The content of a file. Raises UsageFault."""
    try:
        with open(path, "rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        raise UsageFault(f"the file {path} cannot be read: {_reason(error)}. Name another one.") from error
    if len(content) > FILE_BYTES_MAX:
        raise UsageFault(
            f"the file {path} has more than {FILE_BYTES_MAX:,} bytes. Leave out samples, or split the model."
        )
    return content


def require_new(path: str) -> None:
    """Raise UsageFault if a file is there already, before there is something to write into it."""
    if os.path.lexists(path):
        raise UsageFault(IS_THERE.format(path=path))


def write_new_file(path: str, text: str) -> None:
    """Write a new file. Raises UsageFault if it is there already, or cannot be written."""
    try:
        with open(path, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise UsageFault(IS_THERE.format(path=path)) from None
    except (OSError, ValueError) as error:
        raise UsageFault(f"the file {path} cannot be written: {_reason(error)}. Name another one.") from error


def _reason(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or "its name cannot be used"


def document_text(document: SchemaDocument, schema_path: str) -> str:
    """A document as text of a file. `schema_path`: the JSON Schema that it names for editors."""
    members = {"$schema": os.path.basename(schema_path)} | msgspec.to_builtins(document)
    return json.dumps(members, indent=2, ensure_ascii=False) + "\n"


def template_text(schema_path: str) -> str:
    """The document to begin with. `schema_path`: the JSON Schema that it names for editors."""
    text = files("hashrange.toolkit").joinpath(*TEMPLATE).read_text(encoding="utf-8")
    named = json.dumps(os.path.basename(schema_path), ensure_ascii=False)
    return text.replace(json.dumps(TEMPLATE_SCHEMA), named, 1)


def schema_text() -> str:
    """The JSON Schema of documents, as text of a file."""
    return json.dumps(document_schema(), indent=2) + "\n"
