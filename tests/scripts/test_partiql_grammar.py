"""The grammar by cases: each statement as its parsed tree; and refusals that need no table."""

from hashrange.expressions.partiql.parser import read_statement
from hashrange.expressions.partiql.reader import StatementReader
from hashrange.expressions.partiql.statement import compile_statement
from hashrange.expressions.partiql.tree import (
    DeleteStatement,
    ExistsStatement,
    InsertStatement,
    SelectStatement,
    TableOrIndex,
    Tree,
    UpdateStatement,
)
from hashrange.expressions.tree import DocumentPath
from tests.scripts.cases import case_test
from tests.scripts.partiql_cases import Parameters, show, show_data, statements_of
from tests.scripts.trees import show_path


def evaluate(text: str, parameters: Parameters) -> str:
    compile_statement(text, parameters)
    reader = StatementReader(text, tuple([next(iter(value)) for value in parameters or []]))
    tree = read_statement(reader)
    if isinstance(tree, SelectStatement) and tree.fault is not None:
        raise tree.fault
    return "\n    ".join(lines(tree, reader))


def lines(tree: Tree, reader: StatementReader) -> list[str]:
    """One line for each clause."""
    data = reader.data
    match tree:
        case SelectStatement():
            shown = [f"select {', '.join(map(show_path, tree.paths)) or '*'} from {show_source(tree.target)}"]
        case ExistsStatement():
            return ["exists", *lines(tree.select, reader)]
        case InsertStatement():
            return [f"insert into {show_source(tree.target)} {show_data(tree.item)}"]
        case DeleteStatement():
            shown = [f"delete from {show_source(tree.target)}"]
        case UpdateStatement():
            shown = [f"update {show_source(tree.target)}"]
            shown += [f"set {show_path(path)} = {show(value, data)}" for path, value in tree.clauses.sets]
            shown += [f"remove {show_path(path)}" for path in tree.clauses.removals]
            shown += [f"add {show_path(path)} {show(value, data)}" for path, value in tree.clauses.additions]
            shown += [f"delete {show_path(path)} {show(value, data)}" for path, value in tree.clauses.deletions]
    if tree.where is not None:
        shown.append(f"where {show(tree.where, data)}")
    if isinstance(tree, SelectStatement):
        shown += [f"order by {show_path(DocumentPath((key.name,)))}{' desc' * key.is_descending}" for key in tree.order]
    elif tree.returning is not None:
        shown.append(f"returning {tree.returning.which} {tree.returning.image}")
    return shown


def show_source(source: TableOrIndex) -> str:
    return source.table_name if source.index_name is None else f"{source.table_name} / {source.index_name}"


test_grammar = case_test("partiql_grammar.case", statements_of(evaluate))
test_refusals = case_test("partiql_refusals.case", statements_of(evaluate))
test_conditions = case_test("partiql_conditions.case", statements_of(evaluate))
test_expressions = case_test("partiql_expressions.case", statements_of(evaluate))
