"""How is a sync slowed down? By a small preloaded library (slow_sync.c), compiled when there is a compiler."""

from pathlib import Path

from benchmarks.peers import home, need, run_installer

SOURCE = Path(__file__).with_name("slow_sync.c")


def slow_sync_environment(delay_us: int) -> dict[str, str]:
    """Return the environment that delays each sync of a server by this time; raises peers.NotInstallable."""
    need("cc", "making syncs slower")
    library = home() / "slow_sync.so"
    if not library.exists() or library.stat().st_mtime < SOURCE.stat().st_mtime:
        run_installer(["cc", "-shared", "-fPIC", "-O2", "-o", str(library), str(SOURCE), "-ldl"], "slow_sync.so")
    return {"LD_PRELOAD": str(library), "HASHRANGE_BENCH_SYNC_US": str(delay_us)}
