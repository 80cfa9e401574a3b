"""A user whose handler cannot be loaded reads what to do: for a Handler without a dot,
and for a file that lies elsewhere in the zip.
"""

import io
import zipfile
from typing import Any

import pytest

from hashrange.functions.load_refusals import hint_on_handler, names_in_zip
from hashrange.messages.functions_api import handler_broken
from tests.unit.functions.functions_world import ECHO, ROLE, FunctionsWorld, run_functions
from tests.unit.functions.world import NODE, PYTHON

FORM = "Handler names a file and a function: app.handler is the function handler in the file app."


def zip_of(*names: str) -> bytes:
    """A zip with these files, of which those in Python are handlers."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in names:
            archive.writestr(name, ECHO if name.endswith(".py") else "")
    return packed.getvalue()


REFUSED = [
    (PYTHON, "handler", ["handler.py"], f"(expected 2, got 1). {FORM}py."),
    (
        PYTHON,
        "index.handler",
        ["my-app/index.py", "my-app/README"],
        (
            "No module named 'index'. The zip has the file as my-app/index.py: zip the files in the folder my-app "
            "instead of the folder itself, or set Handler to my-app/index.handler."
        ),
    ),
    pytest.param(NODE, "handler", ["handler.js"], f"Bad handler. {FORM}js.", marks=pytest.mark.needs("node")),
    (
        NODE,
        "index.handler",
        ["my-app/index.mjs"],
        (
            ". The zip has the file as my-app/index.mjs: zip the files in the folder my-app instead of the folder "
            "itself, or set Handler to my-app/index.handler."
        ),
    ),
]


@pytest.mark.parametrize(("runtime", "handler", "names", "end"), REFUSED)
def test_a_refusal_says_the_way_out(runtime: str, handler: str, names: list[str], end: str) -> None:
    async def test(world: FunctionsWorld) -> None:
        members: dict[str, Any] = {"FunctionName": "orders", "Runtime": runtime, "Role": ROLE, "Handler": handler}
        _, code, message = await world.refused(
            "CreateFunction", **members, Code={"ZipFile": zip_of(*names)}, Timeout=60
        )
        assert code == "InvalidParameterValueException"
        assert message.endswith(end)

    run_functions(test)


def test_updates_say_it_too() -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create()
        for refused in (
            await world.refused("UpdateFunctionConfiguration", FunctionName="orders", Handler="app"),
            await world.refused("UpdateFunctionCode", FunctionName="orders", ZipFile=zip_of("src/app.py")),
        ):
            assert refused[1] == "InvalidParameterValueException"
            assert FORM in refused[2] or "set Handler to src/app.handler." in refused[2]

    run_functions(test)


@pytest.mark.parametrize("handler", ["handler", "app.py", ".handler", "app.", "app:handler", ""])
def test_the_form_of_a_python_handler(handler: str) -> None:
    assert hint_on_handler(handler, "python", None) == f"{FORM}py."


@pytest.mark.parametrize("handler", ["handler", "index.js", ".handler", "index.", "my.app/index", ""])
def test_the_form_of_a_javascript_handler(handler: str) -> None:
    assert hint_on_handler(handler, "node", None) == f"{FORM}js."


@pytest.mark.parametrize(
    ("handler", "language", "names"),
    [
        ("app.handler", "python", ["app.py", "other/app.py"]),
        ("app.handler", "python", ["app/__init__.py"]),
        ("app.handler", "python", ["app/main.py"]),
        ("src/app.handler", "python", ["src/app.py"]),
        ("src.app.handler", "python", ["src/app.py"]),
        ("app.handler", "python", None),
        ("src/app.handler", "node", ["src/app.cjs"]),
        ("app.handlers.first", "node", ["app.mjs"]),
        ("app.handler", "node", ["app/index.js"]),
    ],
)
def test_a_file_that_is_there_is_not_the_fault(handler: str, language: Any, names: list[str] | None) -> None:
    assert hint_on_handler(handler, language, names) is None


def test_files_elsewhere() -> None:
    found = hint_on_handler("src/app.handler", "node", ["x/y/z/src/app.js", "x/src/app.js"])
    assert found is not None
    assert "as x/src/app.js: zip the files in the folder x " in found
    assert found.endswith("or set Handler to x/src/app.handler.")
    assert str(hint_on_handler("app.handler", "python", ["v1.0/app.py"])).endswith("instead of the folder itself.")
    names = [f"{number}.txt" for number in range(7)]
    assert hint_on_handler("app.handler", "python", names) == (
        "Handler asks for the file app.py, which is not in the zip; it has 0.txt, 1.txt, 2.txt, 3.txt, 4.txt, …."
    )
    assert len(str(hint_on_handler("app.handler", "python", ["x" * 100_000]))) < 1000


def test_names_in_a_zip() -> None:
    assert names_in_zip(zip_of("a/", "a/b.py", "c\\d.py")) == ["a/b.py", "c/d.py"]


def test_of_a_long_error_the_begin_is_told() -> None:
    assert handler_broken("x" * 4001, None) == f"The function's code cannot be loaded: {'x' * 4000}"
