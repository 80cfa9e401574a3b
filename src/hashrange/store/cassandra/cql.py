"""Which CQL is sent to Cassandra? All of it is in this file.

Rows of `slots` are written by conditional batches only (`SLOT_WRITES`), each of which advances the slot's version; so
are rows of `catalog` and `transactions`. Plain writes go to `index_entries` only: their timestamps are commit numbers.
"""

TABLES = (
    # The rows of a slot, by kind: see layout.py.
    """CREATE TABLE IF NOT EXISTS slots (table_id bigint, slot int, kind int, ck blob, v blob,
         version bigint static, batch_id blob static, counts blob static, locked bigint static, unlocked bigint static,
         is_closed boolean static,
         PRIMARY KEY ((table_id, slot), kind, ck))""",
    # The entries of global indexes.
    """CREATE TABLE IF NOT EXISTS index_entries (source blob, slot int, ck blob, v blob,
         PRIMARY KEY ((source, slot), ck))""",
    # The tables of all accounts: one partition.
    """CREATE TABLE IF NOT EXISTS catalog (part int, table_id bigint, description blob,
         revision bigint static, next_id bigint static, batch_id blob static, PRIMARY KEY (part, table_id))""",
    # Transactions over several slots, and idempotency tokens.
    """CREATE TABLE IF NOT EXISTS transactions (id blob PRIMARY KEY, attempt blob, state int, digest blob,
         report blob, places blob, until_ms bigint, expires_ms bigint)""",
    # The version of all this.
    "CREATE TABLE IF NOT EXISTS layout (part int PRIMARY KEY, version int)",
)

KEYSPACE = """CREATE KEYSPACE IF NOT EXISTS {keyspace}
  WITH replication = {{'class': 'NetworkTopologyStrategy', '{datacenter}': {replicas}}}"""
FIND_KEYSPACE = "SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = ?"
DESCRIBE_NODE = "SELECT data_center FROM system.local"
OTHER_NODES = "SELECT data_center FROM system.peers_v2"
NODE_SETTINGS = """SELECT name, value FROM system_views.settings
  WHERE name IN ('paxos_variant', 'commitlog_sync')"""

# --- slots: reading ---------------------------------------------------------------------------------

READ_HEAD = """SELECT DISTINCT table_id, slot, version, batch_id, counts, locked, unlocked, is_closed FROM slots
  WHERE table_id = ? AND slot = ?"""
READ_ROW = "SELECT v FROM slots WHERE table_id = ? AND slot = ? AND kind = ? AND ck = ?"
READ_ROW_AND_LOCK = """SELECT kind, v, is_closed FROM slots
  WHERE table_id = ? AND slot = ? AND kind IN (0, -4) AND ck = ?"""
READ_ROWS = "SELECT ck, v FROM slots WHERE table_id = ? AND slot = ? AND kind = ? AND ck IN ?"
READ_SLICE = """SELECT ck, v, locked, unlocked, is_closed FROM slots
  WHERE table_id = ? AND slot = ? AND kind = ? AND ck >= ? AND ck < ? ORDER BY kind ASC, ck ASC LIMIT ?"""
READ_SLICE_BACK = """SELECT ck, v, locked, unlocked, is_closed FROM slots
  WHERE table_id = ? AND slot = ? AND kind = ? AND ck >= ? AND ck < ? ORDER BY kind DESC, ck DESC LIMIT ?"""

# --- slots: statements of conditional batches -------------------------------------------------------

ADVANCE_SLOT = """UPDATE slots SET version = ?, batch_id = ?, counts = ?, locked = ?, unlocked = ?, is_closed = ?
  WHERE table_id = ? AND slot = ? IF version = ?"""
BEGIN_SLOT = """UPDATE slots SET version = ?, batch_id = ?, counts = ?, locked = ?, unlocked = ?, is_closed = ?
  WHERE table_id = ? AND slot = ? IF version = null"""
PUT_ROW = "INSERT INTO slots (table_id, slot, kind, ck, v) VALUES (?, ?, ?, ?, ?)"
DELETE_ROW = "DELETE FROM slots WHERE table_id = ? AND slot = ? AND kind = ? AND ck = ?"
DELETE_RANGE = "DELETE FROM slots WHERE table_id = ? AND slot = ? AND kind = ? AND ck >= ? AND ck < ?"
DELETE_KIND = "DELETE FROM slots WHERE table_id = ? AND slot = ? AND kind >= ? AND kind <= ?"
SLOT_WRITES = (ADVANCE_SLOT, BEGIN_SLOT, PUT_ROW, DELETE_ROW, DELETE_RANGE, DELETE_KIND)

# --- entries ----------------------------------------------------------------------------------------

READ_ENTRIES = (
    "SELECT ck, v FROM index_entries WHERE source = ? AND slot = ? AND ck >= ? AND ck < ? ORDER BY ck ASC LIMIT ?"
)
READ_ENTRIES_BACK = (
    "SELECT ck, v FROM index_entries WHERE source = ? AND slot = ? AND ck >= ? AND ck < ? ORDER BY ck DESC LIMIT ?"
)
PUT_ENTRY = "INSERT INTO index_entries (source, slot, ck, v) VALUES (?, ?, ?, ?) USING TIMESTAMP ?"
DELETE_ENTRY = "DELETE FROM index_entries USING TIMESTAMP ? WHERE source = ? AND slot = ? AND ck = ?"
DROP_ENTRIES = "DELETE FROM index_entries USING TIMESTAMP ? WHERE source = ? AND slot = ?"

# --- catalog ----------------------------------------------------------------------------------------

READ_CATALOG_HEAD = "SELECT DISTINCT part, revision, next_id, batch_id FROM catalog WHERE part = 0"
READ_CATALOG = "SELECT table_id, description FROM catalog WHERE part = 0"
ADVANCE_CATALOG = "UPDATE catalog SET revision = ?, next_id = ?, batch_id = ? WHERE part = 0 IF revision = ?"
BEGIN_CATALOG = "UPDATE catalog SET revision = ?, next_id = ?, batch_id = ? WHERE part = 0 IF revision = null"
PUT_TABLE = "INSERT INTO catalog (part, table_id, description) VALUES (0, ?, ?)"
DELETE_TABLE = "DELETE FROM catalog WHERE part = 0 AND table_id = ?"

# --- transactions -----------------------------------------------------------------------------------

READ_TRANSACTION = "SELECT attempt, state, digest, report, places, until_ms, expires_ms FROM transactions WHERE id = ?"
READ_TRANSACTIONS = """SELECT token(id), id, attempt, state, digest, report, places, until_ms, expires_ms
  FROM transactions WHERE token(id) > ? LIMIT ?"""
BEGIN_TRANSACTION = """INSERT INTO transactions (id, attempt, state, digest, places, until_ms, expires_ms)
  VALUES (?, ?, ?, ?, ?, ?, ?) IF NOT EXISTS"""
DECIDE = "UPDATE transactions SET state = ?, report = ? WHERE id = ? IF attempt = ? AND state = ?"
FORGET_TRANSACTION = "DELETE FROM transactions WHERE id = ? IF attempt = ? AND state = ?"

# --- the layout -------------------------------------------------------------------------------------

READ_LAYOUT = "SELECT version FROM layout WHERE part = 0"
PUT_LAYOUT = "INSERT INTO layout (part, version) VALUES (0, ?) IF NOT EXISTS"

SETUP = (FIND_KEYSPACE, DESCRIBE_NODE, OTHER_NODES, NODE_SETTINGS)
"""What is asked once, before the keyspace is there."""
STATEMENTS = tuple(
    text
    for text in list(globals().values())
    if isinstance(text, str) and text.startswith(("SELECT", "INSERT", "UPDATE", "DELETE")) and text not in SETUP
)
"""All statements that are prepared."""
