"""Mappings are stored, pass through their states by service time, and go with their checkpoints."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hashrange.aws_services.operation import Caller
from hashrange.errors import RecordsChanged, StorageCorruption
from hashrange.functions.description import new_uuid
from hashrange.messages.triggers import STREAM_ENDED
from hashrange.store.embedded import open_store
from hashrange.tables.streams import Shard, sequence_text
from hashrange.triggers.mapping import EventSourceMapping, without_overlong_transition
from hashrange.triggers.mappings import CHECKPOINT_PREFIX, RESULT_PREFIX, Mappings
from tests.support.clocks import VirtualClock
from tests.unit.jobs.world import drive
from tests.unit.triggers.deliveries import ACCOUNT, FUNCTION, REGION, Deliveries

CALLER = Caller(ACCOUNT, REGION)
DELAY = 5.0


class Kept:
    """Mappings over a store in memory."""

    def __init__(self, delay_seconds: float = 0.0, folder: Path | None = None) -> None:
        self.clock = VirtualClock()
        self.store = open_store(None if folder is None else str(folder), self.clock, None)
        self.delay_seconds = delay_seconds
        self.begin()

    def begin(self) -> None:
        self.mappings = Mappings(self.store.documents, self.store.streams, self.clock, self.delay_seconds)

    def create(self, **members: Any) -> EventSourceMapping:
        usual: dict[str, Any] = {
            "uuid": new_uuid(), "account": ACCOUNT, "region": REGION, "stream_arn": "arn",
            "function_arn": FUNCTION, "starting_position": "TRIM_HORIZON",
        }  # fmt: skip
        created: EventSourceMapping = drive(self.mappings.create(EventSourceMapping(**usual | members)))
        return created

    def names(self) -> list[str]:
        return [name for name, _ in self.store.documents.below("")]


def test_a_mapping_is_found_by_its_caller_alone() -> None:
    kept = Kept()
    one, other = kept.create(batch_size=7), kept.create(region="eu-west-1")
    assert kept.mappings.find(CALLER, one.uuid) == one
    assert kept.mappings.find(CALLER, other.uuid) is None
    assert kept.mappings.all_of(CALLER) == [one]
    assert list(kept.mappings.all()) == [one, other]
    assert one.arn == f"arn:aws:lambda:{REGION}:{ACCOUNT}:event-source-mapping:{one.uuid}"


def test_mappings_are_listed_by_their_uuids() -> None:
    kept = Kept()
    created = [kept.create() for _ in range(20)]
    assert [one.uuid for one in kept.mappings.all_of(CALLER)] == sorted(one.uuid for one in created)


def test_mappings_survive_a_restart(tmp_path: Path) -> None:
    kept = Kept(folder=tmp_path / "data")
    one = kept.create(
        filters=('{"eventName": ["INSERT"]}',), tags={"team": "a"}, metrics_config={"Metrics": ["EventCount"]}
    )
    kept.store.close_now()
    kept.store = open_store(str(tmp_path / "data"), kept.clock, None)
    kept.begin()
    assert list(kept.mappings.all()) == [one]
    kept.store.close_now()


def test_states_pass_at_once_without_a_delay() -> None:
    kept = Kept()
    mapping = kept.create()
    assert (mapping.transition, kept.mappings.shown_state(mapping)) == ("Creating", "Enabled")
    disabled = drive(kept.mappings.replace(mapping, msgspec.structs.replace(mapping, is_enabled=False)))
    assert (disabled.transition, kept.mappings.shown_state(disabled)) == ("Disabling", "Disabled")
    enabled = drive(kept.mappings.replace(disabled, msgspec.structs.replace(disabled, is_enabled=True)))
    assert (enabled.transition, kept.mappings.shown_state(enabled)) == ("Enabling", "Enabled")
    updated = drive(kept.mappings.replace(enabled, msgspec.structs.replace(enabled, batch_size=1)))
    assert (updated.transition, kept.mappings.shown_state(updated)) == ("Updating", "Enabled")
    deleted = drive(kept.mappings.delete(updated))
    assert deleted.transition == "Deleting"
    assert kept.mappings.find(CALLER, mapping.uuid) is None
    assert kept.names() == []


def test_states_pass_after_the_delay() -> None:
    kept = Kept(DELAY)
    mapping = kept.create(is_enabled=False)
    assert kept.mappings.shown_state(mapping) == "Creating"
    kept.clock.advance(DELAY)
    assert kept.mappings.shown_state(mapping) == "Disabled"
    enabled = drive(kept.mappings.replace(mapping, msgspec.structs.replace(mapping, is_enabled=True)))
    assert kept.mappings.shown_state(enabled) == "Enabling"
    assert enabled.last_modified_seconds == kept.clock.service_time()
    kept.clock.advance(DELAY)
    assert kept.mappings.shown_state(enabled) == "Enabled"
    drive(kept.mappings.delete(enabled))
    (deleting,) = kept.mappings.all_of(CALLER)
    assert kept.mappings.shown_state(deleting) == "Deleting"
    kept.clock.advance(DELAY)
    assert kept.mappings.all_of(CALLER) == []
    assert kept.names() == ["mapping/" + "/".join(deleting.path)]
    drive(kept.mappings.purge())
    assert kept.names() == []


@pytest.mark.parametrize("delay_seconds", [0.0, DELAY])
def test_a_mapping_goes_with_what_belongs_to_it_and_nothing_else(delay_seconds: float) -> None:
    kept = Kept(delay_seconds)
    one, other = kept.create(), kept.create()
    for mapping in (one, other):
        drive(kept.store.documents.write({f"{CHECKPOINT_PREFIX}{mapping.uuid}/1": b"{}"}))
        drive(kept.store.documents.write({RESULT_PREFIX + mapping.uuid: b"OK"}))
    before = kept.store.position()
    drive(kept.mappings.delete(one))
    assert kept.store.position() == before + 1, "in one commit"
    assert not [name for name in kept.names() if one.uuid in name and not name.startswith("mapping/")]
    assert len([name for name in kept.names() if other.uuid in name]) == 3


def test_a_change_of_what_is_no_longer_stored_does_nothing() -> None:
    kept = Kept()
    old = kept.create()
    new = drive(kept.mappings.replace(old, msgspec.structs.replace(old, batch_size=1)))
    for change in (
        kept.mappings.replace(old, msgspec.structs.replace(old, batch_size=2)),
        kept.mappings.replace_tags(old, {"a": "b"}),
        kept.mappings.delete(old),
    ):
        with pytest.raises(RecordsChanged):
            drive(change)
    assert list(kept.mappings.all()) == [new]


def test_listeners_hear_of_every_change() -> None:
    kept = Kept()
    heard: list[int] = []
    kept.mappings.on_change(lambda: heard.append(len(kept.mappings.all())))
    mapping = kept.create()
    mapping = drive(kept.mappings.replace(mapping, mapping))
    drive(kept.mappings.delete(mapping))
    assert heard == [1, 1, 0]


def test_latest_begins_after_the_last_record_of_the_stream() -> None:
    world = Deliveries()
    world.write(1, 2)
    assert world.map().first == 0
    (stream,) = world.store.streams.of(ACCOUNT, REGION)
    (shard,) = world.store.streams.shards(stream)
    latest = world.map(starting_position="LATEST")
    assert latest.first == drive(world.store.streams.last_of_shard(shard)) + 1
    world.write(3)
    ((sequence, _),) = drive(world.store.streams.records(shard, latest.first, 10, 10**6)).records
    assert sequence == latest.first, "it is the next one"


def test_latest_misses_nothing_where_each_shard_has_numbers_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    world = Deliveries(partition_size_max_bytes=4_000)
    for key in range(20):
        world.write(1, key=key, pad={"S": "x" * 1_000})
    world.split()
    (stream,) = world.store.streams.of(ACCOUNT, REGION)
    numbers = [one.number for one in world.store.streams.shards(stream) if one.last is None]
    assert len(numbers) > 2

    async def last_of_shard(shard: Shard) -> int:
        assert shard.last is None, "of an ended shard, nothing is wanted"
        return 1_000 - shard.number

    monkeypatch.setattr(world.store.streams, "last_of_shard", last_of_shard)
    assert world.map(starting_position="LATEST").first == 1_000 - max(numbers) + 1


def test_latest_of_a_stream_that_has_ended_delivers_nothing() -> None:
    world = Deliveries()
    world.write(1)
    world.ask("UpdateTable", StreamSpecification={"StreamEnabled": False})
    mapping = world.map(starting_position="LATEST")
    world.deliver()
    assert world.taken() == []
    assert world.result(mapping) == STREAM_ENDED


def test_after_a_restore_the_mappings_are_those_of_the_content() -> None:
    kept = Kept()
    kept.create()
    kept.store.copying.restore(None)
    assert list(kept.mappings.all()) == []
    kept.create()
    assert len(kept.mappings.all()) == 1


def test_a_document_holds_a_mapping_without_its_defaults() -> None:
    kept = Kept()
    mapping = kept.create(starting_sequence=sequence_text(2**80))
    (name,) = kept.names()
    assert name == f"mapping/{ACCOUNT}/{REGION}/{mapping.uuid}"
    document = kept.store.documents.get(name)
    assert document is not None
    assert b"batch_size" not in document
    kept.begin()
    assert kept.mappings.find(CALLER, mapping.uuid) == mapping
    assert mapping.first == 2**80
    drive(kept.store.documents.write({name: b'{"uuid": 1}'}))
    kept.begin()
    with pytest.raises(StorageCorruption, match=f"the document {name} is no event source mapping"):
        kept.mappings.all()


def test_a_new_mapping_is_created_in_the_present_content() -> None:
    kept = Kept()
    checkpoint = asyncio.run(kept.store.copying.checkpoint())
    kept.create()
    kept.store.copying.restore(checkpoint)
    checkpoint.release()
    created = kept.create()
    assert list(kept.mappings.all()) == [created]
    assert kept.names() == ["mapping/" + "/".join(created.path)]


def test_a_transition_that_began_in_the_future_ends_now() -> None:
    mapping = EventSourceMapping(
        uuid="u", account=ACCOUNT, region=REGION, stream_arn="s", function_arn="f", starting_position="LATEST",
        changing_until_seconds=1_000.0,
    )  # fmt: skip
    assert without_overlong_transition(mapping, 996.0, DELAY) == mapping
    assert without_overlong_transition(mapping, 990.0, DELAY).changing_until_seconds == 990.0
