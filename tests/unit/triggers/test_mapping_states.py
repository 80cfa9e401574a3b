"""Operations on event source mappings whose states pass by service time: while a mapping changes,
it is in use, and others' changes are not lost.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from hashrange.aws_services.operation import Caller
from hashrange.functions.api.operation import LambdaError
from hashrange.functions.api.tags import TagFunctionRequest
from hashrange.functions.declaration import FunctionDeclaration
from hashrange.functions.functions import Functions
from hashrange.limits import RECORD_RETENTION_SECONDS
from hashrange.messages.event_source_mappings import DECLARED, DELETE_IN_USE, UPDATE_IN_USE
from hashrange.store.embedded import open_store
from hashrange.store.records import again_if_changed
from hashrange.tables.streams import Stream
from hashrange.triggers.api.event_source_mappings import (
    create_event_source_mapping,
    delete_event_source_mapping,
    get_event_source_mapping,
    update_event_source_mapping,
)
from hashrange.triggers.api.mapping_tags import TAGGING
from hashrange.triggers.api.requests import (
    CreateEventSourceMappingRequest,
    MappingUuidRequest,
    UpdateEventSourceMappingRequest,
)
from hashrange.triggers.mappings import Mappings
from tests.support.clocks import VirtualClock
from tests.support.samples import table_maker
from tests.unit.jobs.world import drive

CALLER = Caller("000000000000", "us-east-1")
DELAY_SECONDS = 5.0
STREAM = Stream(
    1, 1, CALLER.account, CALLER.region, "t", "2026-10-01T12:00:00.123", table_maker("t")(1).keys, "KEYS_ONLY", 0.0
)


class World:
    """Mappings whose states last for some seconds, a declared function, and one stream."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.store = open_store(None, self.clock, None)
        self.mappings = Mappings(self.store.documents, self.store.streams, self.clock, DELAY_SECONDS)
        self.functions = Functions(self.store.documents, self.clock)
        self.functions.declare("f", FunctionDeclaration(url="http://127.0.0.1:9/"))
        self.stream = STREAM
        streams = SimpleNamespace(find=lambda *place: self.stream if place[2] == "t" else None)
        self.served: Any = SimpleNamespace(
            mappings=self.mappings,
            functions=self.functions,
            clock=self.clock,
            store=SimpleNamespace(streams=streams),
        )

    def create(self, **members: Any) -> Any:
        request = CreateEventSourceMappingRequest(
            EventSourceArn=STREAM.arn, FunctionName="f", StartingPosition="LATEST", **members
        )
        return drive(create_event_source_mapping(self.served, CALLER, request))

    def update(self, uuid: str, **members: Any) -> Any:
        request = UpdateEventSourceMappingRequest(UUID=uuid, **members)
        return drive(again_if_changed(update_event_source_mapping)(self.served, CALLER, request))

    def delete(self, uuid: str) -> Any:
        request = MappingUuidRequest(UUID=uuid)
        return drive(again_if_changed(delete_event_source_mapping)(self.served, CALLER, request))

    def state(self, uuid: str) -> str:
        described = drive(get_event_source_mapping(self.served, CALLER, MappingUuidRequest(UUID=uuid)))
        return str(described["State"])

    def tag(self, arn: str, **tags: str) -> None:
        drive(TAGGING.tag(self.served, CALLER, TagFunctionRequest(Resource=arn, Tags=tags)))


@pytest.fixture
def world() -> World:
    return World()


def refused(call: Callable[..., Any], *arguments: Any, **members: Any) -> tuple[int, str, str]:
    """Status, code and message of a call that is refused."""
    with pytest.raises(LambdaError) as caught:
        call(*arguments, **members)
    return caught.value.http_status, caught.value.code, caught.value.message


def check_in_use(world: World, made: Any, state: str) -> None:
    """Fail unless the mapping is in this state, and refuses all changes."""
    uuid = made["UUID"]
    assert world.state(uuid) == state
    assert refused(world.update, uuid, BatchSize=1) == (400, "ResourceInUseException", UPDATE_IN_USE)
    assert refused(world.delete, uuid) == (400, "ResourceInUseException", DELETE_IN_USE)
    assert refused(world.tag, made["EventSourceMappingArn"], a="b") == (
        409,
        "ResourceConflictException",
        UPDATE_IN_USE,
    )


def test_a_mapping_that_changes_is_in_use(world: World) -> None:
    made = world.create()
    check_in_use(world, made, "Creating")
    for members, state, then in (
        ({"Enabled": False}, "Disabling", "Disabled"),
        ({"BatchSize": 2}, "Updating", "Disabled"),
        ({"Enabled": True}, "Enabling", "Enabled"),
    ):
        world.clock.advance_all(DELAY_SECONDS)
        assert world.update(made["UUID"], **members)["State"] == state
        check_in_use(world, made, state)
        world.clock.advance_all(DELAY_SECONDS)
        assert world.state(made["UUID"]) == then


def test_tags_change_neither_state_nor_time_of_a_mapping(world: World) -> None:
    """Terraform removes tags, adds tags and updates the mapping, and does not wait in between."""
    made = world.create()
    world.clock.advance_all(DELAY_SECONDS)
    before = world.mappings.find(CALLER, made["UUID"])
    assert before is not None
    world.tag(made["EventSourceMappingArn"], a="1")
    world.tag(made["EventSourceMappingArn"], b="2")
    assert world.mappings.find(CALLER, made["UUID"]) == msgspec.structs.replace(before, tags={"a": "1", "b": "2"})
    assert world.update(made["UUID"], BatchSize=2)["State"] == "Updating"


def test_tags_of_a_declared_mapping_cannot_be_changed(world: World) -> None:
    made = world.create()
    world.clock.advance_all(DELAY_SECONDS)
    stored = world.mappings.find(CALLER, made["UUID"])
    assert stored is not None
    drive(world.mappings.replace(stored, msgspec.structs.replace(stored, is_declared=True)))
    world.clock.advance_all(DELAY_SECONDS)
    told = refused(world.tag, made["EventSourceMappingArn"], a="1")
    assert told == (400, "InvalidParameterValueException", DECLARED)


def test_a_mapping_that_is_deleted_is_in_use_and_then_gone(world: World) -> None:
    made = world.create()
    world.clock.advance_all(DELAY_SECONDS)
    assert world.delete(made["UUID"])["State"] == "Deleting"
    check_in_use(world, made, "Deleting")
    assert refused(world.create)[:2] == (409, "ResourceConflictException")
    world.clock.advance_all(DELAY_SECONDS)
    assert refused(world.state, made["UUID"])[:2] == (404, "ResourceNotFoundException")
    assert world.create()["UUID"] != made["UUID"]


@pytest.mark.parametrize("name", ["update", "delete"])
def test_a_change_that_another_request_overtakes_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Between reading the mapping and writing it, another request has changed it."""
    made = world.create()
    world.clock.advance_all(DELAY_SECONDS)
    read = world.mappings.last_processing_result

    def overtake(mapping: Any) -> str:
        drive(world.mappings.replace(mapping, msgspec.structs.replace(mapping, batch_size=9)))
        return read(mapping)

    monkeypatch.setattr(world.mappings, "last_processing_result", overtake)
    members = {"BatchSize": 2} if name == "update" else {}
    assert refused(getattr(world, name), made["UUID"], **members)[1] == "ResourceInUseException"
    stored = world.mappings.find(CALLER, made["UUID"])
    assert stored is not None
    assert stored.batch_size == 9


@pytest.mark.parametrize(("hours", "is_found"), [(23, True), (25, False)])
def test_a_stream_can_be_mapped_for_a_day_after_its_end(world: World, hours: int, *, is_found: bool) -> None:
    world.clock.advance_all(RECORD_RETENTION_SECONDS * 2)
    ended_at_seconds = world.clock.service_time() - hours * 3600
    world.stream = msgspec.structs.replace(STREAM, is_on=False, ended_at_seconds=ended_at_seconds)
    if is_found:
        assert world.create()["State"] == "Creating"
    else:
        assert refused(world.create) == (400, "InvalidParameterValueException", f"Stream not found: {STREAM.arn}")
