"""Pictures of beliefs: where a belief is drawn, and in which colour."""

import base64
import io

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from attnlab.charts import (
    belief_table,
    corner_table,
    simplex_address,
    simplex_chart,
)
from attnlab.inspection.belief_planes import belief_colours, plane_of
from tests.unit.chart_drawing import as_svg

CORNERS = np.eye(3)[None]


def pixels_of(address):
    kind, _, data = address.partition(",")
    assert kind == "data:image/png;base64"
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(data))))


def test_three_states_are_the_corners_of_an_equilateral_triangle():
    plane = plane_of(("A", "B", "C"), CORNERS)
    points = plane.of(CORNERS)
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    np.testing.assert_allclose(distances, 1 - np.eye(3), atol=1e-12)
    np.testing.assert_allclose(plane.of(np.full((1, 1, 3), 1 / 3))[0], points.mean(axis=0))
    assert plane.names == ("A", "B", "C")


def test_two_states_are_an_interval_for_each_position():
    beliefs = np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.0, 1.0]]])
    points = plane_of(("A", "B"), beliefs).of(beliefs)
    np.testing.assert_allclose(points[:, 0], beliefs[..., 1].ravel())
    np.testing.assert_allclose(points[:, 1], [0.75, 0.25, 0.75, 0.25])


def test_more_states_are_shown_by_principal_components():
    """Beliefs that vary in a plane keep their distances, in one scale."""
    rng = np.random.default_rng(0)
    directions = np.linalg.qr(rng.normal(size=(5, 2)))[0]
    beliefs = 0.2 + 0.01 * rng.normal(size=(30, 4, 2)) @ directions.T
    points = plane_of(tuple("ABCDE"), beliefs).of(beliefs)
    assert np.ptp(points, axis=0).max() == pytest.approx(1)
    flat = beliefs.reshape(-1, 5)
    true = np.linalg.norm(flat[:, None] - flat[None], axis=2)
    drawn = np.linalg.norm(points[:, None] - points[None], axis=2)
    upper = np.triu_indices(len(flat), 1)
    ratio = drawn[upper] / true[upper]
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)


def test_three_chosen_states_are_corners_and_the_others_the_centre():
    plane = plane_of(tuple("ABCDE"), np.eye(5)[None], corners=(3, 0, 1))
    points = plane.of(np.eye(5)[None])
    np.testing.assert_allclose(points[[3, 0, 1]], plane_of(("A", "B", "C"), CORNERS).of(CORNERS))
    np.testing.assert_allclose(points[[2, 4]], np.tile(points[[3, 0, 1]].mean(axis=0), (2, 1)))
    assert plane.names == ("D", "A", "B")


def test_a_point_is_drawn_at_its_place_in_its_colour():
    colours = belief_colours(CORNERS[0])
    assert len({tuple(colour) for colour in colours}) == 3
    picture = pixels_of(simplex_address(plane_of("ABC", CORNERS).of(CORNERS), colours, side=100))
    assert picture.shape == (200, 200, 4)
    rows, columns = np.nonzero(picture[..., 3])
    # Two corners at the bottom, left and right, and one at the top.
    assert {tuple(picture[row, column, :3]) for row, column in zip(rows, columns, strict=True)} == {
        tuple(map(round, colour)) for colour in colours
    }
    top = rows == rows.min()
    np.testing.assert_array_equal(picture[rows[top][0], columns[top][0], :3], colours[2].round())
    left = columns == columns.min()
    np.testing.assert_array_equal(picture[rows[left][0], columns[left][0], :3], colours[0].round())


def test_points_outside_the_view_are_left_out():
    far = np.array([[5.0, 5.0], [-3.0, 0.2]])
    assert not pixels_of(simplex_address(far, np.zeros((2, 3)), side=50))[..., 3].any()


def test_the_mean_of_beliefs_has_the_mean_of_their_colours():
    one, other = np.random.default_rng(1).dirichlet(np.ones(4), 2)
    np.testing.assert_allclose(
        belief_colours((one + other) / 2), (belief_colours(one) + belief_colours(other)) / 2
    )


def test_the_table_of_points_names_pasts_and_the_chosen_one():
    table = belief_table(plane_of("ABC", CORNERS), CORNERS[0], ["A", "AB", "B"], chosen=1)
    assert table["text"].tolist() == ["A", "AB", "B"]
    assert table["chosen"].tolist() == [False, True, False]
    assert table["belief"][0] == "1.000, 0.000, 0.000"


def test_the_legend_names_all_states_in_their_colours():
    """Of five states, none of which is a corner."""
    states, beliefs = ("start", "saw 0", "saw 1", "owes 1", "owes 0"), np.eye(5)[None]
    plane, colours = plane_of(states, beliefs), belief_colours(beliefs)[0]
    picture = pd.DataFrame({"url": [simplex_address(plane.of(beliefs), colours)]})
    drawing = simplex_chart(picture, corner_table(plane), states=states)
    svg = as_svg(drawing.specification())
    for state, colour in zip(states, colours, strict=True):
        assert f">{state}</text>" in svg
        assert f'fill="rgb({",".join(f"{part:.0f}" for part in colour)})"' in svg
