"""Rules of masks: what they change, what they leave, and what is wrong with a file of rules."""

import base64
from pathlib import Path
from typing import Any

import pytest

from hashrange.cli.main import DONE, FAILED, WRONG_USE
from hashrange.toolkit.failures import UsageFault
from hashrange.toolkit.moving.masking import read_masks
from tests.unit.toolkit.moved_tables import Tables

RULES = """
key = "secret"

[attributes]
email = "hash"
phone = { fake = "+1 555 ### ##??" }
name = { replace = "removed" }
"address.street" = "drop"
"lines[].note" = "drop"
"lines[].sku" = "hash"
total = "hash"
"""


@pytest.fixture
def tables(endpoint: str, tmp_path: Path, capsys: Any) -> Tables:
    return Tables(endpoint, tmp_path, capsys)


def masked(folder: Path, rules: str, item: dict[str, Any]) -> dict[str, Any]:
    path = folder / "rules.toml"
    path.write_text(rules, encoding="utf-8")
    masks = read_masks(str(path), ["id"])
    masks.apply(item)
    assert not masks.unused
    return item


def rule(text: str, secret: str = "secret") -> str:
    return f'key = "{secret}"\n[attributes]\na = {text}\n'


def test_a_load_masks_what_the_rules_say(tables: Tables) -> None:
    tables.make("Masked")
    item = '{"id":"%s","at":1,"email":"a@b.c","phone":"5","name":"N","address":{"street":"S","town":"T"},'
    item += '"lines":[{"sku":"a@b.c","note":"x"},{"sku":"2"}],"total":-12.5,"left":true}\n'
    path = tables.write("items.jsonl", item % "a" + item % "b")
    rules = tables.write("rules.toml", RULES + 'emial = "hash"\n')
    assert tables.run("load", path, "--table", "Masked", "--mask", rules) == DONE
    assert "Note: these rules have met no attribute: emial.\n" in tables.told
    first, second = tables.items("Masked")
    assert {**first, "id": second["id"]} == second, "the same value becomes the same mask"
    assert first["name"] == {"S": "removed"}
    assert first["address"] == {"M": {"town": {"S": "T"}}}
    assert first["left"] == {"BOOL": True}
    assert len(first["email"]["S"]) == 32
    assert first["lines"]["L"][0] == {"M": {"sku": first["email"]}}
    assert first["lines"]["L"][1]["M"]["sku"] != first["email"]
    assert first["phone"]["S"].startswith("+1 555 ")
    assert not set(first["phone"]["S"][7:10]) - set("0123456789")
    assert first["phone"]["S"][-2:].isalpha()
    assert -999 <= float(first["total"]["N"]) < 0
    for secret in ("a@b.c", "-12.5"):
        assert secret not in str(first)


@pytest.mark.parametrize(
    ("rules", "value", "expected"),
    [
        (rule('"drop"'), {"S": "x"}, None),
        (rule("{ replace = 5 }"), {"S": "x"}, {"N": "5"}),
        (rule('{ fake = "x" }'), {"B": "AQ=="}, {"B": base64.b64encode(b"x").decode()}),
        (rule('{ fake = "7" }'), {"N": "1"}, {"N": "7"}),
        (rule('{ fake = "x" }'), {"SS": ["a", "b"]}, {"SS": ["x"]}),
        (rule('{ fake = "x" }'), {"L": [{"S": "a"}, {"NULL": True}]}, {"L": [{"S": "x"}, {"NULL": True}]}),
        (rule('{ fake = "x" }'), {"M": {"b": {"S": "a"}}}, {"M": {"b": {"S": "x"}}}),
        (rule('"hash"'), {"BOOL": True}, {"BOOL": True}),
    ],
)
def test_what_becomes_of_a_value(tmp_path: Path, rules: str, value: Any, expected: Any) -> None:
    item = masked(tmp_path, rules, {"id": {"S": "1"}, "a": value})
    assert item == {"id": {"S": "1"}} | ({} if expected is None else {"a": expected})


def test_a_hash_depends_on_the_key_and_the_type(tmp_path: Path) -> None:
    hashes = [
        masked(tmp_path, rule('"hash"', secret), {"a": {kind: "12"}})["a"][kind]
        for secret in ("x", "y")
        for kind in ("S", "N", "B")
    ]
    assert len(set(hashes)) == len(hashes)
    assert masked(tmp_path, rule('"hash"', "x"), {"a": {"S": "12"}})["a"] == {"S": hashes[0]}


def test_members_of_lists_are_dropped(tmp_path: Path) -> None:
    rules = '[attributes]\n"a[]" = "drop"\n"b[][].c" = "drop"\n'
    item = {"a": {"L": [{"S": "x"}]}, "b": {"L": [{"L": [{"M": {"c": {"S": "x"}, "d": {"S": "y"}}}]}]}}
    assert masked(tmp_path, rules, item) == {"a": {"L": []}, "b": {"L": [{"L": [{"M": {"d": {"S": "y"}}}]}]}}


def test_a_number_that_cannot_be_faked_is_a_bad_record(tables: Tables) -> None:
    tables.make("Unmasked")
    rules = tables.write("rules.toml", rule('{ fake = "no ##" }'))
    path = tables.write("items.jsonl", '{"id":"1","at":1,"a":5}\n{"id":"2","at":1,"a":"x"}\n')
    assert tables.run("load", path, "--table", "Unmasked", "--mask", rules) == FAILED
    assert f"{path}:1: it cannot be masked: a number cannot become no ##, the fake of its rule.\n" in tables.told
    assert [item["id"]["S"] for item in tables.items("Unmasked")] == ["2"]


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        ("a =", "are no TOML: "),
        ("", "have no [attributes] with a rule for each path."),
        ("[attributes]\n", "have no [attributes] with a rule for each path."),
        ('attribute = "x"\n', "have attribute; they take key and [attributes] only."),
        ('[attributes]\na = "hash"\n', 'need key = "any secret text", without which a hash or fake can be guessed.'),
        ('[attributes]\na = "hide"\n', 'say of a what is none of "drop", "hash", { replace = … } or { fake'),
        ("[attributes]\na = { fake = 5 }\n", 'say of a what is none of "drop"'),
        ("[attributes]\na = { replace = 1979-05-27 }\n", "replace a by what is no value of DynamoDB: "),
        ('[attributes]\n"a..b" = "drop"\n', 'have the path "a..b"; write names with dots between'),
        ('[attributes]\nid = "drop"\n', "take id away, which is in the table's key. Hash or fake it."),
        ('key = 5\n[attributes]\na = "drop"\n', "have a key that is no text."),
    ],
)  # fmt: skip
def test_wrong_rules_are_told_in_a_sentence(tmp_path: Path, rules: str, sentence: str) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(rules, encoding="utf-8")
    with pytest.raises(UsageFault) as raised:
        read_masks(str(path), ["id"])
    assert str(raised.value).startswith(f"the rules {path} ")
    assert sentence in str(raised.value)


def test_wrong_rules_are_wrong_use(tables: Tables) -> None:
    tables.make("Unused")
    rules = tables.write("rules.toml", "a =")
    path = tables.write("items.jsonl", "")
    assert tables.run("load", path, "--table", "Unused", "--mask", rules) == WRONG_USE
