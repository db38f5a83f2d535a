"""Boxes of links from their meshes: COLLADA shapes against the STL files of the same links."""

from xml.etree import ElementTree

import numpy as np
import pytest
from example_robots import ROBOTS

from kane_dynamics_ros.identification.link_boxes import link_boxes

pytestmark = pytest.mark.skipif(not ROBOTS.is_dir(), reason="needs example-robot-data (extra `test`)")


@pytest.mark.parametrize(
    ("robot", "links", "most"),
    [
        # the UR10's forearm and wrists are turned by nodes of their files, which call the axis y up
        ("ur10_robot", ("base_link", "shoulder_link", "forearm_link", "wrist_1_link", "wrist_2_link"), 1e-3),
        ("panda", tuple(f"panda_link{i}" for i in (0, 1, 2, 3, 4, 6)), 1e-3),
        ("romeo_small", ("LHipPitchLink", "LKneePitchLink"), 1e-6),
    ],
)
def test_boxes_of_collada_and_stl_are_the_same(robot, links, most):
    [path] = ROBOTS.rglob(f"{robot}.urdf")
    boxes = []
    for other in ("visual", "collision"):
        tree = ElementTree.parse(path)
        for link in tree.iter("link"):
            for shape in link.findall(other):
                link.remove(shape)
        boxes.append(link_boxes(ElementTree.tostring(tree.getroot()), path.parent))
    for link in links:
        np.testing.assert_allclose(boxes[0][link], boxes[1][link], atol=most, err_msg=link)


def test_link_with_a_shape_that_is_not_read_has_no_box(tmp_path):
    (tmp_path / "broken.dae").write_text("<COLLADA/>")
    shape = "<visual><geometry>{}</geometry></visual>"
    broken, box = shape.format('<mesh filename="broken.dae"/>'), shape.format('<box size="1 2 4"/>')
    urdf = f'<robot name="r"><link name="a">{box}</link><link name="b">{box}{broken}</link></robot>'
    found = link_boxes(urdf.encode(), tmp_path)
    assert list(found) == ["a"]
    prefixed = urdf.replace("</", "</u:").replace("<", "<u:").replace("<u:/u:", "</u:")
    assert list(link_boxes(prefixed.encode(), tmp_path)) == ["a"]
    np.testing.assert_allclose(found["a"], [[-0.5, -1, -2], [0.5, 1, 2]])
