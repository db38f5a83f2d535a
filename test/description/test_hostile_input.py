"""Input that wants to do harm: refused at a bounded cost, and nothing beside the file is opened."""

import pickle
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small_urdf import LIMIT, link, robot, two_joints

from kane_dynamics_ros.description import DescriptionError, load_robot, parse_robot, serial_chain

ROOT = Path(__file__).parents[2]
BOMB = (
    '<!DOCTYPE robot [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>\n<robot name="&b;"/>'
)
EXTERNAL = '<!DOCTYPE robot [<!ENTITY a SYSTEM "file:///etc/passwd">]>\n<robot name="arm">&a;</robot>'
DOCTYPE = (
    "has a document type declaration with entities or an external part, which are never read; remove the "
    "<!DOCTYPE ...> [KD104]"
)


@pytest.mark.parametrize(
    "text", [BOMB, EXTERNAL, '<!DOCTYPE robot SYSTEM "http://x.invalid/x.dtd">\n<robot/>']
)
def test_entities_are_never_read(text):
    with pytest.raises(DescriptionError) as caught:
        parse_robot(text, "arm.urdf")
    assert str(caught.value) == f"arm.urdf:1: {DOCTYPE}"


def test_bare_doctype_is_harmless():
    assert parse_robot("<!DOCTYPE robot>\n" + two_joints()).name == "arm"


MAKERS = {
    "a file of 100 MB": "b'<robot>' + b' ' * 100_000_000",
    "deep nesting": "b'<robot>' * 500_000",
    "a million links": "b'<robot>' + b''.join(b'<link name=\"%d\"/>' % k for k in range(1_000_000))",
    "as many elements as bytes allow": "b'<robot>' + b'<a/>' * 1_200_000 + b'</robot>'",
    "as long a name as bytes allow": "b'<robot name=\"' + b'a' * 4_900_000 + b'\"/>'",
    "as many attributes as bytes allow": "b'<r ' + b' '.join(b'a%d=\"\"' % k for k in range(450_000)) + b'>'",
    "text in as many pieces as bytes allow": "b'<robot>' + b'x<!---->' * 600_000 + b'</robot>'",
}
# What a refusal may cost: of what plain Python needs to walk through as many bytes as a file may have and
# expat to parse them, and of these bytes. Ratios, which a busy machine does not change.
LONGEST, LARGEST = 3.0, 40.0
MEASURE = """
import sys, time
from xml.parsers import expat
from kane_dynamics_ros.description import DescriptionError, load_robot, serial_chain
from kane_dynamics_ros.description.xml_tree import MAX_BYTES
def peak():  # of this process's own memory [bytes]; what getrusage says begins with its parent's
    with open("/proc/self/status") as status:
        return 1024 * int(next(line for line in status if line.startswith("VmHWM")).split()[1])
with open(sys.argv[1], "rb") as file:
    data = file.read(MAX_BYTES)
start = time.process_time()
for byte in b"a" * MAX_BYTES:
    if byte == 0:
        break
parser = expat.ParserCreate()
parser.StartElementHandler = lambda *event: None
try:
    parser.Parse(data, True)
except expat.ExpatError:  # cut off
    pass
walked = time.process_time() - start
before = peak()
start = time.process_time()
try:
    serial_chain(load_robot(sys.argv[1]))
except DescriptionError as error:
    print(str(error)[-8:])
print((time.process_time() - start) / walked)
print((peak() - before) / MAX_BYTES)
"""


@pytest.mark.parametrize("what", MAKERS)
def test_oversized_input_is_refused_at_a_small_multiple_of_the_bytes_that_a_file_may_have(tmp_path, what):
    path = tmp_path / "large.urdf"
    path.write_bytes(eval(MAKERS[what]))
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, path], cwd=ROOT, capture_output=True, text=True, check=True
    )
    code, time, memory = done.stdout.strip().splitlines()
    assert code.startswith("[KD")
    assert float(time) < LONGEST
    assert float(memory) < LARGEST


@pytest.mark.parametrize(
    ("place", "stranger", "count"), [("<robot", " a%d=''", 900), ("</robot>", "<a%d/>", 40_000)]
)
def test_very_many_strangers_are_listed_in_brief(place, stranger, count):
    """Unknown attributes or elements, each of its own kind, in a robot that is accepted."""
    strangers = "".join(stranger % k for k in range(count))
    parts = (place, strangers) if place == "<robot" else (strangers, place)
    findings = parse_robot(two_joints().replace(place, "".join(parts), 1)).findings
    unknown = [f.message for f in findings if f.code in ("KD209", "KD210")]
    assert len(unknown) == 101
    assert unknown[-1] == f"{count - 100} other kinds of them were not read either"


def test_the_largest_accepted_tree_costs_no_more_a_link_than_a_smaller_one():
    """A star of joints up to what the limit on elements allows: no step is quadratic in the links."""

    def seconds(count):
        arms = [
            f'<link name="l{k}"/><joint name="j{k}" type="fixed"><parent link="one"/>'
            f'<child link="l{k}"/></joint>'
            for k in range(count)
        ]
        text = two_joints().replace("</robot>", "".join(arms) + "</robot>")
        start = time.process_time()
        chain = serial_chain(parse_robot(text))
        assert len(chain.joints[0].lumped) == count
        return time.process_time() - start

    small, large = 1000, 8000
    # the least of three, for the processor's time grows with what else the machine does
    ratio = min(seconds(large) for _ in range(3)) / min(seconds(small) for _ in range(3))
    assert ratio < 2.5 * large / small  # a quadratic step would make it 8 times as much


def test_long_chain_is_refused():
    links = [link(f"l{k}") for k in range(502)]
    joints = [
        f'<joint name="j{k}" type="revolute"><parent link="l{k}"/><child link="l{k + 1}"/>{LIMIT}</joint>'
        for k in range(501)
    ]
    with pytest.raises(DescriptionError) as caught:
        serial_chain(parse_robot(robot(*links, *joints), "arm.urdf"))
    assert str(caught.value) == (
        "arm.urdf: too large: more than 500 moving joints in the chain; a robot's URDF is far smaller: "
        "check the "
        "file [KD103]"
    )


def test_meshes_and_packages_are_never_opened(monkeypatch):
    """``package://``, ``file://`` and plain paths in a URDF are only text."""
    mesh = '<visual><geometry><mesh filename="{}"/></geometry></visual>'
    paths = ("package://a/b.stl", "file:///etc/passwd", "../../../etc/passwd", "/dev/zero")
    text = two_joints().replace("</link>", "".join(mesh.format(path) for path in paths) + "</link>")

    def refuse(*arguments, **options):
        raise AssertionError(f"opened {arguments}")

    monkeypatch.setattr("builtins.open", refuse)
    monkeypatch.setattr("os.open", refuse)
    assert serial_chain(parse_robot(text)).coordinates == ("a", "b")


@pytest.mark.parametrize("path", ["/dev/zero", "arm\0.urdf", "a" * 5000])
def test_odd_paths_are_refused(path):
    with pytest.raises(DescriptionError, match="cannot be read"):
        load_robot(path)


def test_entity_bomb_never_reaches_xacro(tmp_path):
    path = tmp_path / "arm.xacro"
    path.write_text(BOMB)
    with pytest.raises(DescriptionError) as caught:
        load_robot(path)
    assert str(caught.value) == f"{path}:1: {DOCTYPE}"


MACROS = {
    "a macro that calls itself": '<xacro:macro name="m0"><xacro:m0/></xacro:macro>',
    "a macro that doubles forty times": "".join(
        f'<xacro:macro name="m{k}"><xacro:m{k + 1}/><xacro:m{k + 1}/></xacro:macro>' for k in range(40)
    )
    + '<xacro:macro name="m40"><link name="x"/></xacro:macro>',
}


@pytest.mark.parametrize("what", MACROS)
def test_xacro_that_never_ends_is_refused(tmp_path, what):
    path = tmp_path / "arm.xacro"
    head = '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">'
    path.write_text(f"{head}{MACROS[what]}<xacro:m0/></robot>")
    with pytest.raises(
        DescriptionError, match=r"xacro failed: .*try the file with the xacro command first \[KD105\]$"
    ):
        load_robot(path, xacro_seconds=2)


NAMES = [
    "\u202e",
    "\x9b31m",
    "a\tb",
    "{}",
    "%s",
    "{0.__class__}",
    "'''",
    '"; import os',
    "../../etc",
    "\u0000"[:0] or "é",
]


@pytest.mark.parametrize("name", NAMES)
def test_names_are_quoted_in_messages(name):
    """No terminal control and no text direction leaves a message, and none is a format."""
    escaped = name.replace('"', "&quot;").replace("\t", "&#9;")
    text = (
        two_joints()
        .replace('joint name="b"', f'joint name="{escaped}"')
        .replace('child link="two"', 'child link="x"')
    )
    with pytest.raises(DescriptionError) as caught:
        parse_robot(text, "arm.urdf")
    assert str(caught.value) == (
        f"arm.urdf:6: joint {name!r}: its child link 'x' is not defined; add <link name='x'/> or fix "
        f"the name [KD203]"
    )
    assert str(caught.value).isprintable()


def test_expressions_run_only_in_files_that_are_xacro(tmp_path):
    """A stray ${...} in a URDF is an error, not a reason to evaluate it."""
    path = tmp_path / "arm.urdf"
    path.write_text(two_joints().replace('mass value="1"', 'mass value="${1 + 1}"', 1))
    with pytest.raises(DescriptionError) as caught:
        serial_chain(load_robot(path))
    assert str(caught.value) == (
        f"{path}:3: link 'one' <inertial> <mass>: xacro that was not run: value='${{1 + 1}}'; expand it "
        f"with the "
        "xacro command, or load the .xacro file itself [KD106]"
    )


def test_xacro_says_what_is_wrong_in_one_line(tmp_path):
    path = tmp_path / "arm.xacro"
    path.write_text('<robot name="${nothing}" xmlns:xacro="http://www.ros.org/wiki/xacro"/>')
    with pytest.raises(DescriptionError) as caught:
        load_robot(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: xacro failed: name 'nothing' is not defined")  # the rest is xacro's
    assert message.endswith("; try the file with the xacro command first [KD105]")
    assert "\n" not in message


def test_long_names_are_refused():
    text = two_joints().replace('joint name="a"', f'joint name="{"a" * 256}"')
    with pytest.raises(DescriptionError) as caught:
        parse_robot(text, "arm.urdf")
    assert str(caught.value) == (
        "arm.urdf:5: joint: too large: more than 255 characters in attribute 'name'; a robot's URDF is "
        "far smaller: "
        "check the file [KD103]"
    )


@pytest.mark.parametrize("before", ["<!-- made by hand -->\n", "\n"])
def test_a_declaration_that_does_not_come_first_is_named(before):
    with pytest.raises(DescriptionError) as caught:
        parse_robot(f'{before}<?xml version="1.0"?>\n{two_joints()}', "arm.urdf")
    assert (caught.value.code, caught.value.place.line) == ("KD102", 2)
    assert "<?xml" in caught.value.remedy


def test_a_refusal_keeps_its_values_through_pickle():
    """As between the processes of a pool."""
    with pytest.raises(DescriptionError) as caught:
        serial_chain(parse_robot(two_joints().replace('mass value="1"', 'mass value="-1"'), "arm.urdf"))
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.code, copy.place) == (str(caught.value), "KD401", caught.value.place)
    assert [error.place.line for error in copy.errors] == [3, 4]
