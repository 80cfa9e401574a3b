"""Is acknowledged data ever lost? `section.py` runs every way in which a server can lose data,
and judges what is left.
"""
