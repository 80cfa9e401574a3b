"""A document that contradicts itself is told in sentences that name the place and the way out."""

from typing import Any

import pytest

from hashrange.toolkit.failures import UsageFault
from hashrange.toolkit.models.document import parse_document
from hashrange.toolkit.models.faults import document_faults
from tests.unit.toolkit.models.documents import SHOP, changed, read

ORDERS, STATUS, CUSTOMER = "accessPatterns/0", "accessPatterns/2", "accessPatterns/1"
OTHER_TABLE = SHOP["tables"][0] | {"TableName": "Other"}


def nested(levels: int) -> list[Any]:
    """A list in a list in a list."""
    return [nested(levels - 1)] if levels else []


def test_a_good_model_has_no_fault() -> None:
    assert list(document_faults(read(SHOP))) == []


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"tables/+": SHOP["tables"][0]}, "two tables are named Shop; give each a name of its own."),
        ({"tables/+": OTHER_TABLE}, 'the entity Customer must say in which table it is: add "table", one of Shop, Ot'),
        ({"entities/1/name": "Customer"}, "two entities are named Customer; give each"),
        ({"entities/0/table": "Shoop"}, "the entity Customer names the table Shoop, which is not there. Did you mean "),
        ({CUSTOMER + "/name": "ordersOfStatus"}, "two access patterns are named ordersOfStatus; give"),
        ({CUSTOMER + "/entities": ["Custmer"]}, "the access pattern customer names the entity Custmer, which is not"),
        ({CUSTOMER + "/thenWrites": ["Bill"]}, "the access pattern customer names the entity Bill, which is not there"),
        ({CUSTOMER + "/table": "T"}, "the access pattern customer names the table T, which is not there. There are: S"),
        ({"timeToLive": {"attribute": "a", "entities": {"Bill": {"days": 1}}}}, "timeToLive names the entity Bill, wh"),
        ({"timeToLive": {"attribute": "a", "entities": {"Order": {"days": 1}}}}, "timeToLive: the entity Order has no"),
        ({"capacity": {"tables": {"T": {"readUnits": 1, "writeUnits": 1}}}}, "capacity names the table T, which is no"),
        ({"entities/0/key/SK": None}, "the entity Customer: the key lacks SK, which is in the key of the table Shop."),
        ({"entities/0/key/X": "a"}, "the entity Customer: the key has X, which is not in the key of the table Shop. T"),
        ({"entities/0/key/SK": "A#{name"}, 'the entity Customer: the key: the template "A#{name" of SK has a brace w'),
        ({"entities/0/key/SK": "A#{nme}"}, 'the entity Customer: the key: the template "A#{nme}" of SK needs the attr'),
        ({"entities/1/key/SK": "{count}"}, 'the entity Order: the key: the template "{count}" of SK needs count in ea'),
        ({"entities/1/indexes/GSI1/GSI1SK": None}, "the entity Order: the key of the index GSI1 lacks GSI1SK, which i"),
        ({"entities/1/indexes": {"GSI2": {}}}, "the entity Order names the index GSI2, which is not there. Did you me"),
        ({"tables/0/AttributeDefinitions/1/AttributeType": "N"}, "the entity Customer: the key: SK is of type N, so i"),
        ({"entities/0/samples/0/name": None}, "sample 1 of the entity Customer lacks name, which each item must have."),
        ({"entities/0/samples/0/age": 4}, "sample 1 of the entity Customer has age, which is no attribute of the enti"),
        ({"entities/1/samples/1/total": "4"}, "sample 2 of the entity Order: total is of type N, so it must be a numb"),
        ({"entities/0/attributes/name/begins": "B"}, 'sample 1 of the entity Customer: name must begin with "B", as t'),
        ({"entities/0/items": [{"PK": {"S": "a"}}]}, "item 1 of the entity Customer has no SK of type S, which is in"),
        ({"entities/0/items": [{"PK": {"S": "a"}, "SK": {"S": "a"}, "m": {"M": {"M": {"x": {"N": "1"}}}}}]},
         "item 1 of the entity Customer is no item of DynamoDB: a value has another form than its type. Mend it."),
        ({"entities/0/attributes/customer/begins": "x" * 2040}, "the entity Customer: the key: the template of PK mak"),
        ({"entities/0/key/SK": "P" * 1025}, "the entity Customer: the key: the template of SK makes values of more th"),
        ({"entities/0/key/SK": "é" * 513}, "the entity Customer: the key: the template of SK makes values of more tha"),
        ({"entities/0/samples/0/customer": "x" * 2040}, "the entity Customer: the key: the template of PK makes a val"),
        ({"entities/1/samples/1/created": "x" * 1025}, "the entity Order: the key: the template of SK makes a value o"),
        ({"entities/1/indexes/GSI1/GSI1SK": "{created}" * 99, "entities/1/samples/1/created": "x" * 99},
         "the entity Order: the key of the index GSI1: the template of GSI1SK makes a value of more than 1,024 bytes"),
        ({"entities/0/samples": [{}] * 10_000}, "the document has 10,002 samples and items, and may have 10,000. Leav"),
        ({"entities/0/attributes/b": {"type": "S"}, "entities/0/samples": [
            {"customer": str(number), "name": "", "b": "x" * 399_000} for number in range(14)]},
         "samples and items make more than 5,000,000 bytes of items. Leave some out."),
        ({"entities/0/attributes/l": {"type": "L"}, "entities/0/samples/0/l": nested(40)},
         "sample 1 of the entity Customer is no item of DynamoDB: Nesting Levels have exceeded supported limits"),
        ({CUSTOMER + "/key/SK": None}, "the access pattern customer: the key lacks SK, which is in the key of the tab"),
        ({CUSTOMER + "/index": "GSI1"}, "the access pattern customer is a GetItem of an index, which DynamoDB does no"),
        ({CUSTOMER + "/filter": [{"attribute": "name", "condition": "exists"}]}, "the access pattern customer is a G"),
        ({CUSTOMER + "/partitionKey": "a"}, "the access pattern customer is a GetItem, which has no partitionKey. Tak"),
        ({STATUS + "/index": "GSI3"}, "the access pattern ordersOfStatus names the index GSI3, which is not there."),
        ({STATUS + "/partitionKey": None}, "the access pattern ordersOfStatus: partitionKey needs a template for ea"),
        ({STATUS + "/sortKey": [{"condition": "=", "values": ["a"]}] * 2}, "the access pattern ordersOfStatus: sortKe"),
        ({STATUS + "/sortKey/condition": "between"}, 'the access pattern ordersOfStatus: "between" needs 2 in values'),
        ({STATUS + "/sortKey/values": ["{a"]}, 'the access pattern ordersOfStatus: the template "{a" has a brace with'),
        ({STATUS + "/sample/values/month": None}, "the access pattern ordersOfStatus: the sample has no value for mon"),
        ({STATUS + "/sample/values/month": "x" * 2049},
         'the access pattern ordersOfStatus: the template "{month}…" makes a text of more than 2,048 bytes of the sam'),
        ({STATUS + "/filter": [{"attribute": "GSI1SK", "condition": "=", "values": ["a"]}]}, "the access pattern orde"),
        ({STATUS + "/attributes": ["totl"]}, "the access pattern ordersOfStatus names the attribute totl, which its"),
        ({STATUS + "/operation": "SearchVectors", STATUS + "/partitionKey": None, STATUS + "/sortKey": None},
         "the access pattern ordersOfStatus names the vector index GSI1, which is not there. There are: none."),
    ],
)  # fmt: skip
def test_a_contradiction_is_told(changes: dict[str, Any], sentence: str) -> None:
    faults = list(document_faults(read(changed(changes))))
    assert faults
    assert faults[0].startswith(sentence)


def test_of_many_names_that_are_known_some_are_told() -> None:
    many = [SHOP["entities"][0] | {"name": f"Kind{number}"} for number in range(99)]
    fault = next(document_faults(read(changed({"entities": many}))))
    assert fault.endswith("There are: " + ", ".join(f"Kind{number}" for number in range(20)) + ", ….")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"entitys": []}, "model.json: it has no member entitys. Did you mean entities?"),
        ({"tables": []}, "model.json: tables has 0 values; it must be a list of 1 to 100 values."),
        ({"entities/1/attributes/total/type": "number"}, "model.json: type of total of attributes of entities 2 is"),
        ({"accessPatterns/1/operation": "Get"}, 'model.json: operation of accessPatterns 2 is "Get", which is none of'),
        (
            {"tables/0/KeySchema/0/KeyType": None},
            "model.json: KeySchema 1 of tables 1 lacks the member KeyType: it mus",
        ),
        ({"accessPatterns/2/sortKey/values": "a"}, 'model.json: values of sortKey of accessPatterns 3 is "a"; it must'),
        ({"entities/0/key/PK": "x" * 2049}, "model.json: PK of key of entities 1 is"),
        ({"entities/0/attributes/name/begins": "x" * 2049}, "model.json: begins of name of attributes of entities 1"),
        (
            {"entities/0/itemBytes": 10**18},
            "model.json: itemBytes of entities 1 is 1000000000000000000; it must be a wh",
        ),
        (
            {"entities/0/itemCount": 10**13},
            "model.json: itemCount of entities 1 is 10000000000000; it must be a whole n",
        ),
        (
            {"entities/0/writesPerSecond": 1e308},
            "model.json: writesPerSecond of entities 1 is 1e+308; it must be a numb",
        ),
        (
            {"accessPatterns/0/itemsPerRequest": 1e10},
            "model.json: itemsPerRequest of accessPatterns 1 is 10000000000.0",
        ),
        (
            {"accessPatterns/0/requestsPerSecond": True},
            "model.json: requestsPerSecond of accessPatterns 1 is true; it m",
        ),
        (
            {"entities/0/attributes/name/distinctValues": 10**13},
            "model.json: distinctValues of name of attributes of en",
        ),
        (
            {"entities": [SHOP["entities"][0]] * 1001},
            "model.json: entities has 1,001 values; it must be a list of 1 to",
        ),
        (
            {"accessPatterns": [SHOP["accessPatterns"][0]] * 501},
            "model.json: accessPatterns has 501 values; it must be",
        ),
        ({"entities/0/name": "x" * 256}, "model.json: name of entities 1 is"),
    ],
)
def test_another_form_is_told_with_its_place(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageFault) as raised:
        read(changed(changes))
    assert str(raised.value).startswith(sentence)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b'{"name": 1,}', "model.json is no JSON at line 1, column 1"),
        (b"[]", "model.json: it is a list; it must be an object."),
        (b"[" * 100_000, "model.json is no JSON"),
        (b"\xff", "model.json is no JSON"),
        (b'{"name": 1e400}', "model.json has a number with too many digits, or too large a one. Mend it."),
        (
            b'{"name": ' + b"9" * 5000 + b"}",
            "model.json has a number with too many digits, or too large a one. Mend it.",
        ),
        (b'{"name": NaN}', "model.json is no JSON. Mend it, or name another file."),
        (
            b'{"name": ' + b"[" * 100 + b"]" * 100 + b"}",
            "model.json is nested too deeply: it has more than 100 levels.",
        ),
        (b'{"name": [' + b"1," * 199_997 + b"1]}", "model.json: name is a list"),
        (b'{"name": [' + b"1," * 199_998 + b"1]}", "model.json has more than 200,000 values. Leave out samples, or"),
        (b'{"name": ' + b"[" * 99 + b"]" * 99 + b"}", "model.json: name is a list; it must be text of 1 to 255 charac"),
    ],
)
def test_what_is_no_document_is_told(text: bytes, sentence: str) -> None:
    with pytest.raises(UsageFault) as raised:
        parse_document(text, "model.json")
    assert str(raised.value).startswith(sentence)
