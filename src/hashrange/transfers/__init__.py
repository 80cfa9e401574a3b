"""Exports of tables to S3 and imports from it: what runs them beside requests, and the formats of their objects."""
