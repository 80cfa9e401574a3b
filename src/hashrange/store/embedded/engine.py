"""How is the engine opened? RocksDB through rocksdict, with every option we chose and why.

Nothing else of Hashrange imports rocksdict's option classes. Figures: docs/adr/0011-engine-options.md.
"""

import contextlib
import ctypes
from enum import Enum
from typing import Any

import rocksdict

from hashrange.store.embedded import files
from hashrange.store.embedded.faults import CLOSING, OPENING, REOPENING, storage_error
from hashrange.store.embedded.memory import map_large_buffers_apart
from hashrange.store.embedded.open_files import descriptors_max, open_files_max
from hashrange.store.embedded.recovery import first_hole, replayed_logs, require_no_loss, stops_at_hole, torn_logs
from hashrange.store.embedded.synced import read_synced
from hashrange.store.embedded.threads import let_the_loop_go_first
from hashrange.store.embedded.upgrade import check_format

MIB = 1024 * 1024
WRITE_BUFFER_BYTES = 4 * MIB
"""A memtable's size; at most three exist, so this bounds memory and the work of a recovery."""
BLOCK_CACHE_BYTES = 24 * MIB
MEMORY_BLOCK_CACHE_BYTES = 6 * MIB
"""In memory a block that is not cached costs its decompression, no disk."""
DISK_FILE_BYTES = 16 * MIB
"""Each file that a compaction ends is synced, and the file system lets the log wait for that."""
MEMORY_FILE_BYTES = 3_900_000
"""The in-memory file system doubles a file's room as it grows: files just below a power of two waste least."""
METADATA_BLOCK_BYTES = 4096
INDEX_RESTART_KEYS = 16
"""Of so many neighbouring keys of an index block one stands whole: an index takes a third of the room in the cache."""
BEHIND = (("rocksdb.num-immutable-mem-table", 2), ("rocksdb.num-files-at-level0", 8))
"""Writes stall with three memtables full, or with 20 files that overlap: before that, work that can wait does."""
LEVEL_BASE_BYTES = 32 * MIB
"""Of the first level below the files that overlap: some four times what is compacted into it at once."""
LEVELS = 7
COMPRESSED = ":".join(["kLZ4Compression"] * LEVELS)
COMPRESSED_BELOW_BASE = ":".join(["kNoCompression"] * 2 + ["kLZ4Compression"] * (LEVELS - 2))
"""What is merged again soon is not worth compressing; that is 32 MB at most, and what waits to be merged into them."""
BLOOM_BITS_PER_KEY = 10
BACKGROUND_JOBS = 2
LOG_FILE_BYTES_MAX = 1 * MIB
BACKGROUND_BYTES_PER_SECOND, BACKGROUND_PERIOD_US, BACKGROUND_WRITE_BYTES = 256 * MIB, 1_000, 128 * 1024
"""Flushes and compactions write so much at most, in such pieces, and rest in between: they take a core for 1 ms, not for whole ticks."""
PATH_BYTES_MAX = 1 << 62
"""Where the engine's files may stand in several folders, so much goes into one: everything."""
_FAIRNESS = 10
"""The rate limiter's own default: one in ten times, compactions go before flushes."""
SKIPPED_KEYS_MAX = 20_000
"""Deleted keys that one seek may pass over before the page gives up, compacts and tries again: some 3 ms."""

Engine = Any
"""A `rocksdict.Rdict`, whose stubs do not know raw bytes, or an object that refuses every call."""
WriteBatch = rocksdict.WriteBatch


class Pace(Enum):
    """How large memtables are, in WRITE_BUFFER_BYTES, and how many files of the first level start their compaction.

    Few and small ones are quick to read: they overlap, so each may hold an older version of a row. Many and large ones are quick
    to write: what they are merged into is written less often.
    """

    AT_REST = (1, 1)
    USUAL = (1, 2)
    """Instead of (2, 4): a Query of 20 rows that were replaced often 52 µs instead of 90, a Put 2 to 6 µs more."""
    WRITES = (1, 4)
    """While hardly anybody reads a range."""
    BULK = (4, 4)


def open_engine(data_dir: str | None, *, folder: files.Folder | None = None, may_make: bool = True) -> Engine:
    """Open the engine of a locked folder, or make it if it `may_make` one and there is none; None: in memory. Raises StorageError.

    `folder`: how to get at `data_dir`; None: by its name. Recovery accepts a torn tail of the write-ahead log and nothing else: damage before it refuses to open.
    """
    place = data_dir or "memory"
    advice = OPENING if may_make else REOPENING
    map_large_buffers_apart()
    if folder is None and data_dir is not None:
        folder = files.by_name(data_dir)
    path = files.make_scratch_folder() if folder is None else folder.engine
    options = _options(is_in_memory=data_dir is None)
    try:
        if folder is not None:
            files.require_way_in(folder)
        options.create_if_missing(may_make and (folder is None or files.may_make_engine(path)))
        if folder is not None and _prepare_logs(folder):
            options.set_wal_recovery_mode(rocksdict.DBRecoveryMode.point_in_time())
        engine = rocksdict.Rdict(path, options, column_families={"default": options})
    except Exception as error:
        raise storage_error(error, place, advice) from error
    finally:
        if folder is None:
            files.remove_folder(path)
    try:
        let_the_loop_go_first()
        engine.set_write_options(_write_options(is_in_memory=data_dir is None))
        check_format(engine, place)
    except Exception as error:
        close_engine(engine, place, may_fail=True)
        raise storage_error(error, place, advice) from error
    except BaseException:
        close_engine(engine, place, may_fail=True)
        raise
    return engine


def _prepare_logs(folder: files.Folder) -> bool:
    """Before the engine in `folder` is opened for good, which deletes logs: see that its logs can be believed, and how far.

    One replay that changes nothing must find no damage and all that was acknowledged. Then zeros that are no data are taken off the last log.
    Returns True when recovery must stop at a hole.
    """
    path = folder.engine
    torn = torn_logs(path)
    hole = first_hole(path, torn)
    if torn or hole is not None or read_synced(folder) is not None or len(files.log_files(path)) > 1:
        logs = replayed_logs(path, torn, None) if torn else {}
        head = files.copy_head(path, logs) if logs else None
        try:
            replayed = open_read_only(path, head, has_logs=bool(logs))
            sequence = replayed.latest_sequence_number()
            replayed.close()
        finally:
            if head is not None:
                files.remove_folder(head)
        require_no_loss(folder, hole, sequence)
    for log, size_bytes in torn.items():
        files.truncate(log, size_bytes)
    return stops_at_hole(path)


def open_read_only(path: str, head: str | None = None, *, has_logs: bool = False) -> Engine:
    """The engine in folder `path` as it would recover, for reading. Raises the engine's bare exceptions.

    rocksdict writes its own settings into the folder that it opens. With `head`, a scratch folder that holds a copy of the
    files that say which others count (`files.copy_head`), it writes there, and nothing in `path` changes. `has_logs`: the logs to be
    replayed are those in `head`.
    """
    options = _options(is_in_memory=False)
    if head is not None:
        options.set_db_paths([rocksdict.DBPath(path, PATH_BYTES_MAX)])
        options.set_wal_dir(head if has_logs else path)
    return rocksdict.Rdict(head or path, options, {"default": options}, rocksdict.AccessType.read_only(False))


def open_beside(path: str) -> Engine:
    """What the engine in folder `path`, which is open and has failed, has written, for reading. Raises the engine's bare exceptions, OSError."""
    head = files.copy_head(path, {})
    try:
        return open_read_only(path, head)
    finally:
        files.remove_folder(head)


def compact(engine: Engine, lower: bytes, upper: bytes) -> None:
    """Clear away what was deleted in `lower <= key < upper`. Blocks for as long as it takes, off the interpreter lock."""
    options = rocksdict.CompactOptions()
    options.set_bottommost_level_compaction(rocksdict.BottommostLevelCompaction.force())
    engine.compact_range(lower, upper, options)


def cache_bytes(*, is_in_memory: bool) -> int:
    """Size of the cache of blocks."""
    return MEMORY_BLOCK_CACHE_BYTES if is_in_memory else BLOCK_CACHE_BYTES


def set_pace(engine: Engine, pace: Pace, *, is_in_memory: bool) -> None:
    """Work at that pace from now on. Writes a file: some ms. In memory everything is compressed whatever the pace."""
    buffers, files = pace.value
    is_sparing = is_in_memory or pace is not Pace.WRITES
    engine.set_options(
        {
            "write_buffer_size": str(buffers * WRITE_BUFFER_BYTES),
            "level0_file_num_compaction_trigger": str(files),
            "compression_per_level": COMPRESSED if is_sparing else COMPRESSED_BELOW_BASE,
        }
    )


def is_behind(engine: Engine) -> bool:
    """Have writes come so fast that flushes and compactions may soon stall them? 2 µs."""
    return any((engine.property_int_value(name) or 0) >= most for name, most in BEHIND)


def close_engine(engine: Engine, place: str, *, may_fail: bool) -> None:
    """Flush and close. Raises StorageError if the engine could not write what it held; it is closed all the same.

    With `may_fail` nothing is raised: what was committed is in the log, and an engine in memory refuses the last sync.
    """
    try:
        engine.close()
    except Exception as error:
        if not may_fail:
            raise storage_error(error, place, CLOSING) from error


def cancel_work(engine: Engine) -> None:
    """Have flushes and compactions of `engine` end, for good; waits for none of them."""
    with contextlib.suppress(Exception):
        engine.cancel_all_background(False)


def abandon_engine(engine: Engine) -> None:
    """Never use `engine` again, and never close it: its folder is not there, or another one is, or other files are in it.

    Closing, and the end of the last reference, flush to, and delete, files by their paths: in a folder that has taken the place of the
    engine's own, or into which a backup was copied, that destroys another store. So its work is cancelled and a reference is left over for ever.
    """
    cancel_work(engine)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(engine))


def _write_options(*, is_in_memory: bool) -> rocksdict.WriteOptions:
    """Without sync, which the commit barrier does for many at once, and never waiting in a stall."""
    options = rocksdict.WriteOptions()
    options.no_slowdown = True
    options.disable_wal = is_in_memory  # type: ignore[method-assign,assignment]  # a property, whatever the stubs say
    return options


def passing_read_options() -> rocksdict.ReadOptions:
    """Read options for a read that leaves the cache as it is; the engine's own put what they needed into it."""
    options = rocksdict.ReadOptions()
    options.fill_cache(False)  # type: ignore[call-arg]  # it takes the value, whatever the stubs say
    return options


def new_batch(room_bytes: int = 0) -> WriteBatch:
    """An empty batch; it can be written once.

    One with room takes 1 ms for each MB of it now, and then 0.2 ms for each MB that is put; without, 2 ms, for it grows by copying all that it has.
    """
    batch = rocksdict.WriteBatch(raw_mode=True)
    if room_bytes:
        batch.put(b"", bytes(room_bytes))
        batch.clear()
    return batch


def bounded(upper: bytes, skipped_keys_max: int = SKIPPED_KEYS_MAX, *, is_kept: bool = False) -> rocksdict.ReadOptions:
    """Read options for an iterator that ends before `upper`; `is_kept`: the blocks that it needs go into the cache.

    There is no lower bound: `set_iterate_lower_bound` of rocksdict 0.3.29 sets the upper one.
    """
    options = rocksdict.ReadOptions()
    options.set_iterate_upper_bound(upper)
    options.set_max_skippable_internal_keys(skipped_keys_max)
    options.fill_cache(is_kept)  # type: ignore[call-arg]  # as above
    return options


def _options(*, is_in_memory: bool) -> rocksdict.Options:
    options = rocksdict.Options(raw_mode=True)
    if is_in_memory:
        options.set_env(rocksdict.Env.mem_env())
    options.set_target_file_size_base(MEMORY_FILE_BYTES if is_in_memory else DISK_FILE_BYTES)
    options.set_wal_recovery_mode(rocksdict.DBRecoveryMode.tolerate_corrupted_tail_records())
    options.set_paranoid_checks(True)
    buffers, files_to_merge = Pace.USUAL.value
    options.set_write_buffer_size(buffers * WRITE_BUFFER_BYTES)
    options.set_level_zero_file_num_compaction_trigger(files_to_merge)
    options.set_max_bytes_for_level_base(LEVEL_BASE_BYTES)
    options.set_max_write_buffer_number(3)
    options.set_max_background_jobs(BACKGROUND_JOBS)
    options.set_max_open_files(open_files_max(descriptors_max()))
    options.set_compression_per_level([rocksdict.DBCompressionType.lz4()] * LEVELS)
    options.set_level_compaction_dynamic_level_bytes(True)
    options.set_max_log_file_size(LOG_FILE_BYTES_MAX)
    options.set_keep_log_file_num(2)
    options.set_stats_dump_period_sec(0)
    options.set_stats_persist_period_sec(0)
    options.set_max_manifest_file_size(4 * MIB)
    options.set_bytes_per_sync(1 * MIB)
    options.set_ratelimiter(BACKGROUND_BYTES_PER_SECOND, BACKGROUND_PERIOD_US, _FAIRNESS)
    options.set_writable_file_max_buffer_size(BACKGROUND_WRITE_BYTES)
    options.add_compact_on_deletion_collector_factory(10_000, 5_000, 0.5)
    options.set_block_based_table_factory(_block_options(cache_bytes(is_in_memory=is_in_memory)))
    return options


def _block_options(cache_bytes: int) -> rocksdict.BlockBasedOptions:
    blocks = rocksdict.BlockBasedOptions()
    blocks.set_block_cache(rocksdict.Cache(cache_bytes))
    blocks.set_bloom_filter(BLOOM_BITS_PER_KEY, False)
    blocks.set_format_version(5)
    # Index and filter count against the cache, so that memory does not grow with a table; in parts of a block's size, so that one
    # get does not bring in (and throw out) the whole filter of a file: 5 µs instead of 150 among 300,000 items.
    blocks.set_cache_index_and_filter_blocks(True)
    blocks.set_index_type(rocksdict.BlockBasedIndexType.two_level_index_search())
    blocks.set_partition_filters(True)
    blocks.set_metadata_block_size(METADATA_BLOCK_BYTES)
    blocks.set_index_block_restart_interval(INDEX_RESTART_KEYS)
    blocks.set_pin_top_level_index_and_filter(True)
    return blocks
