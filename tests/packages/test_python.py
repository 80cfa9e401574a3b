"""Do Python packages that keep results, sessions, checkpoints and caches in DynamoDB work by their quick starts?"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.clients.programs import WHEELS, python
from tests.clients.serving import ServerProcess
from tests.packages.quick_starts import (
    DAY_SECONDS,
    HERE,
    HOUR_SECONDS,
    advance,
    create_table,
    enable_expiry,
    environment,
    expiry,
    items,
    outcome,
    output,
    reports_of_repeats,
)

pytestmark = pytest.mark.packaging


def run(server: ServerProcess, package: str, *words: str, **variables: str) -> Any:
    """What a package's program reports."""
    folder = HERE / package
    return outcome(server, folder, [python(folder, *WHEELS), "main.py", *words], **variables)


def test_powertools_runs_a_handler_once_for_each_event(server: ServerProcess) -> None:
    first, again, later = reports_of_repeats(server, "IdempotencyTable", lambda: run(server, "powertools_python"))
    payment = first.pop("payment_id")
    assert first == {
        "refused": "ValueError",
        "retried": 200,
        "is_repeated": True,
        "is_other": True,
        "meanwhile": "IdempotencyAlreadyInProgressError",
        "taken": [-5, -5, 5, 6],
    }
    assert (again["payment_id"], again["taken"]) == (payment, [])
    assert later["payment_id"] != payment


@contextmanager
def celery_worker(server: ServerProcess, variables: dict[str, str]) -> Iterator[None]:
    """A running worker of Celery's tutorial."""
    folder = HERE / "celery"
    command = [
        python(folder, *WHEELS),
        "-m",
        "celery",
        "-A",
        "tasks",
        "worker",
        "--pool",
        "solo",
        "--loglevel",
        "ERROR",
    ]
    with (Path(variables["MESSAGES"]) / "log").open("w") as log:
        worker = subprocess.Popen(
            command, cwd=folder, env=environment(server) | variables, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            yield
        finally:
            worker.terminate()
            worker.wait(timeout=60)


def test_celery_keeps_results(server: ServerProcess, tmp_path: Path) -> None:
    (tmp_path / "messages" / "control").mkdir(parents=True)
    address = server.endpoint.removeprefix("http://")
    variables = {
        "RESULT_BACKEND": f"dynamodb://@{address}/celery?ttl_seconds={DAY_SECONDS}",
        "MESSAGES": str(tmp_path / "messages"),
    }
    with celery_worker(server, variables):
        called = run(server, "celery", "call", **variables)
    task = called.pop("id")
    assert called == {
        "sum": 8,
        "forgotten": 2,
        "failed": "ZeroDivisionError",
        "states": ["SUCCESS", "FAILURE"],
        "chord": 90,
        "after": "PENDING",
    }
    server.restart()
    assert run(server, "celery", "read", task, **variables) == {"state": "SUCCESS", "value": 8}
    assert expiry(server, "celery") == ("ENABLED", "ttl")
    advance(server, 2 * DAY_SECONDS)
    assert items(server, "celery") == []
    assert run(server, "celery", "read", task, **variables) == {"state": "PENDING", "value": None}


def test_flask_session_keeps_sessions(server: ServerProcess) -> None:
    first = run(server, "flask_session", "set")
    assert (first["said"], first["stranger"]) == (["ok", "value"], "not set")
    server.restart()
    assert run(server, "flask_session", "get", first["cookie"])["said"] == ["value", "value"]
    assert run(server, "flask_session", "clear", first["cookie"])["said"] == ["cleared", "not set"]
    assert run(server, "flask_session", "get", first["cookie"])["said"] == ["not set", "not set"]
    assert expiry(server, "Sessions") == ("DISABLED", None)  # docs/packages.md says why


def test_langgraph_resumes_from_a_checkpoint(server: ServerProcess) -> None:
    table = "my-checkpoints"
    create_table(server, table, "PK", "SK")
    enable_expiry(server, table, "ttl")
    before = ["ordered", "checked"]
    history = [["approve"], ["check"], ["__start__"]]
    assert run(server, "langgraph", "run") == {"state": {"done": before}, "next": ["approve"], "history": history}
    server.restart()
    assert run(server, "langgraph", "resume") == {
        "state": {"done": [*before, "approved by ada", "sent"]},
        "next": [],
        "history": [[], ["send"], *history],
    }
    advance(server, 8 * DAY_SECONDS)
    assert items(server, table) == []
    nothing: dict[str, Any] = {"state": {}, "next": [], "history": []}
    assert run(server, "langgraph", "read") == nothing
    run(server, "langgraph", "run")
    assert run(server, "langgraph", "delete") == nothing
    assert items(server, table) == []


def test_django_keeps_a_cache(server: ServerProcess) -> None:
    settings = {"DJANGO_SETTINGS_MODULE": "settings"}
    folder = HERE / "django_cache"
    created = output(server, folder, [python(folder, *WHEELS), "-m", "django", "createcachetable"], **settings)
    assert "table/table-name created for cache default" in created
    assert run(server, "django_cache", "write", **settings) == {
        "added": [False, True],
        "found": {"a": 1, "b": 2, "c": 3},
        "count": 11,
        "deleted": "nothing",
    }
    server.restart()
    kept = {"kept": "for a day"}
    soon_gone = {"greeting": {"hello": ["world"]}, "a": 11, "c": 3}
    assert run(server, "django_cache", "read", **settings) == soon_gone | kept
    assert expiry(server, "table-name") == ("ENABLED", "expiration")
    advance(server, HOUR_SECONDS)
    assert run(server, "django_cache", "read", **settings) == kept
    assert run(server, "django_cache", "clear", **settings) == {}
