"""Hashrange: DynamoDB, anywhere."""

__version__ = "0.1.0"
