"""What runs is ended when functions are closed, or when the store's content is replaced;
not later, and with all that it has started.
"""

import asyncio
from pathlib import Path

import pytest

from hashrange.functions.api.operation import LambdaError
from hashrange.functions.declaration import FunctionDeclaration
from tests.support.waiting import until
from tests.unit.functions.functions_world import FunctionsWorld, run_functions
from tests.unit.functions.world import children

DEAF = "import re\nre.match('(a+)+$', 'a' * 64 + 'b')\n"
"""A module that does not load, and does not see that the server is gone."""
ENDLESS = "import time\ndef handler(event, context):\n    open(event, 'w').close()\n    time.sleep(1e6)\n"


def test_a_creation_ends_with_the_functions() -> None:
    before = children()

    async def test(world: FunctionsWorld) -> None:
        creating = asyncio.ensure_future(world.create(code=DEAF))
        await until(lambda: len(children() - before) == 2)  # the guardian, and the environment
        await world.functions.close()
        assert children() == before
        with pytest.raises(LambdaError, match=r"Runtime\.ExitError"):
            await creating

    run_functions(test)


def test_nothing_is_created_after_the_end() -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create()
        await world.functions.close()
        assert (await refusal_of_creation(world)) == (429, "TooManyRequestsException")
        await world.functions.close()

    run_functions(test)


async def refusal_of_creation(world: FunctionsWorld) -> tuple[int, str]:
    """Status and code."""
    try:
        await world.create("late")
    except LambdaError as error:
        return error.http_status, error.code
    raise AssertionError("it was not refused")


def test_invocations_end_with_the_content(tmp_path: Path) -> None:
    before = children()

    async def test(world: FunctionsWorld) -> None:
        await world.create("old", ENDLESS)
        await world.create("idle")
        old = asyncio.ensure_future(world.invoke("old", str(tmp_path / "old")))
        await until((tmp_path / "old").exists)
        await world.call("DeleteFunction", FunctionName="old")  # its invocation goes on
        world.documents.replace({})
        world.functions.see_content()
        assert (await old)["errorType"] == "Runtime.ExitError"
        await until(lambda: len(children() - before) == 1)  # the guardian
        await until(lambda: not list(Path(world.functions._loaded._folders.root).iterdir()))
        await world.create("old")
        assert await world.invoke("old", 1) == 1
        world.functions.see_content()
        assert await world.invoke("old", 2) == 2

    run_functions(test)


def test_a_declared_function_that_was_being_tried_ends_with_the_content(tmp_path: Path) -> None:
    before = children()
    go = tmp_path / "go"
    (tmp_path / "app.py").write_text(
        f"import os, time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.001)\n"
        "def handler(event, context): return event\n"
    )

    async def test(world: FunctionsWorld) -> None:
        world.functions.declare("mine", FunctionDeclaration(code=str(tmp_path), handler="app.handler"))
        trying = asyncio.ensure_future(world.functions.start())
        await until(lambda: len(children() - before) == 2)
        world.documents.replace({})
        world.functions.see_content()
        go.touch()
        await trying
        await until(lambda: len(children() - before) == 1)
        assert await world.invoke("mine", 1) == 1

    run_functions(test)
