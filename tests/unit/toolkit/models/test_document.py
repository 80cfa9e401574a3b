"""The JSON Schema that ships with documents says the same as the decoder, and the template to begin with is sound."""

import json
from importlib.resources import files
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from hashrange.toolkit.failures import UsageFault
from hashrange.toolkit.models.document import document_schema, parse_document
from hashrange.toolkit.models.faults import document_faults
from hashrange.toolkit.models.files import TEMPLATE, template_text
from tests.unit.toolkit.models.documents import NOTES, SHOP, Document, changed, read

VALIDATOR = Draft202012Validator(document_schema())


def is_taken(document: Document) -> bool:
    try:
        read(document)
    except UsageFault:
        return False
    return True


def test_the_template_is_sound() -> None:
    text = files("hashrange.toolkit").joinpath(*TEMPLATE).read_bytes()
    assert list(document_faults(parse_document(text, "template"))) == []
    VALIDATOR.validate(json.loads(text))
    written = json.loads(template_text("some/model.schema.json"))
    assert written.pop("$schema") == "model.schema.json"
    assert written == {name: value for name, value in json.loads(text).items() if name != "$schema"}


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(document_schema())


@pytest.mark.parametrize("document", [SHOP, NOTES])
def test_both_take_good_documents(document: Document) -> None:
    VALIDATOR.validate(document)
    assert is_taken(document)


@pytest.mark.parametrize(
    "changes",
    [
        {"name": ""},
        {"version": 2},
        {"tables": []},
        {"entities": None},
        {"more": 1},
        {"tables/0/more": 1},
        {"tables/0/KeySchema/0/KeyType": "hash"},
        {"tables/0/GlobalSecondaryIndexes/0/Projection": {}},
        {"entities/0/attributes/name/type": "text"},
        {"entities/0/itemBytes": -1},
        {"entities/0/itemBytes": 1.5},
        {"entities/0/key/PK": 7},
        {"entities/0/key/PK": "x" * 2049},
        {"accessPatterns/0/entities": []},
        {"accessPatterns/0/operation": "PutItem"},
        {"accessPatterns/0/topK": 101},
        {"accessPatterns/0/limit": 0},
        {"accessPatterns/0/sample": {"values": {}}},
        {"accessPatterns/2/sortKey": "x"},
        {"accessPatterns/2/partitionKey": [1]},
    ],
)
def test_both_refuse_other_documents(changes: dict[str, Any]) -> None:
    made = changed(changes)
    assert not VALIDATOR.is_valid(made)
    assert not is_taken(made)
