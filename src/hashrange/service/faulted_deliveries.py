"""Which faults does a batch of stream records meet on its way to a function?
It is late, comes twice, or is small (docs/testing/faults.md).
"""

from collections.abc import Callable

from hashrange.faults.drawing import Drawing
from hashrange.operations.naming import bare_name
from hashrange.triggers.batches import Disturb, Disturbance
from hashrange.triggers.mapping import EventSourceMapping

DrawingNow = Callable[[], Drawing | None]
"""Returns what draws faults now; None if there are no faults."""


def disturb_by(drawing_now: DrawingNow) -> Disturb:
    """The function that draws what happens to each batch when it is begun."""

    def disturb(mapping: EventSourceMapping) -> Disturbance | None:
        drawing = drawing_now()
        met = [] if drawing is None else list(drawing.on_delivery(bare_name(mapping.stream_arn)))
        if not met:
            return None
        small = [fault.records or 1 for fault in met if fault.kind == "small-batches"]
        return Disturbance(
            repeats=len([fault for fault in met if fault.kind == "repeated-records"]),
            delay_seconds=max([fault.seconds or 0.0 for fault in met if fault.kind == "late-records"], default=0.0),
            records_max=min(small, default=None),
        )

    return disturb
