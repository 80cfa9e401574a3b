"""How long does an ordinary client wait while hostile clients of one kind run?
Measured in slices: hostile, control, and both again.

In the control, the same hostile clients run on the other server: the machine is as busy, but the prober's server is
not. The excess over the control's wait is caused by the server.
"""

import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import msgspec

from benchmarks.tables import DASH
from torture.figures import LARGE_BOUND_MS, SHORT_BOUND_MS, StallFigure
from torture.kinds.kind import Hostile, Kind
from torture.server import ServerProcess
from torture.stalls.children import Child, now
from torture.stalls.pace import slowness
from torture.stalls.pair import CALM_SECONDS_MAX, Pair, ask
from torture.stalls.prober import Waits
from torture.stalls.tally import HostileReport
from torture.stalls.wire import requests_bytes

SLICES = 2
"""Number of slices with hostile clients and of control slices; they alternate."""
HOPELESS = 4
"""A kind that exceeds its bound by this factor is not measured again."""
REPLY_SECONDS_MAX = 10.0
"""Longest wait for a hostile request; then the server is killed."""


class Slice(NamedTuple):
    """Results of the prober and of the hostile clients in one slice."""

    waits: Waits
    report: HostileReport
    peak_mb: float
    is_stuck: bool
    """True if a reply did not come in time, so that the server was killed."""


def measure(pair: Pair, kind: Kind, slice_seconds: float) -> StallFigure:
    """Return one kind's figure. Takes some 2 × SLICES × `slice_seconds`, and longer when a request takes longer."""
    request = kind.make()
    pair.prepare(kind)
    pair.calm()
    factor = slowness()
    faults: list[str] = []
    bound_ms = (SHORT_BOUND_MS if request.is_short else LARGE_BOUND_MS) * factor
    beside: list[Slice] = []
    control: list[Slice] = []
    for _ in range(SLICES):
        beside.append(run_slice(pair, pair.probed, kind, request, slice_seconds, REPLY_SECONDS_MAX))
        if not pair.calm() and not beside[-1].is_stuck:
            faults = [f"the server was not at rest {CALM_SECONDS_MAX:.0f} s after the hostile clients had gone"]
        tidy(pair.probed, kind)
        control.append(run_slice(pair, pair.other, kind, request, slice_seconds, slice_seconds))
        if beside[-1].is_stuck or beside[-1].waits.max_ms - control[-1].waits.max_ms > HOPELESS * bound_ms:
            break
        pair.calm()
        tidy(pair.other, kind)
    answers = sum((Counter(each.report.answers) for each in beside), Counter())
    return StallFigure(
        name=kind.name,
        wire_bytes=max(len(each.body) for each in (request, *request.then)),
        decoded_bytes=max(each.decoded_bytes for each in (request, *request.then)),
        clients=kind.clients,
        answer=", ".join(f"{answer} ({count:,})" for answer, count in sorted(answers.items())) or DASH,
        took_ms=max(each.report.took_ms for each in beside),
        peak_mb=max(each.peak_mb for each in beside),
        max_ms=max(each.waits.max_ms for each in beside),
        p999_ms=max(each.waits.p999_ms for each in beside),
        control_max_ms=max(each.waits.max_ms for each in control),
        control_p999_ms=max(each.waits.p999_ms for each in control),
        slowness=factor,
        bound_ms=bound_ms,
        faults=(*faults, *faults_of(kind, beside, answers)),
    )


def tidy(server: ServerProcess, kind: Kind) -> None:
    """Remove what the hostile clients have left behind on a server that is at rest."""
    for request in kind.tidying:
        ask(server, request)


def unmeasured(kind: Kind, fault: str) -> StallFigure:
    """Return the figure of a kind that could not be measured, with the reason."""
    return StallFigure(
        name=kind.name,
        wire_bytes=0,
        decoded_bytes=0,
        clients=kind.clients,
        answer=DASH,
        took_ms=0,
        peak_mb=0,
        max_ms=0,
        p999_ms=0,
        control_max_ms=0,
        control_p999_ms=0,
        slowness=1,
        bound_ms=SHORT_BOUND_MS,
        faults=(fault,),
    )


def run_slice(
    pair: Pair, target: ServerProcess, kind: Kind, request: Hostile, seconds: float, reply_seconds_max: float
) -> Slice:
    """Run the prober and the hostile clients on `target` for `seconds`, or until the first reply,
    if that takes longer.
    """
    probed = pair.probed
    file = Path(pair.folder, "requests")
    file.write_bytes(msgspec.msgpack.encode(requests_bytes(kind, request, target.port)))
    children: list[Child] = []
    try:
        children.append(Child("prober", probed.port, kind.probe))
        port = target.dax_port if kind.behaviour == "dax" else target.port
        children.append(Child("hostile", port, file, kind.behaviour, kind.clients))
        prober, hostile = children
        probed.forget_peak()
        prober.go()
        hostile.go()
        ends_at = now() + seconds
        is_stuck = not hostile.says_within(max(seconds, reply_seconds_max))
        time.sleep(max(0.0, ends_at - now()))
        hostile.end()
        report = msgspec.convert(hostile.report(), HostileReport)
        peak_mb = probed.peak_mb()
        is_stuck = is_stuck and target is probed
        prober.end()
        if is_stuck or not prober.has_ended_within(REPLY_SECONDS_MAX):
            is_stuck = True
            probed.kill()
        for each in () if is_stuck else kind.tidying:
            ask(target, each)
        waits = msgspec.convert(prober.report(), Waits)
    finally:
        for child in children:
            child.kill()
    return Slice(waits, report, peak_mb, is_stuck)


def faults_of(kind: Kind, beside: list[Slice], answers: Counter[str]) -> list[str]:
    """Return all faults except too long waits."""
    faults = []
    if any(each.is_stuck for each in beside):
        faults.append(f"somebody got no reply within {REPLY_SECONDS_MAX:.0f} s")
    elif sum(each.waits.broken for each in beside):
        faults.append("the prober's connection broke")
    if sum(each.waits.refused for each in beside):
        faults.append("the prober was refused")
    if wrong := sorted(set(answers) - set(kind.answers)):
        faults.append(f"answered {', '.join(wrong)}")
    return faults
