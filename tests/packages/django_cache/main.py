"""What Django's cache answers: `main.py write` writes values, `main.py read` reads those of an earlier run."""

# mypy: disable-error-code="import-not-found"

import json
import sys
from typing import Any

import django
from django.core.cache import cache


def write() -> dict[str, Any]:
    cache.set("greeting", {"hello": ["world"]})
    cache.set("kept", "for a day", 86_400)
    cache.set_many({"a": 1, "b": 2})
    added = [cache.add("a", 5), cache.add("c", 3)]
    found = cache.get_many(["a", "b", "c", "missing"])
    cache.delete("b")
    return {"added": added, "found": found, "count": cache.incr("a", 10), "deleted": cache.get("b", "nothing")}


def read() -> dict[str, Any]:
    return dict(cache.get_many(["greeting", "kept", "a", "b", "c"]))


def clear() -> dict[str, Any]:
    cache.clear()
    return read()


django.setup()
print(json.dumps({"write": write, "read": read, "clear": clear}[sys.argv[1]]()))
