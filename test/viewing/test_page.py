"""The page as text: everything is in it, and what is in it cannot break it."""

import re

import numpy as np
from view_samples import JOINTS, TIMES, embedded, motion_at, sample_playback

from kane_dynamics_ros.viewing.page import page


def test_page_loads_nothing_from_elsewhere():
    markup = re.sub(r"<script>.*?</script>", "", page(sample_playback()), flags=re.S)
    assert re.findall(r"<link|<img|<iframe|src=|@import|url\(", markup) == []


def test_playback_is_in_the_page_to_six_digits():
    shown = embedded(page(sample_playback()))
    robot, wanted = motion_at(TIMES)
    assert shown["joints"] == list(JOINTS)
    np.testing.assert_allclose(shown["times"], TIMES, rtol=1e-5)
    np.testing.assert_allclose(shown["position"], robot, rtol=1e-5)
    np.testing.assert_allclose(shown["reference"], wanted, rtol=1e-5)
    assert [quantity["label"] for quantity in shown["quantities"]] == ["torque", "position"]


def test_hostile_title_and_urdf_stay_text():
    hostile = "</script><script>alert('no')</script>{{ title }}"
    text = page(sample_playback(title=hostile, urdf=hostile))
    assert embedded(text)["urdf"] == hostile
    assert "<script>alert" not in text
