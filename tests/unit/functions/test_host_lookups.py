"""Names of hosts are looked up on threads of their own, so that slow names hold up neither others nor an end."""

import asyncio
import gc
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from hashrange.functions import host_lookups
from hashrange.functions.host_lookups import FOUND_MAX, LOOKUPS_MAX, STRANGERS_MAX, TRY_LATER, HostLookups
from hashrange.functions.http_client import ExchangeFailed, exchange, read_target
from tests.support.name_server import THREAD_NAME, NameServer, name_server
from tests.support.waiting import PATIENCE_SECONDS, until
from tests.unit.functions.answering import answering, reply
from tests.unit.functions.world import LOOPS

Run = Callable[[Coroutine[Any, Any, Any]], Any]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[NameServer]:
    with name_server(monkeypatch) as names:
        yield names


@pytest.fixture(params=sorted(LOOPS))
def run(request: pytest.FixtureRequest) -> Run:
    """Runs a coroutine on each kind of event loop."""

    def to_end(main: Coroutine[Any, Any, Any]) -> Any:
        with asyncio.Runner(loop_factory=LOOPS[request.param]) as runner:
            return runner.run(asyncio.wait_for(main, PATIENCE_SECONDS))

    return to_end


def waiting_for(lookups: HostLookups, *hosts: str) -> list["asyncio.Task[list[str]]"]:
    """Tasks that ask for names."""
    return [asyncio.ensure_future(lookups.addresses_of(host)) for host in hosts]


async def given_up(tasks: list["asyncio.Task[Any]"]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


def test_slow_names_do_not_hold_up_another(names: NameServer, run: Run) -> None:
    async def main() -> None:
        async with answering(reply(b"here")) as server:
            target = read_target(server.url)
            slow = [read_target(f"http://{number}.slow.test/") for number in range(STRANGERS_MAX - 1)]
            tasks = [asyncio.ensure_future(exchange(one, "POST", {}, b"", 100)) for one in slow]
            await until(lambda: len(names.asked) == len(slow))
            named = target._replace(host="a.quick.test")
            assert (await exchange(named, "POST", {}, b"", 100)).body == b"here"
            assert not any(task.done() for task in tasks)
            await given_up(tasks)

    run(main())


def test_the_end_of_a_loop_waits_for_no_name(names: NameServer, run: Run) -> None:
    async def main() -> None:
        asking = asyncio.ensure_future(exchange(read_target("http://a.slow.test/"), "POST", {}, b"", 100))
        await until(lambda: names.asked)
        assert not asking.done()

    run(main())
    left = [one for one in threading.enumerate() if one.name == THREAD_NAME]
    assert not names.ended
    assert [one.daemon for one in left] == [True], "nor does the end of the process wait"


def test_those_who_want_the_same_name_share_a_look_up(names: NameServer, run: Run) -> None:
    async def main() -> None:
        lookups = HostLookups()
        tasks = waiting_for(lookups, *["a.slow.test"] * 3)
        await until(lambda: names.asked)
        await given_up(tasks[:1])
        names.may_answer.set()
        assert [await task for task in tasks[1:]] == [["127.0.0.1"]] * 2

    run(main())
    assert names.asked == ["a.slow.test"]


def test_a_name_is_asked_for_anew_later(names: NameServer) -> None:
    lookups = HostLookups()
    assert asyncio.run(lookups.addresses_of("a.quick.test")) == ["127.0.0.1"]
    names.addresses = ["127.0.0.2", "::1"]
    assert asyncio.run(lookups.addresses_of("a.quick.test")) == ["127.0.0.2", "::1"]


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "fe80::1%lo"])
def test_an_address_needs_no_look_up(names: NameServer, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", None)
    assert asyncio.run(HostLookups().addresses_of(host)) == [host]


# --- failures -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "failure",
    [
        socket.gaierror(socket.EAI_NONAME, "Name or service not known"),
        UnicodeError("label empty or too long"),
        UnicodeEncodeError("idna", "a", 0, 1, "why"),
    ],
)
def test_each_caller_has_an_error_of_its_own(names: NameServer, failure: Exception) -> None:
    async def main() -> None:
        names.failure = failure
        lookups = HostLookups()
        tasks = waiting_for(lookups, *["a.slow.test"] * 2)
        await until(lambda: names.asked)
        names.may_answer.set()
        first, second = await asyncio.gather(*tasks, return_exceptions=True)
        assert first is not second
        for one in (first, second):
            assert (type(one), str(one)) == (type(failure), str(failure))

    asyncio.run(main())


def test_the_error_of_an_exchange_is_that_of_the_resolver(names: NameServer, run: Run) -> None:
    names.failure = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    with pytest.raises(ExchangeFailed, match=r"^\[Errno -\d+\] Name or service not known$"):
        run(exchange(read_target("http://a.quick.test/"), "POST", {}, b"", 100))


def test_a_machine_without_threads(names: NameServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    lookups = HostLookups()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(socket.gaierror, match="can't start new thread"):
            asyncio.run(lookups.addresses_of("a.quick.test"))
    assert asyncio.run(lookups.addresses_of("a.quick.test")) == ["127.0.0.1"]


# --- bounds -------------------------------------------------------------------------------------


def test_so_many_strange_names_at_a_time_and_the_others_wait(names: NameServer) -> None:
    async def main() -> None:
        lookups = HostLookups()
        tasks = waiting_for(lookups, *[f"{number}.slow.test" for number in range(STRANGERS_MAX + 3)])
        late = waiting_for(lookups, "a.quick.test", "b.quick.test")
        await until(lambda: len(names.asked) == STRANGERS_MAX)
        for _ in range(10):
            await asyncio.sleep(0)
        assert len(names.asked) == STRANGERS_MAX
        assert not late[0].done()
        await given_up(late[1:])
        names.may_answer.set()
        assert await asyncio.gather(*tasks, late[0]) == [["127.0.0.1"]] * (STRANGERS_MAX + 4)

    asyncio.run(main())
    assert "b.quick.test" not in names.asked, "nobody waits for it any more"


def test_names_that_were_found_have_places_left(names: NameServer) -> None:
    async def main() -> None:
        lookups = HostLookups()
        known = [f"{number}.known.slow.test" for number in range(LOOKUPS_MAX - STRANGERS_MAX)]
        names.may_answer.set()
        await asyncio.gather(*waiting_for(lookups, *known, "more.slow.test", "daily.quick.test"))
        names.may_answer.clear()
        names.asked.clear()
        tasks = waiting_for(lookups, *[f"{number}.slow.test" for number in range(STRANGERS_MAX)])
        await until(lambda: len(names.asked) == STRANGERS_MAX)
        assert await lookups.addresses_of("daily.quick.test") == ["127.0.0.1"]
        tasks += waiting_for(lookups, *known)
        await until(lambda: len(names.asked) == LOOKUPS_MAX + 1)
        tasks += waiting_for(lookups, "more.slow.test")
        for _ in range(10):
            await asyncio.sleep(0)
        assert "more.slow.test" not in names.asked
        names.may_answer.set()
        await asyncio.gather(*tasks)

    asyncio.run(main())


def test_a_name_that_was_found_slowly_is_strange(names: NameServer, monkeypatch: pytest.MonkeyPatch) -> None:
    lookups = HostLookups()
    asyncio.run(lookups.addresses_of("a.quick.test"))
    assert len(lookups._found) == 1
    monkeypatch.setattr(host_lookups, "QUICK_SECONDS", 0.0)
    asyncio.run(lookups.addresses_of("a.quick.test"))
    assert not lookups._found


def test_the_names_that_were_found_last_are_remembered(names: NameServer) -> None:
    lookups = HostLookups()

    async def main() -> None:
        for number in (0, *range(FOUND_MAX), 0, FOUND_MAX):
            await lookups.addresses_of(f"{number}.quick.test")

    asyncio.run(main())
    assert [host for host, _ in lookups._found] == [
        *[f"{number}.quick.test" for number in range(2, FOUND_MAX)],
        "0.quick.test",
        f"{FOUND_MAX}.quick.test",
    ]


@pytest.mark.parametrize("others", [0, STRANGERS_MAX])
def test_nobody_waits_for_ever(names: NameServer, monkeypatch: pytest.MonkeyPatch, others: int) -> None:
    """Neither for an answer nor for a place."""

    async def main() -> None:
        lookups = HostLookups()
        tasks = waiting_for(lookups, *[f"{number}.slow.test" for number in range(others)])
        await until(lambda: len(names.asked) == others)
        monkeypatch.setattr(host_lookups, "SECONDS_MAX", 0.001)
        with pytest.raises(socket.gaierror, match=TRY_LATER) as caught:
            await lookups.addresses_of("a.slow.test")
        assert caught.value.errno == socket.EAI_AGAIN
        names.may_answer.set()
        await asyncio.gather(*tasks)

    asyncio.run(main())


# --- connections --------------------------------------------------------------------------------


def test_the_first_address_at_which_somebody_listens(names: NameServer, run: Run) -> None:
    async def main() -> None:
        async with answering(reply(b"here")) as server:
            names.addresses = ["127.0.0.2", "127.0.0.3", "127.0.0.1"]
            target = read_target(server.url)._replace(host="a.quick.test")
            assert (await exchange(target, "POST", {}, b"", 100)).body == b"here"

    run(main())


def test_nobody_listens_at_any_address(names: NameServer, run: Run) -> None:
    async def main() -> str:
        with pytest.raises(ExchangeFailed) as caught:
            await exchange(read_target("http://a.quick.test:1/"), "POST", {}, b"", 100)
        return str(caught.value)

    one = run(main())
    names.addresses = ["127.0.0.1", "127.0.0.1"]
    assert run(main()) == one, "the same is said once"
    names.addresses = ["127.0.0.1", "127.0.0.2"]
    other = one.replace("127.0.0.1", "127.0.0.2")
    assert run(main()) == (one if other == one else f"Multiple exceptions: {one}, {other}")


def test_an_exchange_that_finds_nobody_leaves_no_cycle(names: NameServer) -> None:
    names.addresses = ["127.0.0.1", "127.0.0.2"]

    async def main() -> None:
        with pytest.raises(ExchangeFailed):
            await exchange(read_target("http://a.quick.test:1/"), "POST", {}, b"", 100)

    asyncio.run(main())
    gc.freeze()  # what other tests have left is not looked at
    gc.disable()
    try:
        asyncio.run(main())
        left = [one for one in gc.get_objects() if isinstance(one, ConnectionRefusedError)]
    finally:
        gc.enable()
    assert not left
