"""Random writes, restarts, backups of the server and of its folder, and restores: each copy has what the store held
when it was made, as long as it is to be kept.

A seed drives everything.
"""

import shutil
from pathlib import Path
from random import Random

import pytest

from hashrange.cli.main import DONE, main
from tests.support.copied_stores import Content, Shop, content_of, copies_in, file_names, needed_names, restored
from tests.support.seeds import seeds

SEEDS = seeds(2, 60)
STEPS = 30
KEYS = 12
TABLES = ("customers", "orders", "products")
SIZES = (0, 10, 2_000, 60_000)


class World:
    """A server, a repository, and what its copies should have."""

    def __init__(self, root: Path, seed: int) -> None:
        self.chance = Random(seed)
        self.root = root
        self.target = root / "copies"
        self.shop = Shop(root / "data")
        self.expected: dict[str, Content] = {}
        """By the name of a copy."""

    def step(self) -> None:
        steps = [self.write, self.back_up_server, self.restore, self.restart, self.back_up_folder, self.go_back]
        self.chance.choices(steps, [12, 4, 3, 1, 1, 1])[0]()

    def write(self) -> None:
        """Some writes."""
        for _ in range(self.chance.randrange(1, 12)):
            table = self.chance.choice(TABLES)
            if table not in self.shop.content:
                self.shop.make(table)
            elif self.chance.random() < 0.03:
                self.shop.drop(table)
            elif self.chance.random() < 0.2:
                self.shop.delete(table, str(self.chance.randrange(KEYS)))
            else:
                text = self.chance.randbytes(self.chance.choice(SIZES)).hex()
                self.shop.put(table, str(self.chance.randrange(KEYS)), text)

    def back_up_server(self) -> None:
        """Add a copy of the server."""
        self.back_up(self.shop.endpoint)

    def back_up_folder(self) -> None:
        """Add a copy of the folder, while no server runs."""
        self.shop.stop()
        self.back_up(str(self.shop.data_dir))
        self.shop.start()

    def back_up(self, source: str) -> None:
        """Add a copy, sometimes a full one, sometimes unchecked, sometimes in the place of older ones."""
        words = [word for word in ("--full", "--no-check") if self.chance.random() < 0.2]
        copies_max = self.chance.randrange(1, 5) if self.chance.random() < 0.3 else None
        if copies_max is not None:
            words += ["--keep", str(copies_max)]
        assert main(["backup", source, str(self.target), *words]) == DONE
        (name,) = copies_in(self.target).keys() - self.expected.keys()
        self.expected[name] = self.shop.copied_content()
        if copies_max is not None:
            self.expected = dict(list(self.expected.items())[-copies_max:])
        assert list(copies_in(self.target)) == list(self.expected)
        assert file_names(self.target) == needed_names(self.target)

    def restore(self) -> None:
        """Restore one of the copies beside."""
        if self.expected:
            name = self.chance.choice(list(self.expected))
            assert restored(self.target, self.root / "restored", "--copy", name) == self.expected[name]

    def restart(self) -> None:
        """Stop and start the server."""
        self.shop.stop()
        self.shop.start()

    def go_back(self) -> None:
        """Let the server go on with one of the copies."""
        if not self.expected:
            return
        name = self.chance.choice(list(self.expected))
        self.shop.stop()
        shutil.rmtree(self.shop.data_dir)
        assert main(["restore", str(self.target), str(self.shop.data_dir), "--copy", name]) == DONE
        self.shop.start()
        self.shop.content = {table: dict(items) for table, items in self.expected[name].items()}


@pytest.mark.parametrize("seed", SEEDS)
def test_copies_have_what_the_store_held(tmp_path: Path, seed: int) -> None:
    world = World(tmp_path, seed)
    try:
        for _ in range(STEPS):
            world.step()
        world.back_up_server()
    finally:
        world.shop.stop()
    assert content_of(world.shop.data_dir) == world.shop.content
    for name, content in world.expected.items():
        assert restored(world.target, tmp_path / "restored", "--copy", name) == content
    assert main(["check", str(world.target)]) == DONE
