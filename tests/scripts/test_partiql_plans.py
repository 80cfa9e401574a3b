"""Translation by cases: the access path of a statement for one table, with its key `pk` (S), `sk` (N) and four indexes.

global   g (S), h (N)      projects the keys only
all      g (S)             projects all attributes
local    pk, h (N)         projects the keys and `a`
many     g and h, sk       has two partition key attributes
"""

from hashrange.expressions.condition import CompiledCondition
from hashrange.expressions.keycondition import Term
from hashrange.expressions.partiql.statement import Statement, compile_statement
from hashrange.expressions.partiql.tree import Constant, Data, Parameter
from hashrange.operations.partiql.access_path import AccessPath, choose_access_path
from hashrange.operations.partiql.statement_writes import bind_write, bound_where, check_write
from hashrange.operations.partiql.where_keys import KeyBranch
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import Index, IndexProjection, KeySchema, Table
from tests.scripts.cases import case_test
from tests.scripts.partiql_cases import Parameters, show_data, statements_of

KEYS = IndexProjection("KEYS_ONLY")
TABLE = OpenTable(
    Table(
        table_id=1,
        uuid="uuid",
        account="000000000000",
        region="us-east-1",
        name="t",
        keys=KeySchema(("pk",), ("S",), ("sk",), ("N",)),
        attribute_types={"pk": "S", "sk": "N", "g": "S", "h": "N"},
        created_at_seconds=1.0,
        active_at_seconds=1.0,
        indexes=(
            Index(1, "global", True, KeySchema(("g",), ("S",), ("h",), ("N",)), KEYS),
            Index(2, "all", True, KeySchema(("g",), ("S",)), IndexProjection("ALL")),
            Index(3, "local", False, KeySchema(("pk",), ("S",), ("h",), ("N",)), IndexProjection("INCLUDE", ("a",))),
            Index(4, "many", True, KeySchema(("g", "h"), ("S", "N"), ("sk",), ("N",)), KEYS),
        ),
    )
)


def evaluate(text: str, parameters: Parameters) -> str:
    statement = compile_statement(text, parameters)
    data = data_of(statement)
    if statement.kind == "SELECT":
        return show_read(choose_access_path(TABLE, statement), data)
    action = bind_write(TABLE, check_write(statement, parameters), None)
    if action.kind == "put":
        return "put, unless it is there"
    partition, sort, _ = bound_where(TABLE, statement)
    key = f"pk = {show_data(data[partition])}, sk = {show_data(data[sort or ''])}"
    return f"{action.kind} {key}" + show_condition(action.condition)


def data_of(statement: Statement) -> dict[str, Data]:
    table = statement.value_table
    constants: dict[str, Data] = {token: Constant(value) for token, value in table.constants.items()}
    return constants | {token: Parameter(position, "S") for token, position in table.direct}


def show_read(plan: AccessPath, data: dict[str, Data]) -> str:
    keys = plan.source.keys
    shown = [plan.kind, "t" if plan.source.index is None else plan.source.index.name]
    if plan.branches:
        shown.append(
            f"{keys.partition_names[0]} = {' | '.join([show_branch(branch, data) for branch in plan.branches])}"
        )
    elif plan.partitions:
        shown.append(f"{keys.partition_names[0]} = {' | '.join([show_data(data[token]) for token in plan.partitions])}")
    if plan.sort_term is not None:
        shown.append(show_term(plan.sort_term, data))
    if plan.sort_choices:
        shown.append(f"{keys.sort_names[0]} = {' | '.join([show_data(data[token]) for token in plan.sort_choices])}")
    if plan.partition_order != "written":
        shown.append(f"partitions {plan.partition_order}")
    if plan.lacks_partition_order:
        shown.append("not in order")
    if plan.is_reverse:
        shown.append("backwards")
    if plan.fetches_items:
        shown.append("fetching items")
    if plan.projection is not None:
        shown.append(f"only {sorted(plan.projection.attributes)}")
    return ", ".join(shown) + show_condition(plan.condition)


def show_branch(branch: KeyBranch, data: dict[str, Data]) -> str:
    shown = ", ".join([show_data(data[token]) for token in branch.partitions])
    for terms in branch.ranges:
        shown += f" with {' or '.join([show_term(term, data) for term in terms])}"
    return shown + " with a negation" * branch.is_negated


def show_term(term: Term, data: dict[str, Data]) -> str:
    return f"{term.attribute} {term.operator} {' '.join([show_data(data[token]) for token in term.tokens])}"


def show_condition(condition: CompiledCondition | None) -> str:
    return "" if condition is None else f", if {sorted(condition.attributes)} fit"


test_plans = case_test("partiql_plans.case", statements_of(evaluate))
