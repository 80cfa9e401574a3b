"""Delivers the changes of tables to Kinesis data streams."""
