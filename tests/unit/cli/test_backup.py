"""`hashrange backup` and `hashrange restore`: copies of a running server, and of a data folder, become data folders."""

import errno
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hashrange.cli.main import DONE, FAILED, WRONG_USE, main
from hashrange.cli.remote import Remote
from hashrange.clock import MovableClock, SystemClock
from hashrange.settings import Settings
from hashrange.store.repository.folder import WrittenRepository
from tests.support.copied_stores import (
    Shop,
    content_of,
    copies_in,
    file_names,
    needed_names,
    opened_shop,
    restored,
)
from tests.support.in_process import in_process
from tests.support.raw_client import RawClient
from tests.support.waiting import wait_until

Printed = pytest.CaptureFixture[str]
COPY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}-[0-9]{2}-[0-9]{2}Z"
ACCOUNTS, TOTAL = 8, 8 * 100


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    with opened_shop(tmp_path / "data") as shop:
        shop.make("orders")
        for number in range(40):
            shop.put("orders", str(number), "x" * 1000)
        yield shop


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "copies"


def test_a_copy_of_a_server_becomes_a_data_folder(shop: Shop, target: Path, tmp_path: Path, capsys: Printed) -> None:
    assert main(["backup", shop.endpoint, str(target)]) == DONE
    said = capsys.readouterr().out
    assert re.fullmatch(rf"{target}: copy ({COPY}), \d+ files in [0-9.,]+ \w+, \d+ of them new, [0-9.,]+ \w+\.\n", said)
    shop.put("orders", "later", "y")
    assert main(["restore", str(target), str(tmp_path / "restored")]) == DONE
    said = capsys.readouterr().out
    assert re.fullmatch(rf"{tmp_path}/restored: the copy {COPY}, \d+ files in [0-9.,]+ \w+\.\n", said)
    assert main(["check", str(tmp_path / "restored")]) == DONE
    with opened_shop(tmp_path / "restored") as other:
        found = {item["id"]["S"] for item in other.call("Scan", TableName="orders")["Items"]}
    assert found == {str(number) for number in range(40)}
    assert shop.snapshots() == []


def test_a_second_copy_adds_what_is_new(
    shop: Shop, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["backup", shop.endpoint, str(target)]) == DONE
    (first,) = copies_in(target).values()
    former, before = shop.copied_content(), file_names(target)
    shop.put("orders", "new", "y")
    read = read_names(monkeypatch)
    assert main(["backup", shop.endpoint, str(target)]) == DONE
    _, newest = copies_in(target).values()
    known = {one.name for one in first.files if one.fingerprint}
    assert known
    assert not known & read
    assert before < file_names(target) == needed_names(target)
    added = sum((target / name).stat().st_size for name in file_names(target) - before if name.startswith("files/"))
    assert newest.added_bytes == added
    assert restored(target, tmp_path / "restored") == shop.content
    assert restored(target, tmp_path / "restored", "--copy", first.name) == former


def read_names(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of the files that are read from a server from now on."""
    read: set[str] = set()
    fetch = Remote.fetch

    def noted(server: Remote, path: str, **members: Any) -> bytes:
        read.add(path.rpartition("/")[2].replace("%2F", "/"))
        return fetch(server, path, **members)

    monkeypatch.setattr(Remote, "fetch", noted)
    return read


def test_a_full_copy_reads_everything(shop: Shop, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["backup", shop.endpoint, str(target)]) == DONE
    read = read_names(monkeypatch)
    assert main(["backup", shop.endpoint, str(target), "--full"]) == DONE
    *_, newest = copies_in(target).values()
    assert read == {one.name for one in newest.files if one.bytes}
    assert file_names(target) == needed_names(target)


def test_a_folder_without_a_server_is_copied(shop: Shop, target: Path, tmp_path: Path, capsys: Printed) -> None:
    assert main(["backup", str(shop.data_dir), str(target)]) == FAILED
    told = (
        f"hashrange: {shop.data_dir} is in use by a server or another command. Name the server's endpoint instead, such"
        " as http://127.0.0.1:8000; it needs its admin API (--admin).\n"
    )
    assert capsys.readouterr().err == told
    assert not target.exists()
    assert main(["backup", shop.endpoint, str(target)]) == DONE
    shop.put("orders", "last", "z")
    shop.stop()
    before = {path: path.read_bytes() for path in shop.data_dir.rglob("*") if path.is_file()}
    assert main(["backup", str(shop.data_dir), str(target)]) == DONE
    assert before == {path: path.read_bytes() for path in shop.data_dir.rglob("*") if path.is_file()}
    assert restored(target, tmp_path / "restored") == shop.content
    shop.start()


def test_a_folder_of_a_killed_server_is_copied_with_its_log(shop: Shop, target: Path, tmp_path: Path) -> None:
    killed = tmp_path / "killed"
    shutil.copytree(shop.data_dir, killed)
    assert sum(path.stat().st_size for path in (killed / "engine").glob("*.log")) > 0
    assert main(["backup", str(killed), str(target)]) == DONE
    assert restored(target, tmp_path / "restored") == shop.content


def test_each_copy_is_one_moment(target: Path, tmp_path: Path) -> None:
    """Money is moved between accounts meanwhile: each copy has all of it."""
    with opened_shop(tmp_path / "data") as shop:
        shop.make("bank")
        for number in range(ACCOUNTS):
            shop.call("PutItem", TableName="bank", Item={"id": {"S": str(number)}, "money": {"N": "100"}})
        is_over, moves = threading.Event(), threading.Semaphore(0)

        def move_money() -> None:
            client, number = RawClient("127.0.0.1", shop.client.port), 0
            while not is_over.is_set():
                number += 1
                sides = [(number % ACCOUNTS, "-7"), ((number + 3) % ACCOUNTS, "7")]
                updates = [moved(str(account), amount) for account, amount in sides]
                assert client("TransactWriteItems", {"TransactItems": updates}).status == 200
                moves.release()

        mover = threading.Thread(target=move_money)
        mover.start()
        try:
            for _ in range(4):
                moves.acquire()
                assert main(["backup", shop.endpoint, str(target)]) == DONE
                moves.acquire()
        finally:
            is_over.set()
            mover.join()
    balances = set()
    for name in copies_in(target):
        accounts = restored(target, tmp_path / "restored", "--copy", name)["bank"]
        assert sum(int(one["money"]["N"]) for one in accounts.values()) == TOTAL
        balances.add(json.dumps(accounts, sort_keys=True))
    assert len(balances) > 1


def moved(account: str, amount: str) -> dict[str, Any]:
    return {
        "Update": {
            "TableName": "bank",
            "Key": {"id": {"S": account}},
            "UpdateExpression": "ADD money :m",
            "ExpressionAttributeValues": {":m": {"N": amount}},
        }
    }


def test_old_copies_go_with_their_files(shop: Shop, target: Path, tmp_path: Path, capsys: Printed) -> None:
    contents = []
    for number in range(4):
        shop.put("orders", str(number), f"{number}" * 5000)
        contents.append(shop.copied_content())
        assert main(["backup", shop.endpoint, str(target), "--no-check"]) == DONE
    names = list(copies_in(target))
    capsys.readouterr()
    assert main(["backup", shop.endpoint, str(target), "--keep", "3"]) == DONE
    assert f"{target}: 2 copies removed, " in capsys.readouterr().out
    kept = list(copies_in(target))
    assert kept[:2] == names[2:]
    assert file_names(target) == needed_names(target)
    for name, content in zip(kept, [*contents[2:], shop.content], strict=True):
        assert restored(target, tmp_path / "restored", "--copy", name) == content


def test_the_newest_copy_stays_although_a_clock_was_set_back(
    shop: Shop, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.stop()
    for taken_at in (1_800_000_000.0, 1_700_000_000.0):
        monkeypatch.setattr(SystemClock, "wall_time", staticmethod(lambda taken_at=taken_at: taken_at))
        assert main(["backup", str(shop.data_dir), str(target)]) == DONE
    assert list(copies_in(target)) == ["2027-01-15T08-00-00Z", "2027-01-15T08-00-01Z"]
    assert main(["backup", str(shop.data_dir), str(target), "--keep", "1"]) == DONE
    ((name, newest),) = copies_in(target).items()
    assert (name, newest.taken_at) == ("2027-01-15T08-00-02Z", 1_700_000_000.0)
    monkeypatch.undo()
    shop.start()


def test_copies_are_listed(shop: Shop, target: Path, capsys: Printed) -> None:
    assert main(["backup", shop.endpoint, str(target)]) == DONE
    assert main(["backup", shop.endpoint, str(target), "--no-check"]) == DONE
    assert capsys.readouterr().out.count("its content was not checked") == 1
    assert main(["restore", str(target), "--list"]) == DONE
    head, first, second = capsys.readouterr().out.splitlines()
    assert head.split() == ["copy", "taken", "at", "(UTC)", "source", "checked", "files", "bytes", "added"]
    checked, unchecked = copies_in(target).values()
    for line, manifest, word in ((first, checked, "yes"), (second, unchecked, "no")):
        assert line.split()[0] == manifest.name
        assert line.split()[3:5] == [shop.endpoint, word]
        assert line.split()[-3:] == [f"{n:,}" for n in (len(manifest.files), manifest.size_bytes, manifest.added_bytes)]


@pytest.mark.skipif(os.name == "nt", reason="files have no such modes there")
def test_nobody_else_may_read_copies(shop: Shop, target: Path, tmp_path: Path) -> None:
    mask = os.umask(0)
    try:
        assert main(["backup", shop.endpoint, str(target)]) == DONE
        assert main(["restore", str(target), str(tmp_path / "restored")]) == DONE
    finally:
        os.umask(mask)
    for root in (target, tmp_path / "restored"):
        for path in (root, *root.rglob("*")):
            mode = stat.S_IMODE(path.stat().st_mode)
            assert mode == (0o700 if path.is_dir() else 0o600), path


def test_a_server_in_memory_names_snapshots(endpoint: str, target: Path, capsys: Printed) -> None:
    assert main(["backup", endpoint, str(target)]) == FAILED
    assert "has no admin API. Start it with --admin." in capsys.readouterr().err
    with in_process(Settings(data_dir=None, admin=True, port=0), MovableClock(SystemClock())) as process:
        own = process.listen()
        assert main(["backup", own, str(target)]) == FAILED
        assert "This database is in memory, so its content is in no files. `hashrange snapshot FILE`" in (
            capsys.readouterr().err
        )
        client = RawClient("127.0.0.1", int(own.rpartition(":")[2]))
        assert client.send("GET", "/_hashrange/v1/snapshots", {}, b"").json() == {"snapshots": []}
    assert not target.exists()


def test_who_names_no_server_hears_how_to_name_another(target: Path, capsys: Printed) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        nobody = f"http://127.0.0.1:{taken.getsockname()[1]}"
    for words, argument in ([["backup", nobody, str(target)], "SOURCE"], [["dax", "--endpoint", nobody], "--endpoint"]):
        assert main([*words]) == FAILED
        told = capsys.readouterr().err
        assert told.startswith(f"hashrange: no server answers at {nobody}: ")
        assert told.endswith(f"or name another one by {argument}.\n")


def test_wrong_words_are_told(shop: Shop, target: Path, tmp_path: Path, capsys: Printed) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "letter").write_text("dear")
    file = tmp_path / "file"
    file.write_text("")
    project = tmp_path / "project"
    for path in (project / "files" / "own", project / "manifests" / "own.yaml", project / "unfinished" / "own"):
        path.parent.mkdir(parents=True)
        path.write_text("dear")
    draft = tmp_path / "draft"
    (draft / "restoring").mkdir(parents=True)
    (draft / "restoring" / "own").write_text("dear")
    inside = shop.data_dir / "copies"
    cases: list[tuple[list[str], str]] = [
        (
            ["backup", shop.endpoint],
            "`hashrange backup` needs SOURCE and TARGET; `hashrange backup --help`",
        ),
        (["backup", shop.endpoint, str(target), "--keep", "0"], '--keep is "0"; it must be a number from 1 to'),
        (
            ["backup", f"{shop.endpoint}/x", str(target)],
            f'SOURCE is "{shop.endpoint}/x"; it must be a URL without a path',
        ),
        (["backup", shop.endpoint, str(foreign)], f"{foreign} holds other files (letter, …) and no copies."),
        (["backup", shop.endpoint, str(project)], f"{project} holds other files (files, …) and no copies."),
        (["backup", shop.endpoint, str(file)], f"{file} is not a folder. Name another one."),
        (["backup", str(shop.data_dir), str(inside)], f"{inside} is in {shop.data_dir}, and would be lost with it."),
        (["backup", str(foreign), str(target)], f"{foreign} holds no Hashrange data."),
        (["backup", str(tmp_path / "none"), str(target)], f"{tmp_path}/none holds no Hashrange data."),
        (["restore", str(foreign), "--list"], f"{foreign} holds no copies. Name the folder that"),
        (["restore", str(target)], "`hashrange restore` needs DIR, the folder to restore to; --list shows the copies."),
        (["restore", str(target), str(file), "--list"], "--list shows all copies: it takes no DIR and no --copy."),
    ]
    for words, sentence in cases:
        assert main(words) == WRONG_USE, words
        assert capsys.readouterr().err.startswith(f"hashrange: {sentence}")
    assert not target.exists()
    assert main(["backup", shop.endpoint, str(target)]) == DONE
    for words, sentence in [
        ([str(foreign)], f"{foreign} is not empty (letter, …). Name an empty or a new folder."),
        ([str(draft)], f"{draft} is not empty (restoring, …). Name an empty or a new folder."),
        ([str(file)], f"{file} is not a folder. Name another one."),
        ([str(shop.data_dir)], f"{shop.data_dir} is not empty (copies, …)."),
        ([str(tmp_path / "new"), "--copy", "x"], f"{target} has no copy x. Other copies: 2"),
    ]:
        capsys.readouterr()
        assert main(["restore", str(target), *words]) == WRONG_USE, words
        assert capsys.readouterr().err.startswith(f"hashrange: {sentence}")
    assert (foreign / "letter").read_text() == "dear"
    assert {path.name for path in project.rglob("own*")} == {"own", "own.yaml"}
    assert (draft / "restoring" / "own").read_text() == "dear"
    assert not (tmp_path / "new").exists()


def test_a_copy_is_restored_into_an_empty_folder(shop: Shop, target: Path, tmp_path: Path) -> None:
    """Such as the root of a file system, which cannot be renamed."""
    assert main(["backup", shop.endpoint, str(target)]) == DONE
    place = tmp_path / "mounted"
    (place / "lost+found").mkdir(parents=True)
    number = place.stat().st_ino
    assert main(["restore", str(target), str(place)]) == DONE
    assert place.stat().st_ino == number
    assert content_of(place) == shop.content


def test_a_file_system_without_links_will_do(
    shop: Shop, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    assert main(["backup", shop.endpoint, str(target)]) == DONE
    assert file_names(target) == needed_names(target)
    assert restored(target, tmp_path / "restored") == shop.content


def test_two_backups_into_one_folder_are_refused(shop: Shop, target: Path, tmp_path: Path, capsys: Printed) -> None:
    assert main(["backup", shop.endpoint, str(target)]) == DONE
    with WrittenRepository(str(target)):
        before = file_names(target)
        assert main(["backup", shop.endpoint, str(target)]) == FAILED
        told = f"hashrange: another backup into {target} is running. Wait for its end, or name another folder.\n"
        assert capsys.readouterr().err == told
        assert file_names(target) == before
        assert restored(target, tmp_path / "restored") == shop.content
        assert main(["check", str(target)]) == DONE
    assert shop.snapshots() == []


def test_copies_of_a_server_that_ends_meanwhile_are_not_kept(
    shop: Shop, target: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    assert main(["backup", shop.endpoint, str(target)]) == DONE
    before = file_names(target)
    fetch = Remote.fetch

    def ending(server: Remote, path: str, **members: Any) -> bytes:
        reply = shop.client.send("DELETE", f"/_hashrange/v1/{path.partition('/files')[0]}", {}, b"")
        assert reply.status in {200, 404}
        return fetch(server, path, **members)

    monkeypatch.setattr(Remote, "fetch", ending)
    assert main(["backup", shop.endpoint, str(target)]) == FAILED
    assert "There is no snapshot" in capsys.readouterr().err
    assert file_names(target) == before
    assert not (target / "unfinished").exists()


HELD = """import signal, sys
from hashrange.cli import backup, main
from hashrange.store.repository import additions
def held(*arguments):
    print("held", flush=True)
    signal.pause()
additions.next_name = held
sys.exit(main.main())
"""
"""A program that waits when the files of a copy are in the repository, before it appears."""


@pytest.mark.skipif(os.name == "nt", reason="signals end otherwise there")
@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGKILL", -9)])
def test_signals_leave_the_former_copies(shop: Shop, target: Path, tmp_path: Path, name: str, code: int) -> None:
    assert main(["backup", shop.endpoint, str(target)]) == DONE
    former, before = shop.copied_content(), file_names(target)
    shop.put("orders", "new", "y" * 10_000)
    command = [sys.executable, "-c", HELD, "backup", shop.endpoint, str(target)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        process.send_signal(getattr(signal, name))
        assert process.communicate() == ("", "")
        assert process.returncode == code
    if name == "SIGTERM":
        assert shop.snapshots() == []
        assert file_names(target) == before
    assert restored(target, tmp_path / "restored") == former
    assert main(["backup", shop.endpoint, str(target)]) == DONE
    assert file_names(target) == needed_names(target)
    assert not (target / "unfinished").exists()
    assert restored(target, tmp_path / "restored") == shop.content


def test_a_snapshot_that_nobody_asks_for_is_released(shop: Shop) -> None:
    """Of a backup that was killed, for example."""

    def take(idle_seconds: float) -> str:
        body = json.dumps({"idle_seconds": idle_seconds}).encode()
        return str(shop.client.send("POST", "/_hashrange/v1/snapshots", {}, body).json()["snapshot"])

    take(0)
    kept = take(3600)
    wait_until(lambda: shop.snapshots() == [kept])
    wait_until(lambda: len(os.listdir(shop.data_dir / "copies")) == 1)
    assert shop.client.send("DELETE", f"/_hashrange/v1/snapshots/{kept}", {}, b"").status == 200
    assert shop.snapshots() == []


@pytest.mark.parametrize(
    "words", [["backup", "{endpoint}", "{place}"], ["snapshot", "{place}", "--endpoint", "{endpoint}"]]
)
def test_commands_take_snapshots_that_end_by_themselves(
    shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    """A command that is killed releases nothing."""
    asked: list[Any] = []
    operate = Remote.operate

    def noted(server: Remote, method: str, path: str, **members: Any) -> Any:
        asked.append((method, path, members))
        return operate(server, method, path, **members)

    monkeypatch.setattr(Remote, "operate", noted)
    assert main([word.format(endpoint=shop.endpoint, place=tmp_path / "place") for word in words]) == DONE
    method, path, members = asked[0]
    assert (method, path) == ("POST", "snapshots")
    assert members["idle_seconds"] > 0


def test_a_copy_of_a_read_only_disk_is_restored(shop: Shop, target: Path, tmp_path: Path) -> None:
    assert main(["backup", shop.endpoint, str(target)]) == DONE
    shutil.rmtree(target / "unfinished", ignore_errors=True)
    (target / "lock").unlink()
    before = file_names(target)
    assert restored(target, tmp_path / "restored") == shop.content
    assert main(["check", str(target)]) == DONE
    assert main(["restore", str(target), "--list"]) == DONE
    assert file_names(target) == before
    assert not (target / "lock").exists()
