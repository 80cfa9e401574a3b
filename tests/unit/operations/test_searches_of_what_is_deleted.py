"""A search whose table or index is deleted while the store reads refuses: what it found need not be all."""

from typing import Any

import pytest

from hashrange.errors import ApiError
from hashrange.soon import settled
from hashrange.vectors.search import FoundEntries
from tests.conformance.vectors import vector, vector_index
from tests.unit.jobs.world import World

SEARCH: dict[str, Any] = {"IndexName": "plain", "SearchVector": vector(1, 2, 3)["L"], "TopK": 1}
DELETIONS: list[tuple[str, dict[str, Any], str]] = [
    ("DeleteTable", {}, "ResourceNotFoundException"),
    ("UpdateTable", {"VectorIndexUpdates": [{"Delete": {"IndexName": "plain"}}]}, "ValidationException"),
]


@pytest.mark.parametrize(("operation", "members", "code"), DELETIONS)
@pytest.mark.parametrize("is_suspending", [False, True])
def test_a_search_refuses(
    monkeypatch: pytest.MonkeyPatch, operation: str, members: dict[str, Any], code: str, *, is_suspending: bool
) -> None:
    world = World(None, is_suspending=is_suspending)
    world.ask("UpdateTable", VectorIndexUpdates=[{"Create": vector_index()}])
    world.clock.advance(20.0)
    world.finish()
    world.ask("PutItem", Item={"id": {"S": "a"}, "embedding": vector(1, 2, 3)})
    assert len(world.ask("SearchVectors", **SEARCH)["SearchResults"]) == 1
    search = world.store.search_vectors

    async def deleted_meanwhile(*arguments: Any) -> FoundEntries:
        world.ask(operation, **members)
        return await settled(search(*arguments))

    monkeypatch.setattr(world.store, "search_vectors", deleted_meanwhile)
    with pytest.raises(ApiError) as refused:
        world.ask("SearchVectors", **SEARCH)
    assert refused.value.code == code
