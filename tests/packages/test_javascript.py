"""Do Node packages that keep sessions, caches, locks and limits in DynamoDB work by their quick starts?"""

from typing import Any

import pytest

from tests.clients.programs import node
from tests.clients.serving import ServerProcess
from tests.packages.quick_starts import (
    DAY_SECONDS,
    HERE,
    HOUR_SECONDS,
    advance,
    create_table,
    enable_expiry,
    expiry,
    items,
    outcome,
    reports_of_repeats,
)

SPENT = [
    {"remainingPoints": 2, "consumedPoints": 2, "isFirstInDuration": True},
    {"remainingPoints": 0, "consumedPoints": 4, "isFirstInDuration": False},
    "refused",
]
"""What the rate limiter answers when 2, 2 and 1 points of 4 are spent."""

pytestmark = pytest.mark.packaging


def run(server: ServerProcess, package: str, *words: str) -> Any:
    """What a package's program reports."""
    folder = HERE / package
    return outcome(server, folder, [node(folder), "--no-warnings", "main.js", *words])


def test_connect_dynamodb_keeps_express_sessions(server: ServerProcess) -> None:
    first = run(server, "connect_dynamodb")
    assert (first["views"], first["stranger"], first["afterLogout"]) == ([1, 2, 3], 1, 1)
    server.restart()
    assert run(server, "connect_dynamodb", first["cookie"])["views"] == [4, 5, 6]
    enable_expiry(server, "myapp-sessions", "expires")
    assert len(items(server, "myapp-sessions")) == 1
    advance(server, 2 * DAY_SECONDS)
    assert items(server, "myapp-sessions") == []
    assert run(server, "connect_dynamodb", first["cookie"])["views"] == [1, 2, 3]


def test_powertools_runs_a_handler_once_for_each_event(server: ServerProcess) -> None:
    first, again, later = reports_of_repeats(
        server, "idempotencyTableName", lambda: run(server, "powertools_typescript")
    )
    payment = first.pop("paymentId")
    assert first == {
        "refused": "Error",
        "retried": 200,
        "isRepeated": True,
        "isOther": True,
        "meanwhile": "IdempotencyAlreadyInProgressError",
        "taken": 4,
    }
    assert (again["paymentId"], again["taken"]) == (payment, 0)
    assert later["paymentId"] != payment


def test_keyv_keeps_a_cache(server: ServerProcess) -> None:
    assert run(server, "keyv", "write") == {"had": True, "deleted": True, "again": False, "missing": None}
    bar = {"kept": ["for", 6, "hours"]}
    server.restart()
    assert run(server, "keyv", "read") == {"foo": "expires in an hour", "both": ["expires in an hour", bar]}
    advance(server, 2 * HOUR_SECONDS)
    assert run(server, "keyv", "read") == {"foo": None, "both": [None, bar]}
    assert run(server, "keyv", "clear") == {"before": "again", "after": None}


def test_auth_js_keeps_users_and_sessions(server: ServerProcess) -> None:
    create_table(server, "next-auth", "pk", "sk", index=("GSI1", ("GSI1PK", "GSI1SK")))
    enable_expiry(server, "next-auth", "expires")
    first = run(server, "auth", "sign-in")
    cookie = first.pop("cookie")
    assert first == {"before": None, "user": "ada@example.com", "linkUsedTwice": ["Verification", None]}
    server.restart()
    assert run(server, "auth", "session", cookie) == {"user": "ada@example.com"}
    assert run(server, "auth", "sign-out", cookie) == {"user": None}
    assert run(server, "auth", "session", cookie) == {"user": None}
    later = run(server, "auth", "sign-in")
    assert sorted(item["type"]["S"] for item in items(server, "next-auth")) == ["SESSION", "USER"]
    advance(server, 31 * DAY_SECONDS)
    assert [item["type"]["S"] for item in items(server, "next-auth")] == ["USER"]
    assert run(server, "auth", "session", later["cookie"]) == {"user": None}


def test_rate_limiter_flexible_limits(server: ServerProcess) -> None:
    table = "node-rate-limiter-flexible"
    assert run(server, "rate_limiter") == {"spent": SPENT, "seenByOther": 5}
    server.restart()
    assert run(server, "rate_limiter") == {"spent": ["refused"] * 3, "seenByOther": 10}
    assert expiry(server, table) == ("ENABLED", "expire")
    advance(server, 2 * HOUR_SECONDS)
    assert items(server, table) == []
    assert run(server, "rate_limiter") == {"spent": SPENT, "seenByOther": 5}


def test_dynamodb_lock_client_locks(server: ServerProcess) -> None:
    create_table(server, "my-lock-table-name", "mylocks")
    refused = "FailedToAcquireLock"
    assert run(server, "dynamodb_lock_client") == {
        "closed": {"refused": refused, "free": "acquired", "afterRelease": "acquired"},
        "open": {"refused": refused, "tokens": [1, 2, 3]},
    }
