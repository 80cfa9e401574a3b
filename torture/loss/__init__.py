"""Is anything lost that was acknowledged? `section.py` runs the ways in which a server loses its footing, and judges what is left."""
