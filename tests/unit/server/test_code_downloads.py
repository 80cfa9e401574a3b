"""A zip is read so that others run meanwhile: its client may leave, and the function may change."""

from types import SimpleNamespace
from typing import Any

import pytest

from hashrange.errors import Abandoned, StorageError
from hashrange.functions.refusals import FunctionMissing
from hashrange.server.protocols.rest_json.code_downloads import CodeDownloads
from hashrange.wire.http import CODE_PATH
from tests.unit.functions.functions_world import FunctionsWorld, run_functions


@pytest.mark.parametrize(
    ("outcome", "status"), [(b"zip", 200), (None, 403), (StorageError("disk"), 500), (Abandoned(), 500)]
)
def test_each_outcome_ends_the_request(outcome: bytes | Exception | None, status: int) -> None:
    def linked_zip(link: str) -> bytes | None:
        assert link == "link"
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    functions: Any = SimpleNamespace(linked_zip=linked_zip)
    request: Any = SimpleNamespace(url=CODE_PATH + b"link?x")
    answers: list[int] = []
    CodeDownloads(functions).prepare(request, lambda status, *_: answers.append(status))
    assert answers == [status]


def test_a_link_leads_nowhere_if_the_function_goes_while_its_zip_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create()
        location = (await world.call("GetFunction", FunctionName="orders"))["Code"]["Location"]
        link = location.removeprefix("http://localhost/code/")
        assert world.functions.linked_zip(link) is not None

        def goes(_description: object) -> bytes:
            raise FunctionMissing("gone")

        monkeypatch.setattr(world.functions.stored, "zip_of", goes)
        assert world.functions.linked_zip(link) is None

    run_functions(test, code_url="http://localhost/code/")
