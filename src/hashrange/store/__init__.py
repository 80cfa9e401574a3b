"""Where are rows kept? In a store: its interface, the embedded store, and wrappers for tests."""
