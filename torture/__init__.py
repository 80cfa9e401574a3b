"""The torture: does a hostile client hold up others, and is anything lost that was acknowledged? Ten minutes, one table of figures each.

    python -m torture                               everything; prints the tables, exit status 1 when a bound is broken
    python -m torture --write                       and writes docs/reliability.md
    python -m torture --only stalls --kinds put-list-800000,query-page --seconds 1
    python -m torture --only loss --seed 7 --share 0.2

`kinds/` holds the hostile requests as data that tests share; everything else deals with processes: `pair.py` starts two servers,
`stalls.py` has a prober on one of them and the hostile clients beside it on the same or, as control, on the other one; `loss.py` kills,
cuts, fills and takes away. `report.py` makes the page.
"""
