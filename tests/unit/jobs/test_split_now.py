"""An operator splits a partition: its two halves appear at once in the catalog and in the table's stream."""

from hashrange.store.interface import local_maintenance_of
from hashrange.tables.partitions import HASH_SPACE, HashRange, Partition
from tests.unit.jobs.streaming import described, is_open, switch_on
from tests.unit.jobs.world import TABLE, World, drive


def partitions(world: World) -> list[Partition]:
    table = world.store.catalog.find(world.scope.account, world.scope.region, TABLE)
    assert table is not None
    return list(table.partitions[table.source_id])


def split(world: World, partition: Partition) -> bool:
    store = world.store
    is_split: bool = drive(local_maintenance_of(store).split_partition(partition))
    return is_split


def test_two_halves_take_its_place(world: World) -> None:
    (whole,) = partitions(world)
    middle = HASH_SPACE // 2
    assert split(world, whole)
    lower, upper = partitions(world)
    assert (lower, upper) == (
        Partition(whole.source_id, 2, HashRange(0, middle - 1)),
        Partition(whole.source_id, 3, HashRange(middle, HASH_SPACE - 1)),
    )
    assert split(world, upper)
    assert [one.number for one in partitions(world)] == [2, 4, 5]
    if world.data_dir is not None:
        world.restart()
        assert [one.number for one in partitions(world)] == [2, 4, 5]


def test_the_shards_of_a_stream_follow(world: World) -> None:
    arn = switch_on(world)
    (whole,) = partitions(world)
    assert split(world, whole)
    parent, *children = described(world, arn)["Shards"]
    assert not is_open(parent)
    assert [one["ParentShardId"] for one in children] == [parent["ShardId"]] * 2


def test_what_is_not_there_any_more_is_not_split(world: World) -> None:
    (whole,) = partitions(world)
    assert split(world, whole)
    assert not split(world, whole)
    assert len(partitions(world)) == 2
    (lower, _) = partitions(world)
    world.ask("DeleteTable")
    assert not split(world, lower)
