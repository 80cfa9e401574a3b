"""How quickly do functions get stream records? From writes to handlers, starts of environments,
rates, and what mappings cost others.

    python -m benchmarks.triggers             all of it, some eight minutes; prints the page
    python -m benchmarks.triggers --write     writes docs/triggers-speed.md, too

A server of this checkout is measured over sockets; handlers run in processes of their own, as they do for users.
They write to a named pipe when they begin (`handlers`), by the clock that all processes of the machine share.
"""
