"""The operations on exports of tables to S3 and imports from it."""
