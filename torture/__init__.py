"""Torture: does a hostile client hold up others, and is acknowledged data ever lost?
Ten minutes, one table of figures each.

    python -m torture                               everything; prints the tables, exit status 1 when a bound is broken
    python -m torture --write                       also writes docs/reliability.md
    python -m torture --only stalls --kinds put-list-800000,query-page --seconds 1
    python -m torture --only loss --seed 7 --share 0.2

`kinds/` holds the hostile requests as data that tests share; the other files control processes.
`stalls/pair.py` starts two servers; `stalls/run.py` measures a prober on one of them, with hostile clients on the same
server or, as control, on the other one. `loss/` kills servers, cuts off power, fills the disk and removes the data
folder. `report.py` makes the page.
"""
