"""Which numbers bound what a client may ask for? Every limit of the service, its unit in its name, its source beside it."""

# --- requests ---

CONSTRAINT_ERRORS_MAX = 10
"""Broken member constraints listed in one reply. Source: service behaviour, captures to October 2026."""
TABLE_NAME_LENGTH_MIN = 3
"""Characters of a table's or index's name."""
TABLE_NAME_LENGTH_MAX = 255
"""Characters of a table's or index's name."""
