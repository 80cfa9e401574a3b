"""Records are kept as documents of one type, several types in one commit, and remembered only if they were written."""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from hashrange.errors import RECORDS_TRIES_MAX, RecordsChanged, StorageCorruption, StorageError
from hashrange.items import steps
from hashrange.items.steps import LARGE_PIECE_BYTES
from hashrange.store import records as records_module
from hashrange.store.embedded import EmbeddedStore
from hashrange.store.records import KeptRecords, RecordChange, RememberedRecords, again_if_changed
from tests.support.samples import finish
from tests.unit.store.conftest import Run


class Light(msgspec.Struct, frozen=True):
    """A record."""

    room: str
    name: str
    lumens: int = 800


def path_of(light: Light) -> tuple[str, ...]:
    return (light.room, light.name)


LAMP, SPOT, CANDLE = Light("attic", "lamp"), Light("attic", "a/spot"), Light("cellar", "candle", 12)


@pytest.fixture
def lights(store: EmbeddedStore) -> KeptRecords[Light]:
    """Three lights, and documents that are none."""
    records = KeptRecords(store.documents, "light/", Light, "light")
    finish(records.write(*[records.change(one, *path_of(one)) for one in (CANDLE, LAMP, SPOT)]))
    finish(store.documents.write({"light": b"", "lights/attic/lamp": b"", "lighu": b""}))
    return records


def test_a_record_is_a_document_under_its_path(store: EmbeddedStore, lights: KeptRecords[Light]) -> None:
    assert store.documents.get("light/cellar/candle") == msgspec.json.encode(CANDLE)
    assert lights.get("cellar", "candle") == CANDLE
    assert lights.get("cellar") is None
    finish(lights.write(lights.removal("cellar", "candle")))
    assert store.documents.get("light/cellar/candle") is None


def test_records_are_listed_by_the_beginning_of_their_paths(lights: KeptRecords[Light]) -> None:
    assert list(lights.by_path().items()) == [("attic/a/spot", SPOT), ("attic/lamp", LAMP), ("cellar/candle", CANDLE)]
    assert list(lights.by_path("attic").values()) == [SPOT, LAMP]
    assert list(lights.walk("cellar")) == [("cellar/candle", CANDLE)]
    assert lights.by_path("att") == {}


def test_records_of_several_types_are_one_commit(store: EmbeddedStore, lights: KeptRecords[Light]) -> None:
    rooms = KeptRecords(store.documents, "room/", list[str], "room")
    before = store.position()
    finish(rooms.write(rooms.change(["lamp", "spot"], "attic"), lights.removal("attic", "lamp")))
    assert store.position() == before + 1
    assert store.documents.get("room/attic") == b'["lamp","spot"]'
    assert rooms.get("attic") == ["lamp", "spot"]
    assert lights.get("attic", "lamp") is None


@pytest.mark.parametrize("document", [b"", b"{}", b'{"room":1,"name":"x"}', b'{"room":"\xff","name":"x"}'])
def test_a_document_that_holds_no_record_is_corrupt(
    store: EmbeddedStore, lights: KeptRecords[Light], document: bytes
) -> None:
    finish(store.documents.write({"light/attic/lamp": document}))
    with pytest.raises(StorageCorruption, match="the document light/attic/lamp is no light: "):
        lights.get("attic", "lamp")
    with pytest.raises(StorageCorruption, match="the document light/attic/lamp is no light: "):
        lights.by_path()
    assert lights.get("cellar", "candle") == CANDLE


def test_remembered_records_are_read_once_and_follow_writes(store: EmbeddedStore, lights: KeptRecords[Light]) -> None:
    read: list[int] = []
    remembered = RememberedRecords(lights, path_of, when_read=lambda: read.append(1))
    assert remembered.generation == -1
    assert list(remembered.by_path()) == ["attic/a/spot", "attic/lamp", "cellar/candle"]
    bright, new = Light("attic", "lamp", 1600), Light("attic", "neon")
    changes = [remembered.change(bright), remembered.change(new), remembered.removal(CANDLE)]
    assert remembered.get("attic", "lamp") == LAMP
    assert finish(remembered.write(*changes))
    finish(store.documents.write({"light/attic/unseen": b"no light"}))
    assert dict(remembered.by_path()) == {"attic/a/spot": SPOT, "attic/lamp": bright, "attic/neon": new}
    assert remembered.get("cellar", "candle") is None
    assert read == [1]


def test_remembered_records_are_read_anew_when_the_content_is_replaced(
    store: EmbeddedStore, lights: KeptRecords[Light], run: Run
) -> None:
    read: list[int] = []
    remembered = RememberedRecords(lights, path_of, when_read=lambda: read.append(1))
    checkpoint = run(store.copying.checkpoint())
    assert finish(remembered.write(remembered.removal(SPOT))) is False  # nothing has been read yet
    assert len(remembered.by_path()) == 3
    assert finish(remembered.write(remembered.removal(SPOT), remembered.removal(LAMP))) is True
    store.copying.restore(checkpoint)
    checkpoint.release()
    assert finish(remembered.write(remembered.change(Light("attic", "late")))) is False
    assert len(remembered.by_path()) == len(lights.by_path()) == 3
    assert finish(remembered.write(remembered.removal(LAMP))) is True
    assert remembered.by_path() == lights.by_path() == {"attic/a/spot": SPOT, "cellar/candle": CANDLE}
    assert read == [1, 1]


def test_remembered_records_are_corrected_as_they_are_read_and_forgotten(lights: KeptRecords[Light]) -> None:
    remembered = RememberedRecords(lights, path_of, correct=lambda one: msgspec.structs.replace(one, lumens=1))
    assert {one.lumens for one in remembered.by_path().values()} == {1}
    assert lights.get("attic", "lamp") == LAMP
    finish(lights.write(lights.removal("attic", "lamp")))
    assert remembered.get("attic", "lamp") is not None
    remembered.forget()
    assert remembered.get("attic", "lamp") is None


def test_remembered_records_are_found_by_groups(store: EmbeddedStore, lights: KeptRecords[Light]) -> None:
    remembered = RememberedRecords(lights, path_of, groups_of=lambda one: (one.room, one.lumens < 100))
    assert remembered.among("attic") == {"attic/a/spot": SPOT, "attic/lamp": LAMP}
    assert list(remembered.among(group=True).values()) == [CANDLE]
    bright = msgspec.structs.replace(CANDLE, lumens=500)
    finish(remembered.write(remembered.change(bright)))
    assert dict(remembered.among("cellar")) == {"cellar/candle": bright}
    assert dict(remembered.among(group=True)) == {}
    finish(remembered.write(remembered.removal(bright)))
    assert dict(remembered.among("cellar")) == {}
    finish(store.documents.write({"light/attic/lamp": None}))
    remembered.forget()
    assert remembered.among("attic") == {"attic/a/spot": SPOT}


def test_a_damaged_document_concerns_its_record_and_its_groups(
    store: EmbeddedStore, lights: KeptRecords[Light]
) -> None:
    finish(store.documents.write({"light/attic/lamp": b"no light", "light/attic/lantern": b"{}"}))
    remembered = RememberedRecords(
        lights, path_of, groups_of=lambda one: (one.room,), groups_of_path=lambda path: (path.split("/")[0],)
    )
    assert remembered.get("cellar", "candle") == CANDLE
    assert remembered.get("attic", "a/spot") == SPOT
    assert dict(remembered.among("cellar")) == {"cellar/candle": CANDLE}
    for _ in range(2):
        with pytest.raises(StorageCorruption, match="the document light/attic/lamp is no light: "):
            remembered.get("attic", "lamp")
        with pytest.raises(StorageCorruption, match="the document light/attic/lamp is no light: "):
            remembered.among("attic")
        with pytest.raises(StorageCorruption, match="the document light/attic/lamp is no light: "):
            remembered.by_path()
    assert finish(remembered.write(remembered.change(LAMP)))
    assert remembered.get("attic", "lamp") == LAMP
    with pytest.raises(StorageCorruption, match="the document light/attic/lantern is no light: "):
        remembered.among("attic")
    finish(store.documents.write({"light/attic/lantern": None}))
    remembered.forget()
    assert dict(remembered.among("attic")) == {"attic/a/spot": SPOT, "attic/lamp": LAMP}


def test_records_are_read_in_pieces(lights: KeptRecords[Light]) -> None:
    """Others are asked for while they are read, and content that is replaced meanwhile is read instead."""
    for number in range(200):
        finish(lights.write(lights.change(Light("hall", f"{number:03}"), "hall", f"{number:03}")))
    pieces = [len(some) for some in lights.pieces()]
    assert pieces[:4] == [1, 2, 4, 8]
    assert max(pieces) <= 100
    assert sum(pieces) == 203
    remembered = RememberedRecords(lights, path_of)
    looked: list[int] = []

    def look() -> None:
        looked.append(1)
        if len(looked) == 3:
            assert len(remembered.by_path()) == 203, "whoever asks meanwhile reads what is left"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steps, "_look", look)
        assert len(remembered.by_path()) == 203
    assert len(looked) > 3


def test_a_walk_does_not_mix_two_contents(store: EmbeddedStore, lights: KeptRecords[Light], run: Run) -> None:
    """It ends, or what is listed is that of the new content."""
    finish(lights.write(*[lights.change(Light("hall", f"{one:03}"), "hall", f"{one:03}") for one in range(200)]))
    checkpoint = run(store.copying.checkpoint())
    looked: list[int] = []

    def look() -> None:
        looked.append(1)
        if len(looked) == 3:
            store.copying.restore(checkpoint)

    def bright() -> KeptRecords[Light]:
        """The records after a change of all those of the hall."""
        looked.clear()
        changes = [lights.change(Light("hall", f"{one:03}", 9000), "hall", f"{one:03}") for one in range(200)]
        assert finish(lights.write(*changes))
        return lights

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steps, "_look", look)
        seen = [light.lumens for _, light in bright().walk("hall")]
        assert seen == [9000] * 7, "the three pieces that were read before"
        found = bright().by_path("hall")
    checkpoint.release()
    assert [light.lumens for light in found.values()] == [800] * 200


def test_a_task_that_updates_a_long_record_gives_way_between_its_steps(
    store: EmbeddedStore, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The history of an alarm of 8 MB takes 10 ms each to be read, decoded and encoded."""
    rooms = KeptRecords(store.documents, "room/", list[str], "room")
    run(rooms.write(rooms.change(["x" * LARGE_PIECE_BYTES], "attic"), rooms.change(["x"], "cellar")))
    done: list[str] = []
    decode = records_module.decode_document

    def noted(*arguments: Any) -> Any:
        done.append("decode")
        return decode(*arguments)

    monkeypatch.setattr(records_module, "decode_document", noted)

    def longer(before: list[str] | None) -> list[str]:
        done.append("update")
        return [*(before or []), "more"]

    async def beside_another(*path: str) -> None:
        updating = asyncio.ensure_future(rooms.updated_in_steps(longer, *path))
        while not updating.done():
            done.append("turn")
            await asyncio.sleep(0)
        assert await rooms.write(updating.result())

    run(beside_another("attic"))
    assert done[-3:] == ["decode", "turn", "update"], "the encoding has a turn of its own"
    assert done[:-3] == ["turn"] * 4, "one to begin, one for each COMMIT_BYTES_MAX, and one before the decoding"
    done.clear()
    run(beside_another("cellar"))
    run(beside_another("hall"))
    assert done == ["turn", "decode", "update", "turn", "update"]
    assert (rooms.get("cellar"), rooms.get("hall")) == (["x", "more"], ["more"])


def test_what_is_written_with_records_is_made_in_turn_and_only_if_nothing_has_changed(
    store: EmbeddedStore, lights: KeptRecords[Light], run: Run
) -> None:
    """Who makes it reads what others have written before."""
    remembered = RememberedRecords(lights, path_of)
    rooms = KeptRecords(store.documents, "room/", list[str], "room")
    made: list[str] = []

    async def add(name: str, *changes: RecordChange) -> bool:
        async def others() -> list[RecordChange]:
            made.append(name)
            await asyncio.sleep(0)
            return [await rooms.updated_in_steps(lambda names: [*(names or []), name], "attic")]

        return await remembered.write(*changes, others=others)

    async def run_together() -> Sequence[object]:
        remembered.by_path()
        bright, dim = (msgspec.structs.replace(LAMP, lumens=lumens) for lumens in (1600, 10))
        return await asyncio.gather(
            add("first", remembered.change(bright)),
            add("late", remembered.change(dim)),
            add("other", remembered.change(CANDLE)),
            add("alone"),
            return_exceptions=True,
        )

    first, late, other, alone = run(run_together())
    assert (first, other, alone) == (True, True, True)
    assert isinstance(late, RecordsChanged)
    assert made == rooms.get("attic") == ["first", "other", "alone"]


def test_long_records_are_read_one_by_one(lights: KeptRecords[Light]) -> None:
    for number in range(20):
        name = f"{number:02}" + "x" * 40_000
        finish(lights.write(lights.change(Light("hall", name), "hall", name)))
    assert max(len(some) for some in lights.pieces("hall")) == 1


def other_server(store: EmbeddedStore) -> RememberedRecords[Light]:
    """The same records in the memory of another server."""
    return RememberedRecords(KeptRecords(store.documents, "light/", Light, "light"), path_of)


def test_servers_do_not_overwrite_each_other_s_records(store: EmbeddedStore, lights: KeptRecords[Light]) -> None:
    one, two = RememberedRecords(lights, path_of), other_server(store)
    assert one.by_path() == two.by_path()
    bright, dim = Light("attic", "lamp", 1600), Light("attic", "lamp", 10)
    assert finish(one.write(one.change(bright)))
    before = store.position()
    with pytest.raises(RecordsChanged):
        finish(two.write(two.removal(CANDLE), two.change(dim)))
    assert store.position() == before
    assert two.by_path() == {"attic/a/spot": SPOT, "attic/lamp": bright, "cellar/candle": CANDLE}
    assert finish(two.write(two.change(dim)))
    with pytest.raises(RecordsChanged):
        one.require(dim)
    with pytest.raises(RecordsChanged):
        finish(one.write(one.removal(bright)))
    one.require(dim)
    assert finish(one.write(one.removal(dim)))
    with pytest.raises(RecordsChanged):
        finish(two.write(two.change(dim)))
    assert two.get("attic", "lamp") is None
    assert finish(two.write(two.change(dim)))
    with pytest.raises(RecordsChanged):
        finish(one.write(one.change(bright)))
    assert one.get("attic", "lamp") == dim


def test_a_record_is_updated_or_replaced_only_as_it_was_read(store: EmbeddedStore, lights: KeptRecords[Light]) -> None:
    def brighter(light: Light | None) -> Light:
        return LAMP if light is None else msgspec.structs.replace(light, lumens=light.lumens + 1)

    first, second = lights.updated(brighter, *path_of(LAMP)), lights.updated(brighter, *path_of(LAMP))
    assert finish(lights.write(first))
    with pytest.raises(RecordsChanged):
        finish(lights.write(second))
    assert lights.get(*path_of(LAMP)) == brighter(LAMP)
    with pytest.raises(RecordsChanged):
        lights.replacement(LAMP, SPOT, *path_of(LAMP))
    new = lights.replacement(None, Light("hall", "neon"), "hall", "neon")
    assert finish(lights.write(new, lights.replacement(CANDLE, None, *path_of(CANDLE))))
    with pytest.raises(RecordsChanged):
        finish(lights.write(new))
    assert lights.get(*path_of(CANDLE)) is None
    assert finish(lights.write(lights.change(CANDLE, *path_of(CANDLE)))), "whatever was there"
    generation = store.documents.generation
    store.copying.restore(None)
    assert finish(lights.write(first, generation=generation)) is False, "the content is another one"


def test_work_that_others_always_overtake_fails(run: Run) -> None:
    begun: list[int] = []

    @again_if_changed
    async def overtaken() -> None:
        begun.append(1)
        raise RecordsChanged

    with pytest.raises(StorageError, match="100 times"):
        run(overtaken())
    assert len(begun) == RECORDS_TRIES_MAX


def test_writes_of_one_server_count_the_record_each_once(lights: KeptRecords[Light], run: Run) -> None:
    """Those that have read the same record: one is written, and the others follow from what it has left."""
    remembered = RememberedRecords(lights, path_of)
    begun: list[int] = []

    @again_if_changed
    async def brighter() -> None:
        light = remembered.get(*path_of(LAMP))
        assert light is not None
        change = remembered.change(msgspec.structs.replace(light, lumens=light.lumens + 1))
        begun.append(light.lumens)
        if len(begun) <= 10:
            await asyncio.sleep(0)
        await remembered.write(change)

    async def together() -> None:
        await asyncio.gather(*[brighter() for _ in range(10)])

    run(together())
    assert remembered.get(*path_of(LAMP)) == lights.get(*path_of(LAMP)) == msgspec.structs.replace(LAMP, lumens=810)
    assert begun[:10] == [800] * 10
    assert sorted(begun[10:]) == list(range(801, 810))
