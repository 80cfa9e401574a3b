"""Random requests in two forms: with expressions, and as a PartiQL statement that must mean the same."""

import random
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple

from tests.model.item_model import Item, Native, Path, item_to_wire, to_wire
from tests.model.random_expressions import (
    LISTS,
    NUMBERS,
    PATHS,
    SETS,
    Placeholders,
    any_value,
    random_condition,
)

FILTER_PATHS = [path for path in PATHS if path[0] not in ("pk", "sk")]
PARTITIONS: list[Native] = [("S", value) for value in ("a", "b'", "ä")]
SORTS: list[Native] = [("N", Decimal(value)) for value in ("-1000", "-1.5", "0", "0.05", "1", "1E+3")]
TEXTS: list[Native] = [("S", value) for value in ("x", "xy", "y")]
_TOKEN = re.compile(r"#n[0-9]+|:v[0-9]+")
SOURCES = (None, None, None, "global", "local")


class Said(NamedTuple):
    """One request in both forms. `{t}` stands for the table's name in the statement."""

    operation: str
    members: dict[str, Any]
    statement: str
    parameters: list[dict[str, Any]]
    more: dict[str, Any]
    """Further members of ExecuteStatement."""


class Speaker:
    """Makes requests; all random choices come from one generator."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def make(self) -> Said:
        makers: dict[Callable[[], Said], int] = {
            self.put: 20, self.update: 25, self.delete: 8, self.get: 12, self.query: 25, self.scan: 8,
        }  # fmt: skip
        (maker,) = self.chance.choices(list(makers), list(makers.values()))
        return maker()

    # --- parts --------------------------------------------------------------------------------

    def key(self) -> Item:
        return {"pk": self.chance.choice(PARTITIONS), "sk": self.chance.choice(SORTS)}

    def condition(self, to: Placeholders, likely: float = 0.5) -> str | None:
        return random_condition(to, FILTER_PATHS)[0] if self.chance.random() < likely else None

    def translate(self, text: str, to: Placeholders, parameters: list[dict[str, Any]]) -> str:
        """An expression's text in PartiQL; values become literals or parameters, in the order of the text."""

        def replace(match: re.Match[str]) -> str:
            token = match.group()
            if token.startswith("#"):
                return quoted(to.names[token])
            return self.value(to.values[token], parameters)

        return _TOKEN.sub(replace, text)

    def value(self, wire: dict[str, Any], parameters: list[dict[str, Any]]) -> str:
        literal = literal_of(wire) if self.chance.random() < 0.6 else None
        if literal is not None:
            return literal
        parameters.append(wire)
        return "?"

    def key_text(self, key: Item, parameters: list[dict[str, Any]]) -> str:
        parts = [f"{name} = {self.value(to_wire(value), parameters)}" for name, value in key.items()]
        return " AND ".join(parts)

    # --- writes -------------------------------------------------------------------------------

    def put(self) -> Said:
        names = self.chance.sample(["a", "b", "c", "size", "m", "l"], self.chance.randint(2, 6))
        item = self.key() | {name: any_value(self.chance) for name in names}
        if self.chance.random() < 0.7:
            item["g"] = self.chance.choice(TEXTS)
        if self.chance.random() < 0.7:
            item["h"] = self.chance.choice(SORTS)
        parameters: list[dict[str, Any]] = []
        wire = item_to_wire(item)
        members = ", ".join([f"{text_of(name)}: {self.value(value, parameters)}" for name, value in wire.items()])
        asked = {"Item": wire, "ConditionExpression": "attribute_not_exists(pk)"}
        return Said("PutItem", asked, f"INSERT INTO {{t}} VALUE {{{members}}}", parameters, {})

    def delete(self) -> Said:
        key, to = self.key(), Placeholders(self.chance)
        parameters: list[dict[str, Any]] = []
        asked: dict[str, Any] = {"Key": item_to_wire(key)}
        statement = f"DELETE FROM {{t}} WHERE {self.key_text(key, parameters)}"
        condition = self.condition(to)
        if condition is not None:
            asked |= {"ConditionExpression": f"attribute_not_exists(pk) OR {condition}"}
            statement += f" AND ({self.translate(condition, to, parameters)})"
        if self.chance.random() < 0.5:
            asked["ReturnValues"] = "ALL_OLD"
            statement += " RETURNING ALL OLD *"
        return Said("DeleteItem", asked | to.members(), statement, parameters, {})

    def update(self) -> Said:
        key, to = self.key(), Placeholders(self.chance)
        parameters: list[dict[str, Any]] = []
        expression, clauses = self.actions(to, parameters)
        statement = f"UPDATE {{t}} {clauses} WHERE {self.key_text(key, parameters)}"
        condition = self.condition(to, 0.25)
        asked = {"Key": item_to_wire(key), "UpdateExpression": expression}
        asked["ConditionExpression"] = "attribute_exists(pk)" + (f" AND {condition}" if condition else "")
        if condition is not None:
            statement += f" AND ({self.translate(condition, to, parameters)})"
        wanted = self.chance.choice(["", "ALL OLD", "ALL NEW", "MODIFIED OLD", "MODIFIED NEW"])
        if wanted:
            asked["ReturnValues"] = wanted.replace("MODIFIED", "UPDATED").replace(" ", "_")
            statement += f" RETURNING {wanted} *"
        return Said("UpdateItem", asked | to.members(), statement, parameters, {})

    def actions(self, to: Placeholders, parameters: list[dict[str, Any]]) -> tuple[str, str]:
        """An UpdateExpression, and the equivalent clauses of a statement."""
        chance = self.chance
        expression: dict[str, list[str]] = {}
        clauses = []
        for top in chance.sample(["a", "b", "c", "size", "m", "l", "h"], chance.choice([1, 1, 1, 2, 3])):
            path: Path = chance.choice([path for path in [*PATHS, ("h",)] if path[0] == top])
            target = to.path(path)
            said = self.translate(target, to, parameters)
            kind = chance.choice(["SET", "SET", "SET", "REMOVE", "REMOVE", "ADD", "DELETE"])
            if kind == "SET":
                operand = self.operand(to)
                written = f"{target} = {operand}"
                clauses.append(f"SET {said} = {self.translate(operand, to, parameters)}")
            elif kind == "REMOVE":
                written = target
                clauses.append(f"REMOVE {said}")
            else:
                value = to.value(chance.choice(SETS))
                written = f"{target} {value}"
                function = {"ADD": "set_add", "DELETE": "SET_DELETE"}[kind]
                clauses.append(f"SET {said} = {function}({said}, {self.translate(value, to, parameters)})")
            expression.setdefault(kind, []).append(written)
        return " ".join([f"{kind} {', '.join(texts)}" for kind, texts in expression.items()]), " ".join(clauses)

    def operand(self, to: Placeholders) -> str:
        chance = self.chance
        kind = chance.randint(0, 7)
        if kind in (1, 2, 5, 6, 7):
            return to.value(any_value(chance))
        path = to.path(chance.choice(PATHS))
        match kind:
            case 0:
                return path
            case 3:
                return f"{path} {chance.choice('+-')} {to.value(chance.choice(NUMBERS))}"
        return f"list_append({path}, {to.value(chance.choice(LISTS))})"

    # --- reads --------------------------------------------------------------------------------

    def get(self) -> Said:
        key, to = self.key(), Placeholders(self.chance)
        parameters: list[dict[str, Any]] = []
        asked: dict[str, Any] = {"Key": item_to_wire(key), "ConsistentRead": True}
        chosen = self.projection(asked)
        statement = f"SELECT {chosen} FROM {{t}} WHERE {self.key_text(key, parameters)}"
        return Said("GetItem", asked | to.members(), statement, parameters, {"ConsistentRead": True})

    def projection(self, asked: dict[str, Any]) -> str:
        """Top-level attributes, or all: nested ones have another form in a statement's result."""
        if self.chance.random() < 0.6:
            return "*"
        names = self.chance.sample(["pk", "sk", "g", "h"], self.chance.randint(1, 3))
        asked["ProjectionExpression"] = ", ".join(names)
        return ", ".join(map(quoted, names))

    def source(self, asked: dict[str, Any]) -> tuple[str, str, str, list[Native], list[Native]]:
        """The source of a read: its text in FROM, and its key attributes with possible values."""
        index = self.chance.choice(SOURCES)
        if index is None:
            asked["ConsistentRead"] = True
            return "{t}", "pk", "sk", PARTITIONS, SORTS
        asked["IndexName"] = index
        if index == "global":
            return '{t}."global"', "g", "h", TEXTS, SORTS
        asked["ConsistentRead"] = True
        return '{t}."local"', "pk", "h", PARTITIONS, SORTS

    def query(self) -> Said:
        to = Placeholders(self.chance)
        parameters: list[dict[str, Any]] = []
        asked: dict[str, Any] = {}
        source, partition_name, sort_name, partitions, sorts = self.source(asked)
        chosen = self.projection(asked)
        is_lookup = False
        keys = f"{to.path((partition_name,))} = {to.value(self.chance.choice(partitions))}"
        match self.chance.randint(0, 3):
            case 1:
                operator = self.chance.choice(["=", "<", "<=", ">", ">="])
                keys += f" AND {to.path((sort_name,))} {operator} {to.value(self.chance.choice(sorts))}"
                is_lookup = operator == "=" and source == "{t}"
            case 2:
                low, high = sorted((self.chance.choice(sorts) for _ in range(2)), key=lambda value: value[1])
                keys += f" AND {to.path((sort_name,))} BETWEEN {to.value(low)} AND {to.value(high)}"
        asked["KeyConditionExpression"] = keys
        where = self.translate(keys, to, parameters)
        condition = self.condition(to) if source == "{t}" else None  # indexes refuse what they do not project
        if condition is not None:
            asked["FilterExpression"] = condition
            where += f" AND ({self.translate(condition, to, parameters)})"
        if self.chance.random() < 0.4:
            asked["ScanIndexForward"] = False
            where += f" ORDER BY {quoted(sort_name)} DESC"
        statement = f"SELECT {chosen} FROM {source} WHERE {where}"
        said = Said("Query", asked | to.members(), statement, parameters, {})
        if is_lookup:  # read as by GetItem: without pages
            return said._replace(more={"ConsistentRead": True})
        return self.paged(said)

    def scan(self) -> Said:
        to = Placeholders(self.chance)
        parameters: list[dict[str, Any]] = []
        asked: dict[str, Any] = {}
        source, *_ = self.source(asked)
        chosen = self.projection(asked)
        statement = f"SELECT {chosen} FROM {source}"
        condition = self.condition(to) if source != '{t}."local"' else None  # because with it a Scan fetches the items
        if condition is not None:
            asked["FilterExpression"] = condition
            statement += f" WHERE {self.translate(condition, to, parameters)}"
        return self.paged(Said("Scan", asked | to.members(), statement, parameters, {}))

    def paged(self, said: Said) -> Said:
        limit = self.chance.choice([None, None, 1, 3])
        more = {} if limit is None else {"Limit": limit}
        if "ConsistentRead" in said.members:
            more["ConsistentRead"] = True
        return said._replace(members=said.members | more, more=more)


# --- literals -------------------------------------------------------------------------------------


def quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def text_of(text: str) -> str:
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


def literal_of(wire: dict[str, Any]) -> str | None:
    """A value as a literal; None when it holds bytes, which have no literal."""
    ((kind, content),) = wire.items()
    match kind:
        case "S":
            return text_of(content)
        case "N":
            return str(content)
        case "BOOL":
            return str(content).lower()
        case "NULL":
            return "null"
        case "SS" | "NS":
            return f"<<{', '.join([text_of(member) if kind == 'SS' else member for member in content])}>>"
        case "L":
            elements = [literal_of(element) for element in content]
            return None if None in elements else f"[{', '.join(map(str, elements))}]"
        case "M":
            members = {name: literal_of(value) for name, value in content.items()}
            if None in members.values():
                return None
            return "{" + ", ".join([f"{text_of(name)}: {literal}" for name, literal in members.items()]) + "}"
    return None
