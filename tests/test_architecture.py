"""Does the code keep its structure? Imports point down; only certain files read time,
open files or print; sizes may only shrink.
"""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from statistics import median

import pytest

from tests.support.source_trees import ROOT, SOURCE, source_trees

LAYERS = (
    {"errors", "messages", "limits", "clock", "long_reads", "settings", "soon", "terminal", "work_threads", "written"},
    {"items", "aws_services", "bounded_replies", "local_cluster", "templates"},
    {"expressions", "wire", "sts", "vectors", "toolkit"},
    {"tables", "s3"},
    {"store"},
    {"operations", "jobs"},
    {"faults"},
    {"features"},
    {"functions", "backups"},
    {"triggers", "throughput", "cloudwatch", "transfers"},
    {"archive", "autoscaling", "insights", "dax", "init"},
    {"service"},
    {"server"},
    {"testing"},
    {"cli"},
)
"""Packages from bottom to top; packages of one row do not import each other."""
LAYER_OF = {package: row for row, packages in enumerate(LAYERS) for package in packages}
SHARED_PACKAGES = {"errors", "messages", "limits"}
"""Row 0 is plain facts: `messages` may use `errors` and `limits`."""

FILE_MODULES = (
    "bounded_replies.py",  # reads sockets
    "archive/trigger.py",  # reads its variables
    "items/growing_bytes.py",  # a buffer in memory
    "local_cluster/cluster.py",
    "local_cluster/cluster_file.py",
    "local_cluster/jars.py",
    "local_cluster/java.py",
    "local_cluster/node_files.py",
    "local_cluster/processes.py",
    "store/embedded/files.py",
    "store/embedded/copy_folders.py",
    "store/embedded/identity.py",
    "store/embedded/modes.py",
    "store/embedded/part_files.py",
    "store/embedded/store_files.py",
    "store/embedded/threads.py",
    "store/embedded/forked_process.py",
    "store/file_lock.py",
    "store/repository/folder.py",
    "store/repository/restores.py",
    "store/cassandra/address.py",
    "store/snapshot_file.py",
    "faults/fault.py",
    "functions/code.py",
    "functions/guardian.py",
    "functions/load_refusals.py",
    "functions/marks.py",
    "functions/process.py",
    "functions/process_tree.py",
    "functions/programs.py",
    "functions/removal.py",
    "functions/variables.py",
    "init/files.py",
    "s3/discarded.py",
    "s3/folder.py",
    "s3/folder_files.py",
    "s3/folder_uploads.py",
    "s3/folder_walk.py",
    "s3/whole_files.py",
    "templates/reading.py",
    "toolkit/chart_file.py",
    "toolkit/export.py",
    "toolkit/function_code.py",
    "toolkit/models/files.py",
    "toolkit/prices.py",
    "toolkit/moving/compressed.py",
    "toolkit/moving/json_array.py",  # a reader of text
    "toolkit/moving/load_files.py",
    "toolkit/moving/load_job.py",
    "toolkit/moving/masking.py",
    "toolkit/moving/output_file.py",
    "toolkit/moving/progress_file.py",
    "toolkit/moving/record_reading.py",  # a reader of text
    "toolkit/moving/scan_job.py",
    "transfers/formats/ion_reading.py",  # the text of a line, a file in memory
    "triggers/configuration.py",
    "triggers/destinations.py",
    "server/credentials.py",
    "server/app.py",
    "testing/botocore_transport.py",  # a reply's body, a file in memory
    "testing/environment.py",
    "testing/in_process.py",
    "cli/log_lines.py",  # writes to the descriptor of standard error, on a thread
    "cli/checkup/machine.py",
    "cli/cluster.py",  # which system this is
    "cli/design.py",
    "cli/folding.py",  # the width of the terminal
    "cli/checkup/sdk_settings.py",
    "cli/settings_sources.py",
)
"""Files that may open files, set environment variables, or know of other processes.
The standard library opens TLS keys for server/listener.py."""
TIME_MODULE = "clock.py"
PROGRAMS = {"functions/runtimes/python_runtime.py"}
"""Programs of other processes, which nothing imports: they may read time, open files and print,
but import nothing of Hashrange."""

OUTPUT_MODULE = "cli/output.py"
"""The only file that writes to standard output and standard error. The log's handler finds the stream itself."""

FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 60
MEDIAN_FILE_LINES_MAX = 200
LONG_FILES: dict[str, int] = {}
"""Files over the limit, with their lines: a number here may only go down."""
LONG_FUNCTIONS: dict[str, int] = {}
"""Functions over the limit, with their lines: a number here may only go down."""


def package_of(file: str) -> str:
    """`operations/items/write_item.py` → `operations`."""
    return file.split("/", maxsplit=1)[0].removesuffix(".py")


def module_of(file: str) -> str:
    """`wire/http.py` → `hashrange.wire.http`."""
    return "hashrange." + file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def nodes_of(file: str) -> list[ast.AST]:
    """All nodes of a file's tree."""
    return list(ast.walk(source_trees()[file]))


@cache
def imported_modules(file: str) -> frozenset[str]:
    """Every module that a file imports, anywhere in it; a name imported from a package may itself be a module."""
    found: set[str] = set()
    for node in nodes_of(file):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{file}:{node.lineno} is a relative import"
            submodules = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {submodule if submodule in modules() else node.module or "" for submodule in submodules}
    return frozenset(found)


@cache
def modules() -> dict[str, str]:
    """Module → its file."""
    return {module_of(file): file for file in source_trees()}


def functions(file: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method of a file."""
    return (node for node in nodes_of(file) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_every_package_has_a_layer() -> None:
    packages = {package_of(file) for file in source_trees()} - {"__init__", "__main__"}
    assert packages <= set(LAYER_OF), "a new package needs a layer in LAYERS and a line in ARCHITECTURE.md"


def test_imports_point_down() -> None:
    upward = [(file, module) for file in source_trees() for module in imported_modules(file) if points_up(file, module)]
    assert not upward, "these files import a module that is not below them"


def points_up(file: str, module: str) -> bool:
    """True if a file imports a module of another package that is not below its own."""
    package = package_of(file)
    parts = module.split(".")
    if package in {"__init__", "__main__"}:
        return False
    if parts[0] != "hashrange" or len(parts) < 2 or parts[1] not in LAYER_OF or parts[1] == package:
        return False
    is_below = LAYER_OF[parts[1]] < LAYER_OF[package] or (LAYER_OF[package] == 0 and parts[1] in SHARED_PACKAGES)
    return not is_below


def test_no_import_cycles() -> None:
    """Imports inside functions count too: they hide a cycle, they do not end it."""
    graph = {module: (imported_modules(file) & modules().keys()) - {module} for module, file in modules().items()}
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, "import cycle: " + " → ".join([*path[path.index(module) :], module])
        if module not in done:
            for found in sorted(graph[module]):
                visit(found, (*path, module))
            done.add(module)

    for module in sorted(graph):
        visit(module, ())


def test_only_the_clock_reads_time() -> None:
    found = [
        f"{file}{place}"
        for file in source_trees()
        if file not in {TIME_MODULE, *PROGRAMS}
        for place in [*([" imports time"] if "time" in imported_modules(file) else []), *readings(file)]
    ]
    assert not found, "ask a Clock"


def readings(file: str) -> Iterator[str]:
    """Where a file reads the time of day."""
    for node in nodes_of(file):
        match node:
            case ast.Attribute(value=ast.Name(id="datetime" | "date"), attr="now" | "utcnow" | "today"):
                yield f":{node.lineno} reads the time of day"


ABOUT_FILES = {"io", "os", "pathlib", "shutil", "tempfile"}
"""Modules that deal with files."""


def test_only_the_file_modules_open_files() -> None:
    found = []
    for file in source_trees().keys() - FILE_MODULES - PROGRAMS:
        found += [f"{file} imports {one}" for one in imported_modules(file) & ABOUT_FILES]
        found += [f"{file}:{line} opens a file" for line in calls_of("open", file)]
    assert not found, "only FILE_MODULES deal with files"


def calls_of(name: str, file: str) -> Iterator[int]:
    """The lines in which a file calls a function by this name alone."""
    for node in nodes_of(file):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            yield node.lineno


def test_only_one_file_writes_to_the_terminal() -> None:
    """That file escapes what commands a terminal.
    Other files of the command line may ask what the streams are, or close them.
    """
    found = []
    for file in source_trees().keys() - PROGRAMS - {OUTPUT_MODULE}:
        allowed = {"close", "fileno", "isatty"} if package_of(file) == "cli" else set()
        found += [f"{file}:{line} prints" for line in calls_of("print", file)]
        found += [
            f"{file}:{node.lineno} uses the terminal"
            for node in nodes_of(file)
            if isinstance(node, ast.Attribute) and is_terminal(node.value) and node.attr not in allowed
        ]
    assert not found, f"only {OUTPUT_MODULE} writes to the terminal"


def is_terminal(node: ast.expr) -> bool:
    """True for `sys.stdout` and `sys.stderr`."""
    return isinstance(node, ast.Attribute) and node.attr in {"stdout", "stderr"} and ast.unparse(node.value) == "sys"


@pytest.mark.parametrize("file", sorted(PROGRAMS))
def test_programs_stand_alone(file: str) -> None:
    assert not {module for module in imported_modules(file) if module.startswith("hashrange")}
    assert not {one for one in source_trees() if module_of(file) in imported_modules(one)}


@pytest.mark.parametrize("file", [f"archive/{path.name}" for path in sorted((SOURCE / "archive").glob("*.py"))])
def test_the_archive_runs_without_the_rest(file: str) -> None:
    """In AWS Lambda it has boto3 and itself."""
    others = {module.split(".", maxsplit=1)[0] for module in imported_modules(file)} - sys.stdlib_module_names
    assert others <= {"hashrange", "boto3", "botocore"}
    own = {module for module in imported_modules(file) if module.startswith("hashrange")}
    assert all(module.startswith("hashrange.archive") for module in own)


TOOLKIT_MAY_USE = {
    "hashrange.aws_services.host_endings",
    "hashrange.aws_services.reserved_words",
    "hashrange.bounded_replies",
    "hashrange.clock",
    "hashrange.errors",
    "hashrange.items.sizes",
    "hashrange.items.values",  # which are valid, and how large an item is
    "hashrange.messages.installing",
    "hashrange.terminal",
    "hashrange.written.names",
    "hashrange.written.values",
}


def test_the_toolkit_uses_nothing_of_the_server() -> None:
    """It speaks to any endpoint, through boto3, which `templates` needs not."""
    found = {
        f"{file} imports {module}"
        for file in source_trees()
        if package_of(file) in {"toolkit", "templates"}
        for module in imported_modules(file)
        if module.startswith("hashrange") and not module.startswith(("hashrange.toolkit", "hashrange.templates"))
        if module not in TOOLKIT_MAY_USE
    }
    assert not found, "the toolkit works without a server's code"


def test_errors_become_replies_in_one_place() -> None:
    """`wire_type` is the form of an error on the wire; only one file uses it."""
    readers = [
        file
        for file in source_trees()
        if file != "errors.py" and any(isinstance(n, ast.Attribute) and n.attr == "wire_type" for n in nodes_of(file))
    ]
    assert readers == ["server/protocols/dynamodb_json/writing.py"]


# --- sizes: a ratchet ---------------------------------------------------------------------------


def lines_of(file: str) -> int:
    """Lines of a source file."""
    return (SOURCE / file).read_text(encoding="utf-8").count("\n")


def test_files_stay_small() -> None:
    long = {file: lines_of(file) for file in source_trees() if lines_of(file) > FILE_LINES_MAX}
    assert_ratchet(long, LONG_FILES, "LONG_FILES")


def test_functions_fit_a_screen() -> None:
    long = {}
    for file in source_trees():
        for function in functions(file):
            lines = (function.end_lineno or 0) - function.lineno + 1
            if lines > FUNCTION_LINES_MAX:
                long[f"{file}:{function.name}"] = lines
    assert_ratchet(long, LONG_FUNCTIONS, "LONG_FUNCTIONS")


def test_the_median_file_is_read_in_one_go() -> None:
    sizes = [lines_of(file) for file in source_trees() if not file.endswith("__init__.py")]
    assert median(sizes) <= MEDIAN_FILE_LINES_MAX


def assert_ratchet(found: dict[str, int], allowed: dict[str, int], name: str) -> None:
    """Fail if a length grew, or if a smaller one is not yet written down in the table."""
    grown = {key: lines for key, lines in found.items() if lines > allowed.get(key, 0)}
    assert not grown, f"too long: {grown}; split by what each part answers"
    shrunk = {key: found.get(key, 0) for key, lines in allowed.items() if found.get(key, 0) < lines}
    assert not shrunk, f"shorter than {name} says: {shrunk}; lower the numbers there"


# --- every operation ----------------------------------------------------------------------------


def operation_names() -> dict[str, str]:
    """Operation → its file, for every file that declares one (OPERATION) or several (OPERATIONS)."""
    found = {}
    for file, tree in source_trees().items():
        if package_of(file) != "operations" or file == "operations/registry.py":
            continue
        for name, value in assigned(tree):
            if name == "OPERATION":
                found[name_of_operation(value)] = file
            elif name == "OPERATIONS":
                assert isinstance(value, ast.Tuple), f"{file}: OPERATIONS are a tuple"
                assert len(value.elts) > 1, f"{file}: one operation is an OPERATION"
                found |= {name_of_operation(element): file for element in value.elts}
    return found


def assigned(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Names that a file defines with their values."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value


def name_of_operation(record: ast.expr) -> str:
    """The first argument of the call that makes a record."""
    assert isinstance(record, ast.Call)
    return str(ast.literal_eval(record.args[0]))


def snake(name: str) -> str:
    """PutItem → put_item."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def test_an_operation_has_its_file_its_tests_and_its_row() -> None:
    """A file with one operation is named after it; those that answer one question together share a file."""
    tests = [path.name for path in (ROOT / "tests" / "conformance").rglob("test_*.py")]
    page = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")
    operations = operation_names()
    for name, file in operations.items():
        is_alone = list(operations.values()).count(file) == 1
        assert file.endswith(f"/{snake(name)}.py") or not is_alone
        assert any(test.startswith(f"test_{snake(name)}") for test in tests), (
            f"tests/conformance/test_{snake(name)}.py is missing"
        )
        assert f"| {name} |" in page, f"docs/compatibility.md has no row for {name}"


def test_every_operation_is_registered() -> None:
    from hashrange.operations.registry import OPERATIONS as registered

    assert set(registered) == set(operation_names())


# --- callbacks ----------------------------------------------------------------------------------

FILLED_IN = {
    "autoscaling/feature.py": {"scope.scaling_settings"},
    "features/features.py": {
        "scope.see_watches",
        "scope.store",  # it is none, but a callback has its name
        "scope.wake_job",
    },
    "service/fault_feature.py": {"scope.least_seconds", "scope.state_delay"},
    "store/embedded/late_entries.py": {"draft.finish"},
    "server/protocols/unserved/handing_on.py": {"request.on_abandoned"},
    "store/embedded/stream_reads.py": {"self._streams.wake"},
    "store/embedded/upkeep.py": {"self._site.wake"},
}
"""File → callbacks that it sets in another object. Scopes, drafts and requests are there to be filled in by those
through whose hands they go; both faces of a store keep, in a part of that store, what they are told to call."""


def test_callbacks_are_given_to_constructors_or_methods() -> None:
    """An object whose callback is set from outside does nothing, without a word, until somebody thinks of it."""
    names = {name for file in source_trees() for name in callbacks_of(source_trees()[file])}
    found = {file: places for file, tree in source_trees().items() if (places := callbacks_set(tree, names))}
    assert found == FILLED_IN


def callbacks_of(tree: ast.Module) -> Iterator[str]:
    """The attributes of classes of a file that are declared as functions, or are parameters that are."""
    for defined in ast.walk(tree):
        if not isinstance(defined, ast.ClassDef):
            continue
        functions = {
            argument.arg
            for node in ast.walk(defined)
            if isinstance(node, ast.arguments)
            for argument in (*node.args, *node.kwonlyargs)
            if is_function_type(argument.annotation)
        }
        for node in ast.walk(defined):
            match node:
                case ast.AnnAssign(target=ast.Attribute(attr=name), annotation=annotation):
                    if is_function_type(annotation):
                        yield name
                case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
                    if node in defined.body and is_function_type(annotation):
                        yield name
                case ast.Assign(
                    targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=ast.Name(id=given)
                ):
                    if given in functions:
                        yield name


def is_function_type(annotation: ast.expr | None) -> bool:
    """True for `Callable[…]`, a name that stands for it, either of them in quotes, and each with `| None`."""
    match annotation:
        case ast.BinOp(left=left, right=right):
            return is_function_type(left) or is_function_type(right)
        case ast.Subscript(value=ast.Name(id="Callable")):
            return True
        case ast.Name(id=name):
            return name in function_types()
        case ast.Constant(value=str(text)):
            return is_function_type(ast.parse(text, mode="eval").body)
    return False


@cache
def function_types() -> frozenset[str]:
    """The names that stand for `Callable[…]` in the package."""
    return frozenset(
        name
        for tree in source_trees().values()
        for name, value in assigned(tree)
        if isinstance(value, ast.Subscript) and ast.unparse(value.value) == "Callable"
    )


def callbacks_set(tree: ast.Module, names: set[str]) -> set[str]:
    """Where a file sets one of these attributes of anything but `self`."""
    return {
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and node.attr in names
        and not (isinstance(node.value, ast.Name) and node.value.id == "self")
    }


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("class A:\n    def __init__(self):\n        self.see: Callable[[int], None] | None = None", {"a.see"}),
        ("class A:\n    def __init__(self, see: Callable[[], int]):\n        self.look = see", {"a.look"}),
        ("class A:\n    see: 'Callable[[], int]'", {"a.see"}),
        ("class A:\n    def __init__(self, see: RunSlice):\n        self.see = see", {"a.see"}),
        ("class A:\n    def __init__(self):\n        self.see: list[Callable[[], int]] = []", set()),
        ("class A:\n    def __init__(self, see: int):\n        self.see = see", set()),
    ],
)
def test_what_is_a_callback_is_told_apart(source: str, expected: set[str]) -> None:
    names = set(callbacks_of(ast.parse(source)))
    assert callbacks_set(ast.parse("a.see = a.look = print"), names) == expected
    assert not callbacks_set(ast.parse("self.see = self.look = print"), names)


# --- what nothing reaches -----------------------------------------------------------------------


def names_in(node: ast.AST) -> set[str]:
    """Every name and attribute that a piece of code uses."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} | {
        n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)
    }


def definitions(tree: ast.Module) -> tuple[dict[str, set[str]], set[str]]:
    """Return the names that each definition of a file uses, and those that its module-level
    code and public names use.
    """
    mentioned: dict[str, set[str]] = {}
    reached: set[str] = set()

    def define(name: str, mentions: set[str]) -> None:
        mentioned[name] = mentioned.get(name, set()) | mentions - {name}
        if not name.startswith("_") or name.startswith("__"):
            reached.add(name)

    for node in tree.body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                define(node.name, names_in(node))
            case ast.ClassDef():
                methods = [part for part in node.body if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)]
                others = [part for part in ast.iter_child_nodes(node) if part not in methods]
                for method in methods:
                    define(method.name, names_in(method))
                public = {method.name for method in methods if not method.name.startswith("_")}
                define(node.name, public.union(*map(names_in, others)) if others else public)
            case ast.Assign():
                for name in {n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)}:
                    define(name, names_in(node))
            case ast.AnnAssign(target=ast.Name(id=name)):
                define(name, names_in(node))
            case _:
                reached |= names_in(node)
    return mentioned, reached


def unreached(tree: ast.Module) -> list[str]:
    """Private names of a file that no running code or public name uses."""
    mentioned, todo = definitions(tree)
    reached: set[str] = set()
    while todo:
        name = todo.pop()
        if name not in reached:
            reached.add(name)
            todo |= mentioned.get(name, set())
    return sorted(name for name in mentioned if name.startswith("_") and name not in reached)


def test_private_names_are_reached() -> None:
    """A fix that nothing calls fixes nothing."""
    found = {file: names for file, tree in source_trees().items() if (names := unreached(tree))}
    assert not found, "these files define what nothing in them uses"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def _a(): pass", ["_a"]),
        ("def _a(): _a()", ["_a"]),
        ("def _a(): _b()\ndef _b(): _a()", ["_a", "_b"]),
        ("_A = 1\n_B: int = _A\ndef f(): return 1", ["_A", "_B"]),
        ("def _a(): pass\ndef f(): return _a", []),
        ("def _a(): pass\nX = {1: _a}", []),
        ("def _a(): pass\n_a()", []),
        ("class _A:\n    x = 1\nclass B:\n    y: _A", []),
        ("class A:\n    def _b(self): self._b()", ["_b"]),
        ("class A:\n    def __init__(self): self._b()\n    def _b(self): pass", []),
    ],
)
def test_what_is_reached_is_told_apart(source: str, expected: list[str]) -> None:
    assert unreached(ast.parse(source)) == expected


# --- docstrings ---------------------------------------------------------------------------------


def test_every_file_and_public_name_says_what_it_is() -> None:
    silent = [place for file, tree in source_trees().items() for place in without_docstring(file, tree)]
    assert not silent, "a file says which question it answers, and a public name what it is"


def without_docstring(file: str, tree: ast.Module) -> Iterator[str]:
    """The file and its public names that have no docstring; an empty `__init__` needs none."""
    if not ast.get_docstring(tree) and (tree.body or not file.endswith("__init__.py")):
        yield file
    defined = [node for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)]
    for node in defined:
        if not node.name.startswith("_") and not ast.get_docstring(node):
            yield f"{file}:{node.lineno} {node.name}"
