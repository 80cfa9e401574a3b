"""How are attributes masked, so that copies of production data can be tested with? By the rules of a TOML file:

    key = "any secret text"

    [attributes]
    email = "hash"
    phone = { fake = "+1 555 ### ####" }
    name = { replace = "removed" }
    "address.street" = "drop"
    "lines[].note" = "drop"

A path leads through maps by dots, and into each member of a list by `[]`. The same value with the same key always
becomes the same hash or fake, in every attribute and table, so that items which belong together still do.
"""

import base64
import hashlib
import hmac
import re
import tomllib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from hashrange.toolkit.failures import UsageFault
from hashrange.toolkit.moving.keys import BadRecord
from hashrange.toolkit.plain_items import PlainValueWrong, typed_value

TypedValue = dict[str, Any]
KINDS = '"drop", "hash", { replace = … } or { fake = "pattern" }'
EACH = "[]"
HASH_DIGITS = 32
LETTERS = "abcdefghijklmnopqrstuvwxyz"
_is_number = re.compile(r"-?[0-9]{1,38}").fullmatch
_steps = re.compile(r"\[\]|[^.\[\]]+").findall


class Rule(NamedTuple):
    """What becomes of the attributes at a path."""

    path: str
    steps: list[str]
    change: Callable[[TypedValue], TypedValue] | None
    """None: they are dropped."""


class Masks:
    """The rules of a file. They count what they change."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules
        self._unused = {rule.path for rule in rules}

    @property
    def unused(self) -> list[str]:
        """Paths of rules that have met no attribute yet, in the order of the file."""
        return [rule.path for rule in self._rules if rule.path in self._unused]

    def apply(self, item: dict[str, TypedValue]) -> None:
        """Mask an item, in place. Raises BadRecord."""
        for rule in self._rules:
            if _mask({"M": item}, rule.steps, rule.change):
                self._unused.discard(rule.path)


def _mask(value: TypedValue, steps: Sequence[str], change: Callable[[TypedValue], TypedValue] | None) -> bool:
    """Mask what is at the steps within a list or map, in place; False if there is nothing."""
    step, *others = steps
    kind = "L" if step == EACH else "M"
    if kind not in value:
        return False
    members = value[kind]
    if kind == "M" and step not in members:
        return False
    if not others and change is None:
        if kind == "L":
            value["L"] = []
        else:
            del members[step]
        return True
    places = range(len(members)) if kind == "L" else [step]
    has_met = False
    for place in places:
        if others:
            has_met = _mask(members[place], others, change) or has_met
        else:
            assert change is not None
            members[place], has_met = change(members[place]), True
    return has_met


def read_masks(path: str, key_names: Sequence[str]) -> Masks:
    """The rules of a file. `key_names`: attributes of the table's key. Raises UsageFault."""
    try:
        with open(path, "rb") as opened:
            document = tomllib.load(opened)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageFault(f"the rules {path} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageFault(f"the rules {path} are no TOML: {error}.") from None
    others = sorted(document.keys() - {"key", "attributes"})
    if others:
        raise UsageFault(f"the rules {path} have {others[0]}; they take key and [attributes] only.")
    attributes = document.get("attributes")
    if not isinstance(attributes, dict) or not attributes:
        raise UsageFault(f"the rules {path} have no [attributes] with a rule for each path.")
    secret = document.get("key", "")
    if not isinstance(secret, str):
        raise UsageFault(f"the rules {path} have a key that is no text.")
    rules = [_rule(path, name, wish, secret) for name, wish in attributes.items()]
    for rule, wish in zip(rules, attributes.values(), strict=True):
        if rule.path in key_names and (rule.change is None or (isinstance(wish, dict) and "replace" in wish)):
            raise UsageFault(f"the rules {path} take {rule.path} away, which is in the table's key. Hash or fake it.")
    return Masks(rules)


def _rule(file: str, path: str, wish: Any, secret: str) -> Rule:
    """The rule for a path. Raises UsageFault."""
    steps = _steps(path)
    if not steps or _written(steps) != path:
        raise UsageFault(
            f'the rules {file} have the path "{path}"; write names with dots between, and [] behind a list.'
        )
    if wish == "drop":
        return Rule(path, steps, None)
    if isinstance(wish, dict) and wish.keys() == {"replace"}:
        try:
            value = typed_value(wish["replace"])
        except PlainValueWrong as wrong:
            raise UsageFault(f"the rules {file} replace {path} by what is no value of DynamoDB: {wrong}") from None
        return Rule(path, steps, lambda _: value)
    is_fake = isinstance(wish, dict) and wish.keys() == {"fake"} and isinstance(wish["fake"], str)
    if wish != "hash" and not is_fake:
        raise UsageFault(f"the rules {file} say of {path} what is none of {KINDS}.")
    if not secret:
        raise UsageFault(f'the rules {file} need key = "any secret text", without which a hash or fake can be guessed.')
    make = _fake_maker(wish["fake"]) if is_fake else _hashed
    return Rule(path, steps, lambda value: _each_scalar(value, make, secret.encode()))


def _written(steps: Sequence[str]) -> str:
    """The path with these steps."""
    return "".join(step if step == EACH else f".{step}" for step in steps).removeprefix(".")


def _each_scalar(value: TypedValue, make: Callable[[str, str, bytes], str], secret: bytes) -> TypedValue:
    """A value whose strings, numbers and binary values are replaced, also those in sets, lists and maps."""
    ((kind, content),) = value.items()
    if kind in {"S", "N", "B"}:
        return {kind: make(kind, content, secret)}
    if kind in {"SS", "NS", "BS"}:
        return {kind: list(dict.fromkeys(make(kind[0], one, secret) for one in content))}
    if kind == "L":
        return {"L": [_each_scalar(one, make, secret) for one in content]}
    if kind == "M":
        return {"M": {name: _each_scalar(one, make, secret) for name, one in content.items()}}
    return value


def _digest(kind: str, content: str, secret: bytes) -> bytes:
    return hmac.new(secret, f"{kind}:{content}".encode(), hashlib.sha256).digest()


def _hashed(kind: str, content: str, secret: bytes) -> str:
    """The hash of a value: text of 32 hexadecimal digits, 32 bytes, or a number with as many digits as before."""
    digest = _digest(kind, content, secret)
    if kind == "S":
        return digest.hex()[:HASH_DIGITS]
    if kind == "B":
        return base64.b64encode(digest).decode()
    digits = max(1, sum(map(str.isdigit, content)))
    number = int.from_bytes(digest) % 10 ** min(digits, 38)
    return f"-{number}" if content.startswith("-") and number else str(number)


def _fake_maker(pattern: str) -> Callable[[str, str, bytes], str]:
    """Makes fakes by a pattern: `#` is a digit, `?` a letter, and all else stays."""

    def make(kind: str, content: str, secret: bytes) -> str:
        left = int.from_bytes(_digest(kind, content, secret))
        made = []
        for character in pattern:
            if character in "#?":
                choices = "0123456789" if character == "#" else LETTERS
                left, place = divmod(left, len(choices))
                made.append(choices[place])
            else:
                made.append(character)
        text = "".join(made)
        if kind == "N" and not _is_number(text):
            raise BadRecord(f"a number cannot become {pattern}, the fake of its rule.")
        return text if kind != "B" else base64.b64encode(text.encode()).decode()

    return make
