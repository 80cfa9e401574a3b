"""What the tests share: stores, servers, clients that need no SDK."""
