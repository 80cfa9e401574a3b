"""Are rows that are replaced some at a time where their numbers say?"""

import numpy as np
import pytest

from hashrange.vectors.centroids import Centroids
from hashrange.vectors.ranking import Distance
from hashrange.vectors.tiles import TiledRows


@pytest.mark.parametrize("dimensions", [3, 384, 575, 576, 768, 1_000, 1_536, 3_072, 10_000])
def test_replaced_rows_are_in_their_places(dimensions: int) -> None:
    rows = np.random.default_rng(1).standard_normal((50, dimensions)).astype(np.float32)
    tiles = TiledRows(50, dimensions)
    for start in range(0, 50, 16):
        tiles.replace(start, rows[start : start + 16])
    assert np.array_equal(tiles.rows(), rows)
    assert np.allclose(tiles.products(rows[:30]), rows[:30] @ rows.T, rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("distance", ["COSINE", "EUCLIDEAN", "DOT_PRODUCT"])
@pytest.mark.parametrize("dimensions", [384, 768, 1_536])
def test_centers_are_those_that_were_given(distance: Distance, dimensions: int) -> None:
    """Also more of them than are replaced at once."""
    rows = np.random.default_rng(2).standard_normal((300, dimensions)).astype(np.float32)
    centers = Centroids(distance, rows)
    assert np.array_equal(centers.centers(), rows)
    assert centers.nearest(rows[250:260]) == list(range(250, 260))
