"""Rows by key, committed atomically: the interface, and the stores behind it."""
