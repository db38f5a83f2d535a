"""The stable code of every finding and error of this room; docs/diagnostics.md explains each."""

from typing import NamedTuple

from kane_dynamics_ros.description.model import Severity


class Code(NamedTuple):
    """How bad a finding is, and its name in a few words."""

    severity: Severity
    title: str


CODES: dict[str, Code] = {
    # 1xx: the file and its XML
    "KD101": Code("error", "file cannot be read"),
    "KD102": Code("error", "not well-formed XML"),
    "KD103": Code("error", "input too large"),
    "KD104": Code("error", "document type declaration"),
    "KD105": Code("error", "xacro failed"),
    "KD106": Code("error", "xacro that was not run"),
    "KD107": Code("error", "not a URDF"),
    "KD108": Code("info", "byte-order mark skipped"),
    "KD109": Code("info", "encoding declaration in text ignored"),
    "KD110": Code("info", "namespace stripped"),
    "KD111": Code("info", "expanded by xacro"),
    # 2xx: names and structure
    "KD201": Code("error", "missing attribute or element"),
    "KD202": Code("error", "duplicate name"),
    "KD203": Code("error", "undefined link"),
    "KD204": Code("error", "several root links"),
    "KD205": Code("error", "loop of joints"),
    "KD206": Code("error", "link with several parents"),
    "KD207": Code("error", "no moving joint"),
    "KD208": Code("error", "unknown joint type"),
    "KD209": Code("warning", "unknown tag"),
    "KD210": Code("warning", "unknown attribute"),
    "KD211": Code("warning", "element given more than once"),
    "KD212": Code("info", "foreign block not read"),
    "KD213": Code("error", "mimic that cannot be followed"),
    "KD214": Code("info", "name that needs care"),
    "KD215": Code("info", "names that collide after cleaning"),
    "KD216": Code("warning", "mimic that cannot be followed, off the chain"),
    # 3xx: numbers
    "KD301": Code("error", "not a number"),
    "KD302": Code("error", "number not finite or far too large"),
    "KD303": Code("error", "wrong count of numbers"),
    "KD304": Code("error", "zero axis"),
    "KD305": Code("warning", "axis of length other than 1"),
    "KD306": Code("info", "axis not given"),
    "KD307": Code("warning", "number so small that it was read as 0"),
    "KD308": Code("error", "negative where it cannot be"),
    "KD309": Code("error", "orientation not clear"),
    # 4xx: inertia
    "KD401": Code("error", "negative mass"),
    "KD402": Code("error", "inertia without mass"),
    "KD403": Code("error", "inertia that no body has"),
    "KD404": Code("error", "joint that moves no inertia"),
    "KD405": Code("warning", "moving link without inertia"),
    "KD406": Code("warning", "inertia that no body has, where it does no harm"),
    "KD407": Code("warning", "radius of gyration far larger than the link"),
    "KD408": Code("warning", "mass without inertia"),
    "KD409": Code("warning", "centre of mass far outside the link"),
    "KD410": Code("warning", "mass too large for a link"),
    "KD411": Code("info", "rotor inertia read"),
    "KD412": Code("warning", "rotor inertia not clear"),
    # 5xx: limits
    "KD501": Code("warning", "position limits absent"),
    "KD502": Code("warning", "effort limit absent or zero"),
    "KD503": Code("warning", "velocity limit absent or zero"),
    "KD504": Code("error", "lower limit above upper limit"),
    "KD505": Code("warning", "effort limit below the gravity torque"),
    "KD506": Code("warning", "degrees for radians"),
    "KD507": Code("warning", "degrees for radians in rpy"),
    "KD508": Code("warning", "millimetres for metres"),
    # 6xx: the chain
    "KD601": Code("error", "unknown link or joint asked for"),
    "KD602": Code("info", "tip chosen"),
    "KD603": Code("info", "fixed links lumped"),
    "KD604": Code("warning", "branch lumped as rigid"),
    "KD605": Code("error", "floating or planar joint"),
    "KD606": Code("info", "link does not move"),
    "KD607": Code("info", "joint locked"),
    "KD608": Code("warning", "mimic whose leader is off the path to the tip"),
    "KD609": Code("info", "mimic honoured"),
    "KD610": Code("error", "joint that cannot be locked so"),
}
