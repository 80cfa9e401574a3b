"""Which units may a metric have? Those of CloudWatch's API. Source: operations.md 6, *StandardUnit*."""

_SIZES = (
    "Bytes",
    "Kilobytes",
    "Megabytes",
    "Gigabytes",
    "Terabytes",
    "Bits",
    "Kilobits",
    "Megabits",
    "Gigabits",
    "Terabits",
)
STANDARD_UNITS = (
    "Seconds",
    "Microseconds",
    "Milliseconds",
    *_SIZES,
    "Percent",
    "Count",
    *(f"{size}/Second" for size in _SIZES),
    "Count/Second",
    "None",
)
