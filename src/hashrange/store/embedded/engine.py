"""How is the engine opened, configured, copied and closed? RocksDB through rocksdict, with all its options.

No other file of Hashrange sets rocksdict's options. Measurements: docs/adr/0011-engine-options.md.
"""

import contextlib
import ctypes
import sys
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache, partial
from typing import Any, NamedTuple

import rocksdict

from hashrange.store.embedded import files
from hashrange.store.embedded.engine_errors import CLOSING, OPENING, REOPENING, storage_errors, undone_on_failure
from hashrange.store.embedded.forked_process import prepare_for_forks
from hashrange.store.embedded.open_files import descriptors_max, open_files_max
from hashrange.store.embedded.recovery import first_hole, replayed_logs, require_no_loss, stops_at_hole, torn_logs
from hashrange.store.embedded.synced import read_synced
from hashrange.store.embedded.threads import let_the_loop_go_first
from hashrange.store.embedded.upgrade import check_format

MIB = 1024 * 1024
WRITE_BUFFER_BYTES = 4 * MIB
"""Unit of a memtable's size (`Pace`). At most three memtables exist, which bounds memory and a recovery's work."""
BLOCK_CACHE_BYTES = 24 * MIB
MEMORY_BLOCK_CACHE_BYTES = 6 * MIB
"""Block cache size of a store in memory, where a miss costs a decompression, but no disk read."""
DISK_FILE_BYTES = 16 * MIB
"""Size of data files on disk. A compaction syncs each file that it finishes, and log writes wait for that sync,
which is short for a small file.
"""
MEMORY_FILE_BYTES = 3_900_000
"""Size of data files in memory, where files grow by doubling: a size just below a power of two wastes least."""
METADATA_BLOCK_BYTES = 4096
INDEX_RESTART_KEYS = 16
"""Index blocks store one key in this many whole, the others as differences from the key before: a third of the space
that whole keys take in the cache.
"""
STALL_THRESHOLDS = (("rocksdb.num-immutable-mem-table", 2), ("rocksdb.num-files-at-level0", 8))
"""Engine properties, each with the value from which on work that can wait is postponed. Writes stall with three full
memtables or 20 files at level 0.
"""
LEVEL_BASE_BYTES = 32 * MIB
"""Size limit of the level below level 0: at `Pace.USUAL` four times what one compaction moves there from level 0."""
LEVELS = 7
COMPRESSED = ":".join(["kLZ4Compression"] * LEVELS)
COMPRESSED_BELOW_BASE = ":".join(["kNoCompression"] * 2 + ["kLZ4Compression"] * (LEVELS - 2))
"""Compression by level at `Pace.WRITES`, on disk. The first two levels hold at most 32 MB and the files that wait to be
merged into them; they are merged again soon, and not worth compressing.
"""
BLOOM_BITS_PER_KEY = 10
BACKGROUND_JOBS = 2
LOG_FILE_BYTES_MAX = 1 * MIB
BACKGROUND_BYTES_PER_SECOND, BACKGROUND_PERIOD_US, BACKGROUND_WRITE_BYTES = 256 * MIB, 1_000, 128 * 1024
"""Flushes and compactions write at most BACKGROUND_BYTES_PER_SECOND, at most BACKGROUND_WRITE_BYTES per write. This
rate is enforced in each BACKGROUND_PERIOD_US, so they use a core for 1 ms at a time, not for whole scheduler ticks.
"""
PATH_BYTES_MAX = 1 << 62
"""Target size, in bytes, of the only folder in the engine's list of folders for data files: larger than any store."""
MAPPED_APART_BYTES_MIN = 2_000_000
"""Smallest buffer mapped separately: larger than nearly every request buffer, smaller than an in-memory engine file."""
KEPT_BYTES = 8_000_000
"""Up to this many free bytes at the heap's end are not returned to the system: to map 1 MB again takes 1 ms."""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""Numbers of two parameters of mallopt(3)."""
_FAIRNESS = 10
"""One time in this many, a waiting compaction may write before a waiting flush; the rate limiter's default."""
SKIPPED_KEYS_MAX = 20_000
"""Deleted keys that one seek may pass, in about 3 ms, before the read fails; most callers then compact them away."""

Engine = Any
"""A `rocksdict.Rdict`, or its stand-in after a failure (`stand_ins.py`). Any: rocksdict's stubs lack raw bytes."""
WriteBatch = rocksdict.WriteBatch


class Pace(Enum):
    """Size of memtables, in units of WRITE_BUFFER_BYTES, and number of files at level 0 that starts a compaction.

    Memtables and files at level 0 overlap: each may hold an older version of a row. So small memtables and few files
    make reads quick. Large memtables and many files make writes quick, because the level below level 0 is rewritten
    less often.
    """

    AT_REST = (1, 1)
    USUAL = (1, 2)
    """Compared with a pace of (2, 4), a Query of 20 often replaced rows takes 52 µs,
    not 90, a PutItem 2 to 6 µs more."""
    WRITES = (1, 4)
    """Pace for many writes and hardly any reads of ranges."""
    BULK = (4, 4)


class Memory(NamedTuple):
    """Where an engine in memory keeps its files: in a file system of its own, which copies of the engine share."""

    file_system: rocksdict.Env
    path: str
    """Path of the engine's folder in that file system.
    A real folder of that path exists only while rocksdict needs it."""


def new_memory(file_system: rocksdict.Env | None = None) -> Memory:
    """A new folder in `file_system`, or in a new file system."""
    return Memory(file_system or rocksdict.Env.mem_env(), files.scratch_path())


def open_engine(
    data_dir: str | None, *, folder: files.Folder | None = None, memory: Memory | None = None, may_make: bool = True
) -> Engine:
    """Open the engine of a folder that no other process uses, or make one if `may_make`. Raises StorageError.

    `data_dir` None: in memory. `folder`: paths by which `data_dir` is reached, perhaps through open descriptors; None:
    its plain path. `memory`: the folder of an engine in memory; None: a new one. A store of an older format is
    converted. Recovery accepts a torn tail of the write-ahead log; damage before the tail raises StorageCorruption.
    """
    place = data_dir or "memory"
    advice = OPENING if may_make else REOPENING
    prepare_for_forks()
    map_large_buffers_apart()
    if data_dir is None:
        memory = memory or new_memory()
        path = memory.path
    else:
        folder = folder or files.by_name(data_dir)
        path = folder.engine
    options = _options(memory)
    try:
        with storage_errors(place, advice):
            if folder is None:
                files.make_private_folder(path)
            else:
                files.require_way_in(folder)
            options.create_if_missing(may_make and (folder is None or files.may_make_engine(path)))
            if folder is not None and _prepare_logs(folder):
                options.set_wal_recovery_mode(rocksdict.DBRecoveryMode.point_in_time())
            engine = rocksdict.Rdict(path, options, column_families={"default": options})
    finally:
        if folder is None:
            files.remove_folder(path)
    with storage_errors(place, advice), undone_on_failure(lambda: close_engine(engine, place, may_fail=True)):
        let_the_loop_go_first()
        engine.set_write_options(_write_options(is_in_memory=data_dir is None, may_wait=True))
        check_format(engine, place)
        engine.set_write_options(_write_options(is_in_memory=data_dir is None))
    return engine


def _prepare_logs(folder: files.Folder) -> bool:
    """Verify and mend the write-ahead logs before the engine in `folder` is opened for writing, which deletes logs.

    If commits could be missing, a read-only replay must find no damage and all acknowledged commits. Then zeros that
    are no data are cut off the last logs. Returns True when the engine must be opened in the recovery mode that stops
    where commits are missing (`recovery.py`). Raises StorageLost, OSError and the engine's bare exceptions.
    """
    path = folder.engine
    torn = torn_logs(path)
    hole = first_hole(path, torn)
    if torn or hole is not None or read_synced(folder) is not None or len(files.log_files(path)) > 1:
        logs = replayed_logs(path, torn, None)
        replayed = open_beside(path, logs) if logs else _open_read_only(path)
        sequence = replayed.latest_sequence_number()
        replayed.close()
        require_no_loss(folder, hole, sequence)
    for log, size_bytes in torn.items():
        files.truncate(log, size_bytes)
    return stops_at_hole(path)


def link_engine(engine: Engine, path: str) -> None:
    """Link the files of `engine` to a new folder `path`, after a flush; commits made meanwhile would be missing.

    Holds the interpreter lock. Raises the engine's bare exceptions and OSError.
    """
    rocksdict.Checkpoint(engine).create_checkpoint(path)


def link_in_memory(engine: Engine, source: Memory) -> Memory:
    """Link the files of an engine in memory to a new folder. Raises what `link_engine` raises."""
    copy = new_memory(source.file_system)
    files.make_private_folder(copy.path)  # rocksdict writes its settings into a real folder of that path
    try:
        link_engine(engine, copy.path)
    finally:
        files.remove_folder(copy.path)
    return copy


def remove_memory(memory: Memory) -> None:
    """Free the files of an engine in memory that is closed; a file that copies of it share stays. Ignores errors."""
    with contextlib.suppress(Exception):
        rocksdict.Rdict.destroy(memory.path, _options(memory))
    files.remove_folder(memory.path)


def _open_read_only(path: str, head: str | None = None, *, has_logs: bool = False) -> Engine:
    """Open the engine in folder `path` read-only; its logs are replayed in memory. Raises the engine's bare exceptions.

    rocksdict writes its own settings into the folder that it opens. With `head`, a scratch folder made by
    `files.copied_head`, it writes there, and nothing in `path` changes. `has_logs`: replay the logs in `head`, not
    those in `path`.
    """
    options = _options(None)
    if head is not None:
        options.set_db_paths([rocksdict.DBPath(path, PATH_BYTES_MAX)])
        options.set_wal_dir(head if has_logs else path)
    return rocksdict.Rdict(head or path, options, {"default": options}, rocksdict.AccessType.read_only(False))


def open_beside(path: str, logs: Mapping[str, int | None]) -> Engine:
    """Open a read-only engine on folder `path`, in which nothing changes. Another engine may be open there: then this
    one reads what that one wrote before it failed.

    `logs`: path → size to which a copy of the log is cut (None: whole), for the logs to be replayed; if it is empty,
    those in `path` are. Raises OSError and the engine's bare exceptions, in whose text `path` stands for its copy.
    """
    with files.copied_head(path, logs) as head:
        try:
            return _open_read_only(path, head, has_logs=bool(logs))
        except Exception as error:
            error.args = (str(error).replace(head, path),)
            raise


def compact(engine: Engine, lower: bytes, upper: bytes) -> None:
    """Remove deleted keys in `lower <= key < upper` from the data files. Blocks, but without the interpreter lock."""
    options = rocksdict.CompactOptions()
    options.set_bottommost_level_compaction(rocksdict.BottommostLevelCompaction.force())
    engine.compact_range(lower, upper, options)


def cache_bytes(*, is_in_memory: bool) -> int:
    """Size of the block cache in bytes."""
    return MEMORY_BLOCK_CACHE_BYTES if is_in_memory else BLOCK_CACHE_BYTES


def set_pace(engine: Engine, pace: Pace, *, is_in_memory: bool) -> None:
    """Set the pace of flushes and compactions. Writes a file: some ms. In memory every pace compresses all levels."""
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
    """True if flushes and compactions lag so far behind that writes may stall soon. 2 µs."""
    return any((engine.property_int_value(name) or 0) >= most for name, most in STALL_THRESHOLDS)


def is_flushing(engine: Engine) -> bool:
    """True if a memtable waits to be flushed, or is being flushed. 1 µs."""
    return bool(engine.property_int_value(STALL_THRESHOLDS[0][0]))


def close_engine(engine: Engine, place: str, *, may_fail: bool) -> None:
    """Flush and close the engine. Raises StorageError if not everything could be written; the engine is closed anyway.

    With `may_fail` nothing is raised: commits are in the log anyway, or the engine is in memory, which refuses the last
    sync.
    """
    with contextlib.suppress(Exception) if may_fail else storage_errors(place, CLOSING):
        engine.close()


def cancel_work(engine: Engine) -> None:
    """Cancel flushes and compactions of `engine` for good, without waiting for their end; ignores errors."""
    with contextlib.suppress(Exception):
        engine.cancel_all_background(False)


def abandon_engine(engine: Engine) -> None:
    """Give up `engine` without closing it, because its folder is missing, was replaced, or holds other files.

    Closing an engine, or dropping its last reference, writes and deletes files by their paths. If another store's
    folder is at the engine's path by now, or a backup was copied into the engine's folder, that destroys foreign files.
    So the engine's work is cancelled, and one reference to the engine is never released.
    """
    cancel_work(engine)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(engine))


def _write_options(*, is_in_memory: bool, may_wait: bool = False) -> rocksdict.WriteOptions:
    """Write options that never wait in a stall, unless `may_wait`, and do not sync: the commit barrier syncs many
    commits at once. In memory no log is written.
    """
    options = rocksdict.WriteOptions()
    options.no_slowdown = not may_wait
    options.disable_wal = is_in_memory  # type: ignore[method-assign,assignment]  # a property, whatever the stubs say
    return options


def passing_read_options() -> rocksdict.ReadOptions:
    """Read options that do not fill the block cache, unlike the engine's defaults."""
    options = rocksdict.ReadOptions()
    options.fill_cache(False)  # type: ignore[call-arg]  # it takes the value, whatever the stubs say
    return options


small_batch: Callable[[], WriteBatch] = partial(rocksdict.WriteBatch, True)  # `raw_mode` by its name takes 0.1 µs more
"""Makes an empty batch without preallocated bytes, which can be written once. 0.6 µs, most of it in rocksdict."""


def new_batch(room_bytes: int = 0) -> WriteBatch:
    """An empty batch, which can be written once. `room_bytes` are preallocated.

    Preallocation takes 1 ms per MB, and a put then 0.2 ms per MB; without it a put takes 2 ms per MB, because the batch
    copies its content as it grows.
    """
    batch = small_batch()
    if room_bytes:
        batch.put(b"", bytes(room_bytes))
        batch.clear()
    return batch


def bounded(upper: bytes, skipped_keys_max: int = SKIPPED_KEYS_MAX, *, is_kept: bool = False) -> rocksdict.ReadOptions:
    """Read options for an iterator that ends before `upper`; `is_kept`: what it reads fills the block cache.

    The iterator fails after passing more than `skipped_keys_max` deleted keys in one seek; 0: no limit. No lower bound
    is set, because `set_iterate_lower_bound` of rocksdict 0.3.29 sets the upper bound.
    """
    options = rocksdict.ReadOptions()
    options.set_iterate_upper_bound(upper)
    options.set_max_skippable_internal_keys(skipped_keys_max)
    options.fill_cache(is_kept)  # type: ignore[call-arg]  # it takes the value, whatever the stubs say
    return options


def _options(memory: Memory | None) -> rocksdict.Options:
    options = rocksdict.Options(raw_mode=True)
    is_in_memory = memory is not None
    if memory is not None:
        options.set_env(memory.file_system)
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
    # Index and filter blocks count against the cache, so that memory does not grow with a table. They are split into
    # parts of METADATA_BLOCK_BYTES, so that a get does not load the whole filter of a file and evict other blocks: a
    # get takes 5 µs instead of 150 among 300,000 items.
    blocks.set_cache_index_and_filter_blocks(True)
    blocks.set_index_type(rocksdict.BlockBasedIndexType.two_level_index_search())
    blocks.set_partition_filters(True)
    blocks.set_metadata_block_size(METADATA_BLOCK_BYTES)
    blocks.set_index_block_restart_interval(INDEX_RESTART_KEYS)
    blocks.set_pin_top_level_index_and_filter(True)
    return blocks


@cache  # a library leaves cycles to the garbage collector
def map_large_buffers_apart() -> bool:
    """Let glibc's allocator map large buffers separately, so that their memory returns to the system.

    By default, once a large buffer is freed, glibc keeps later buffers of that size on its heap, whose holes stay with
    the process: 145 MB instead of 90 MB for 100,000 items in memory. Sets MAPPED_APART_BYTES_MIN and KEPT_BYTES for the
    whole process, once. False if buffers are not mapped separately: with another C library nothing is done.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        library = ctypes.CDLL(None)
        library.mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES)
        return bool(library.mallopt(_M_MMAP_THRESHOLD, MAPPED_APART_BYTES_MIN))
    except (AttributeError, OSError):  # another C library
        return False
