"""ARCHITECTURE's recipe for a new service, followed literally: a record, and a line in the list of features.
All else follows from the record: loading, its job and API, what it saves, the end.
"""

import asyncio
import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hashrange.aws_services.operation import Caller, FormWire, MemberFault, Operation, ServiceApi, ServiceError, bound
from hashrange.errors import StorageError
from hashrange.features.features import Feature, FeatureApi, FeatureJob, Features
from hashrange.service import service as service_module
from hashrange.service.features import FEATURES
from hashrange.settings import Settings
from hashrange.testing import Database, server

PREFIX = "parrot/"


class Parrots:
    """What the feature consists of: words are heard, kept as documents when they are saved, and said."""

    def __init__(self, features: Features) -> None:
        self.documents = features.store.documents
        self.wake = features.waker("parrots")
        self.heard: list[str] = []
        self.said: list[str] = []
        self.contents = 0
        self.is_stopped = False

    async def say(self) -> float | None:
        """A slice of the job."""
        self.said = [name.removeprefix(PREFIX) for name, _ in self.documents.below(PREFIX)]
        return None

    async def save(self) -> None:
        await self.documents.write({PREFIX + word: b"" for word in self.heard})
        self.heard.clear()

    def see_content(self) -> None:
        self.contents += 1
        self.heard.clear()

    async def stop(self) -> None:
        self.is_stopped = True


class TeachRequest(msgspec.Struct, frozen=True, kw_only=True):
    Word: str


async def teach(parrots: Parrots, _caller: Caller, request: TeachRequest) -> dict[str, object]:
    parrots.heard.append(request.Word)
    parrots.wake()
    return {"Words": len(parrots.heard)}


def word_parrot_fault(fault: MemberFault) -> ServiceError:
    return ServiceError("ParrotConfused", fault.path)


def parrot_api(parrots: Parrots, _features: Features) -> ServiceApi:
    return ServiceApi(
        name="Parrots",
        signing_name="parrots",
        target_prefix="Parrots_1",
        json_version="1.1",
        version="2026-01-01",
        operations=bound([Operation("Teach", TeachRequest, teach, FormWire(is_signed=False))], parrots),
        unserved=frozenset(),
        word=word_parrot_fault,
        errors={},
        internal_error="InternalFailure",
    )


PARROTS = Feature(
    "parrots",
    Parrots,
    prefixes=(PREFIX,),
    jobs=(FeatureJob("parrots", lambda parrots, _: parrots.say),),
    apis={"parrots": FeatureApi("Parrots_1", parrot_api)},
    save=Parrots.save,
    see_content=Parrots.see_content,
    stop=Parrots.stop,
)


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_module, "FEATURES", (*FEATURES, PARROTS))


@pytest.fixture
def database(listed: None) -> Iterator[Database]:
    with server(Settings(data_dir=None, port=0)) as opened:
        yield opened


def features_of(database: Database) -> Features:
    return database._process.service.features


def taught(database: Database, members: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Status and body of the reply to a request, which nobody has signed."""
    headers = {"content-type": "application/x-amz-json-1.1", "x-amz-target": "Parrots_1.Teach"}
    connection = http.client.HTTPConnection(database.endpoint.removeprefix("http://"), timeout=20)
    try:
        connection.request("POST", "/", json.dumps(members), headers)
        with connection.getresponse() as response:
            body = response.read()
            return response.status, json.loads(body) if body.startswith(b"{") else {}
    finally:
        connection.close()


def test_it_is_loaded_with_the_first_request_of_its_api(database: Database) -> None:
    assert taught(database, {"Word": "hello"})[0] == 200
    assert features_of(database).loaded(PARROTS) is not None


def test_nobody_pays_for_it_before(database: Database) -> None:
    database.client().list_tables()
    database.clock.advance(60)
    database.snapshot().release()
    assert features_of(database).loaded(PARROTS) is None


def test_its_api_answers(database: Database) -> None:
    assert taught(database, {"Word": "hello"}) == (200, {"Words": 1})
    status, refusal = taught(database, {})
    assert (status, refusal["__type"], refusal["message"]) == (400, "ParrotConfused", "Word")


def test_its_job_runs_when_it_is_woken(database: Database) -> None:
    taught(database, {"Word": "hello"})
    parrots = features_of(database).part(PARROTS)
    assert parrots.said == []
    database._process.run(parrots.save)
    taught(database, {"Word": "bye"})
    database.clock.advance(0)
    assert parrots.said == ["hello"]


def test_it_saves_before_a_copy_and_a_copy_finds_it_by_its_documents(database: Database) -> None:
    taught(database, {"Word": "hello"})
    with database.fork() as fork:
        assert features_of(database).part(PARROTS).heard == []
        fork.clock.advance(0)
        parrots = features_of(fork).loaded(PARROTS)
        assert parrots is not None
        assert parrots is not features_of(database).part(PARROTS)
        assert parrots.said == ["hello"]


def test_it_is_told_of_replaced_content_once(database: Database) -> None:
    taught(database, {"Word": "hello"})
    parrots = features_of(database).part(PARROTS)
    snapshot = database.snapshot()
    database.client().list_tables()
    assert parrots.contents == 0
    database.reset()
    assert (parrots.contents, parrots.documents.below(PREFIX)) == (1, [])
    database.restore(snapshot)
    assert [name for name, _ in parrots.documents.below(PREFIX)] == [PREFIX + "hello"]
    assert parrots.contents == 2


def test_it_is_stopped_and_saved_at_the_end(listed: None, tmp_path: Path) -> None:
    settings = Settings(data_dir=str(tmp_path / "data"), port=0)
    with server(settings) as database:
        taught(database, {"Word": "hello"})
        parrots = features_of(database).part(PARROTS)
    assert parrots.is_stopped
    with server(settings) as database:
        database.clock.advance(0)
        found = features_of(database).loaded(PARROTS)
        assert found is not None
        assert found.said == ["hello"]


def test_what_cannot_be_saved_at_the_end_is_named_and_keeps_no_other_from_being_saved(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(_: Parrots) -> None:
        raise StorageError("the disk is full")

    mute = Feature("words of mute parrots", Parrots, is_loaded_at_start=lambda settings: True, save=fail)
    monkeypatch.setattr(service_module, "FEATURES", (*FEATURES, mute, PARROTS))
    with server(Settings(data_dir=str(tmp_path / "data"), port=0)) as database:
        parrots = features_of(database).part(PARROTS)
        taught(database, {"Word": "hello"})
    assert parrots.heard == []
    assert "the words of mute parrots of the last minutes could not be saved: the disk is full" in caplog.messages


def test_a_feature_that_cannot_be_loaded_is_loaded_with_the_next_try(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(Parrots, "__init__", lambda *_: 1 / 0)
        assert taught(database, {"Word": "hello"})[0] == 500
        assert features_of(database).loaded(PARROTS) is None
    assert taught(database, {"Word": "hello"}) == (200, {"Words": 1})


def test_work_that_nothing_waits_for_ends_with_the_jobs(database: Database) -> None:
    features, ended = features_of(database), asyncio.Event()

    async def last() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()

    async def begin_and_stop() -> None:
        features.begin(last())
        await asyncio.sleep(0)
        await features.stop()

    database._process.run(begin_and_stop)
    assert ended.is_set()


@pytest.mark.parametrize("feature", [one for one in FEATURES if one.apis], ids=lambda one: one.name)
def test_an_api_is_the_one_of_its_record(database: Database, feature: Feature[Any]) -> None:
    for signing_name, api in feature.apis.items():
        made = database._process.run(features_of(database).api, signing_name)
        assert (made.signing_name, made.target_prefix) == (signing_name, api.target_prefix)
