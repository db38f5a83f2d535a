"""Edits of a URDF's text: the right bytes change, whatever stands around them."""

import pytest

from kane_dynamics_ros.description import DescriptionError
from kane_dynamics_ros.description.text_edits import parse_text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('<mass value="1"/>', '<mass value="2"/>'),
        ("<mass\n  value = '1' />", "<mass\n  value = '2' />"),
        ("""<mass note=" value='3' > " value="1"/>""", """<mass note=" value='3' > " value="2"/>"""),
        ('<mass other.value="1" />', '<mass other.value="1" value="2" />'),
        ("<mass></mass>", '<mass value="2"></mass>'),
        ('<mass value=""/>', '<mass value="2"/>'),
        ('<mass value="&#49;"/>', '<mass value="2"/>'),
    ],
)
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_an_attribute_is_replaced_or_added_behind_the_others(before, after, mark):
    around = mark + b"<robot><!-- <mass value='7'/> -->\xc3\xa9%s<tail/></robot>"
    urdf = parse_text(around % before.encode())
    edit = urdf.attribute(urdf.root.all("mass")[0], "value", "2")
    assert urdf.edited([edit]) == around % after.encode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<J>1</J>", "<J>2</J>"),
        ("<J unit='x'>\n 1 \n</J>", "<J unit='x'>\n 2 \n</J>"),
        ("<J><!-- </J> 3 -->1<!-- 4 --></J>", "<J><!-- </J> 3 -->2<!-- 4 --></J>"),
        ("<J><![CDATA[1]]></J>", "<J>2</J>"),
        ("<J>1<!-- . -->0</J>", "<J>2</J>"),
        ('<J value="1">5</J>', '<J value="2">5</J>'),
    ],
)
def test_the_number_that_an_element_holds_is_replaced(before, after):
    urdf = parse_text(f"<robot>{before}</robot>".encode())
    assert urdf.edited([urdf.content(urdf.root.all("J")[0], "2")]) == f"<robot>{after}</robot>".encode()


def test_additions_at_one_place_follow_each_other():
    urdf = parse_text(b'<robot><a x="1"/></robot>')
    (a,) = urdf.root.all("a")
    edits = [urdf.attribute(a, "z", "3"), urdf.attribute(a, "y", "2"), urdf.attribute(a, "x", "0")]
    assert urdf.edited(edits) == b'<robot><a x="0" z="3" y="2"/></robot>'


def test_elements_of_a_prefixed_urdf_are_found():
    urdf = parse_text(b'<u:robot xmlns:u="v"><u:a x="1"/></u:robot>')
    assert urdf.edited([urdf.attribute(urdf.root.all("a")[0], "x", "2")]).endswith(b'<u:a x="2"/></u:robot>')


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_wide_encodings_are_refused(encoding):
    with pytest.raises(DescriptionError, match="KD117"):
        parse_text('<robot name="a"/>'.encode(encoding))


def test_latin_1_keeps_its_letters():
    text = '<?xml version="1.0" encoding="iso-8859-1"?><robot name="\xe9"><a x="1"/></robot>'.encode(
        "latin-1"
    )
    urdf = parse_text(text)
    assert urdf.edited([urdf.attribute(urdf.root.all("a")[0], "x", "2")]) == text.replace(b'x="1"', b'x="2"')
