"""The formats of the objects that exports write and imports read."""
