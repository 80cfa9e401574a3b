"""Helpers that tests share: stores, servers, clients that need no SDK."""
