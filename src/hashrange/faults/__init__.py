"""Faults on purpose: which requests are throttled, refused, delayed or cut off,
which reads are stale, and what comes late.
"""
