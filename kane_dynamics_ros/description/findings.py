"""What is wrong with a URDF, or deserves a warning: codes, findings, and every refusal."""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.text import listed, shortened

Severity = Literal["info", "warning", "error"]


@dataclass(frozen=True)
class Finding:
    """One thing that the reader noticed: a stable code, how bad, where, and what to do."""

    code: str
    severity: Severity
    message: str
    file: str | None = None
    line: int | None = None
    element: str | None = None


# The stable code of every finding and error of this room; docs/diagnostics.md explains each


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
    "KD112": Code("error", "refused by urdf_parser_py"),
    "KD113": Code("warning", "remark of urdf_parser_py"),
    "KD114": Code("info", "xacro tag in a block that is not read"),
    "KD115": Code("error", "xacro argument that is not declared"),
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
    "KD403": Code("warning", "physically impossible inertia"),
    "KD404": Code("warning", "joint that moves no inertia"),
    "KD405": Code("warning", "moving link without inertia"),
    "KD406": Code("warning", "physically impossible inertia, where it does no harm"),
    "KD407": Code("warning", "radius of gyration far larger than the link"),
    "KD408": Code("warning", "mass without inertia"),
    "KD409": Code("warning", "centre of mass far outside the link"),
    "KD410": Code("warning", "mass too large for a link"),
    "KD411": Code("info", "rotor inertia read"),
    "KD412": Code("warning", "rotor inertia not clear"),
    "KD413": Code("warning", "inertial element without mass and inertia"),
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
    "KD611": Code("error", "tip that is not below the root"),
}


# Errors, said so that the URDF's owner can fix it: where, what was found, what to do


class Place(NamedTuple):
    """Where something is: file, line and element; each may be unknown."""

    file: str | None = None
    line: int | None = None
    element: str | None = None

    def __str__(self) -> str:
        file = "<text>" if self.file is None else self.file
        where = file if self.line is None else f"{file}:{self.line}"
        return where if self.element is None else f"{where}: {self.element}"


class DescriptionError(KaneDynamicsError):
    """Base of this room's errors: a code of ``CODES``, a place, what was found and what to do."""

    code: str

    def __init__(self, place: Place, found: str, remedy: str) -> None:
        self.place, self.found, self.remedy = place, found, remedy
        self.noted: tuple[Finding, ...] = ()  # what was noticed before it was refused
        super().__init__(f"{place}: {found}; {remedy} [{self.code}]")

    @property
    def errors(self) -> tuple["DescriptionError", ...]:
        """This error; of ``SeveralDefectsError`` its parts."""
        return (self,)

    @property
    def finding(self) -> Finding:
        """The error as a finding, for those who list findings."""
        return Finding(self.code, "error", f"{self.found}; {self.remedy}", *self.place)


class SeveralDefectsError(DescriptionError):
    """Several refusals of one chain, so that all are known after one run; the code is the first one's."""

    def __init__(self, errors: Sequence[DescriptionError]) -> None:
        first = errors[0]
        self.code = first.code
        super().__init__(first.place, first.found, first.remedy)
        self._errors = tuple(errors)
        self.args = ("\nerror: ".join(str(error) for error in errors),)

    @property
    def errors(self) -> tuple[DescriptionError, ...]:
        return self._errors


class UnreadableFileError(DescriptionError):
    code = "KD101"

    def __init__(self, place: Place, reason: str) -> None:
        super().__init__(place, f"cannot be read: {reason}", "give the path of a URDF or xacro file")


class NotXmlError(DescriptionError):
    code = "KD102"

    def __init__(self, place: Place, reason: str) -> None:
        super().__init__(
            place, f"not well-formed XML: {reason}", "give URDF text, in UTF-8 if not declared otherwise"
        )


class TooLargeError(DescriptionError):
    code = "KD103"

    def __init__(self, place: Place, what: str, limit: int) -> None:
        super().__init__(
            place, f"too large: more than {limit} {what}", "a robot's URDF is far smaller: check the file"
        )


class DoctypeError(DescriptionError):
    code = "KD104"

    def __init__(self, place: Place) -> None:
        super().__init__(
            place,
            "has a document type declaration with entities or an external part, which are never read",
            "remove the <!DOCTYPE ...>",
        )


class XacroError(DescriptionError):
    code = "KD105"

    def __init__(self, place: Place, reason: str) -> None:
        super().__init__(place, f"xacro failed: {reason}", "try the file with the xacro command first")


class UnknownXacroArgumentError(DescriptionError):
    """An argument that nothing in the xacro file asks for: xacro would ignore it."""

    code = "KD115"

    def __init__(self, place: Place, found: Sequence[str], declared: Sequence[str]) -> None:
        near = difflib.get_close_matches(found[0], declared[:1000], n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        known = f"those that are: {listed(declared, most=40)}" if declared else "the file takes none"
        what = "argument" if len(found) == 1 else "arguments"
        super().__init__(
            place,
            f"the xacro {what} {listed(found)} {'is' if len(found) == 1 else 'are'} not declared",
            f"{hint}{known}",
        )


class UnrunXacroError(DescriptionError):
    code = "KD106"

    def __init__(self, place: Place, what: str) -> None:
        self.is_tag = what.startswith("<xacro:")
        left_over = "; if the file is expanded already, delete the tag" if self.is_tag else ""
        super().__init__(
            place,
            f"xacro that was not run: {what}",
            f"expand it with the xacro command, or load the .xacro file itself{left_over}",
        )


class OldXacroError(DescriptionError):
    """xacro of the years before the prefix was required, which today's xacro does not expand."""

    code = "KD106"

    def __init__(self, place: Place, tag: str) -> None:
        super().__init__(
            place,
            f"<{tag}> is xacro without its prefix, which xacro leaves as it is",
            f'write <xacro:{tag}>, with xmlns:xacro="http://www.ros.org/wiki/xacro" in <robot>, and so for '
            "the other tags of xacro",
        )


class ParserError(DescriptionError):
    """urdf_parser_py refused what was checked before: another version of it may know other rules."""

    code = "KD112"

    def __init__(self, place: Place, reason: str) -> None:
        super().__init__(
            place, f"urdf_parser_py cannot read it: {reason[:500]}", "please report it with the URDF"
        )


class NotUrdfError(DescriptionError):
    code = "KD107"

    def __init__(self, place: Place, tag: str) -> None:
        super().__init__(
            place, f"the outermost element is <{tag[:60]}>", "a URDF has <robot name='...'> there"
        )


class MissingError(DescriptionError):
    code = "KD201"

    def __init__(self, place: Place, what: str) -> None:
        super().__init__(place, f"{what} is missing or empty", "add it")


class DuplicateNameError(DescriptionError):
    code = "KD202"

    def __init__(self, place: Place, first_line: int | None) -> None:
        super().__init__(
            place, f"the name was given before, in line {first_line}", "names must be unique: rename one"
        )


class UndefinedLinkError(DescriptionError):
    code = "KD203"

    def __init__(self, place: Place, role: str, link: str) -> None:
        super().__init__(
            place,
            f"its {role} link {link!r} is not defined",
            f"add <link name={link!r}/> or fix the name",
        )


class SeveralRootsError(DescriptionError):
    code = "KD204"

    def __init__(self, place: Place, roots: Iterable[str]) -> None:
        super().__init__(
            place,
            f"several links have no parent: {listed(roots)}",
            "one root is allowed: join the others to it by joints",
        )


class LoopError(DescriptionError):
    code = "KD205"

    def __init__(self, place: Place, joints: Iterable[str]) -> None:
        super().__init__(
            place,
            f"joints form a loop: {listed(joints)}",
            "a URDF is a tree: remove the joint that closes the loop",
        )


class SeveralParentsError(DescriptionError):
    code = "KD206"

    def __init__(self, place: Place, joints: Iterable[str]) -> None:
        super().__init__(
            place,
            f"it is the child of several joints: {listed(joints)}",
            "a link has one parent (closed loops are not URDF): remove the others",
        )


class NoMovingJointError(DescriptionError):
    code = "KD207"

    def __init__(self, place: Place, root: str, tip: str | None) -> None:
        path = "in the whole robot" if tip is None else f"between the root {root!r} and the tip {tip!r}"
        super().__init__(
            place,
            f"no joint moves {path}",
            "a chain needs at least one revolute, continuous or prismatic joint that is not locked: choose "
            "another --tip",
        )


class UnknownJointTypeError(DescriptionError):
    code = "KD208"

    def __init__(self, place: Place, found: str, allowed: Iterable[str]) -> None:
        super().__init__(place, f"its type is {found!r}", f"allowed are {', '.join(allowed)}")


class MimicError(DescriptionError):
    code = "KD213"

    def __init__(self, place: Place, reason: str) -> None:
        super().__init__(place, f"its <mimic> cannot be followed: {reason}", "fix or remove the <mimic>")


# Errors about numbers, inertias and limits, and about the chain that was asked for


class NotANumberError(DescriptionError):
    code = "KD301"

    def __init__(self, place: Place, attribute: str, text: str) -> None:
        comma = " (the decimal mark is a point, in every locale)" if "," in text else ""
        super().__init__(
            place, f"{attribute}={shortened(text)} is not a number", f"write it as in 0.5 or 5e-1{comma}"
        )


class OutOfRangeError(DescriptionError):
    code = "KD302"

    def __init__(self, place: Place, attribute: str, text: str, largest: float) -> None:
        super().__init__(
            place,
            f"{attribute}={shortened(text)}",
            f"numbers must be finite and at most {largest:g} in magnitude",
        )


class NegativeValueError(DescriptionError):
    code = "KD308"

    def __init__(self, place: Place, attribute: str, value: float) -> None:
        super().__init__(place, f"{attribute} is {value!r}", "it must be 0 or more")


class OrientationError(DescriptionError):
    code = "KD309"

    def __init__(self, place: Place, found: str) -> None:
        super().__init__(place, found, "give rpy (turns about X, Y, Z in rad), or one quaternion of length 1")


class NumberCountError(DescriptionError):
    code = "KD303"

    def __init__(self, place: Place, attribute: str, text: str, count: int) -> None:
        super().__init__(
            place,
            f"{attribute}={shortened(text)} has {len(text.split())} numbers",
            f"{count} are needed, separated by spaces",
        )


class ZeroAxisError(DescriptionError):
    code = "KD304"

    def __init__(self, place: Place, axis: Sequence[float]) -> None:
        super().__init__(
            place,
            f"its axis is {' '.join(map(repr, axis))}, which has no direction",
            "give a unit vector, as in 0 0 1",
        )


class NegativeMassError(DescriptionError):
    code = "KD401"

    def __init__(self, place: Place, mass: float) -> None:
        super().__init__(place, f"its mass is {mass!r} kg", "a mass is 0 or more")


class InertiaWithoutMassError(DescriptionError):
    code = "KD402"

    def __init__(self, place: Place, moments: Sequence[float]) -> None:
        super().__init__(
            place,
            f"its mass is 0 but its principal moments of inertia are {in_kg_m2(moments)}",
            "give the mass too, or neither (0 and 0: a massless frame)",
        )


class UnphysicalInertiaError(DescriptionError):
    code = "KD403"

    def __init__(self, place: Place, failed: str, indefinite: bool, suggestion: str = "") -> None:
        self.indefinite = indefinite
        harm = "the mass matrix is indefinite" if indefinite else "torques are those of no real body"
        super().__init__(
            place,
            f"its inertia is physically impossible, so that {harm}: {failed}",
            "take the values from CAD afresh (about the centre of mass, along the axes of "
            f"<inertial><origin>), or let --repair write the nearest possible ones{suggestion}",
        )


class NoInertiaMovedError(DescriptionError):
    code = "KD404"

    def __init__(self, place: Place, joint: str, bodies: Iterable[str], suggestion: str = "") -> None:
        super().__init__(
            place,
            f"joint {joint!r} moves no inertia: nothing that it carries ({listed(bodies)}) resists its "
            "motion, so the mass matrix is singular: there are torques, but no forward dynamics",
            "give the link an <inertial>, give the joint a rotor inertia, or lock it "
            f"(--lock {joint}=0){suggestion}",
        )


class ChainWithoutInertiaError(DescriptionError):
    code = "KD404"

    def __init__(self, place: Place, joints: Iterable[str]) -> None:
        super().__init__(
            place,
            f"no joint of the chain ({listed(joints)}) moves any inertia: all torques would be 0",
            "give the links their <inertial>: mass, centre of mass and inertia, as from a data sheet or CAD",
        )


class LimitOrderError(DescriptionError):
    code = "KD504"

    def __init__(self, place: Place, lower: float, upper: float) -> None:
        super().__init__(
            place, f"its lower limit {lower!r} is above its upper limit {upper!r}", "exchange them"
        )


class UnknownNameError(DescriptionError):
    code = "KD601"

    def __init__(self, place: Place, kind: str, found: str, known: Iterable[str]) -> None:
        names = list(known)
        near = difflib.get_close_matches(found, names[:1000], n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        super().__init__(
            place, f"there is no {kind} {found!r}", f"{hint}its {kind}s are {listed(names, most=40)}"
        )


class TipNotBelowRootError(DescriptionError):
    code = "KD611"

    def __init__(self, place: Place, root: str, tip: str) -> None:
        super().__init__(
            place,
            f"no path leads from the root {root!r} to the tip {tip!r}",
            "choose a --tip that the --root carries, or another --root",
        )


class UnsupportedJointError(DescriptionError):
    code = "KD605"

    def __init__(self, place: Place, kind: str, joint: str) -> None:
        super().__init__(
            place,
            f"{kind} joints are not part of a serial chain",
            "begin the chain behind it (--root LINK, as for an arm on a mobile base), choose a --tip whose "
            f"chain avoids it, or lock it at its origin (--lock {joint}=0)",
        )


class LockError(DescriptionError):
    code = "KD610"

    def __init__(self, place: Place, value: float, reason: str) -> None:
        super().__init__(place, f"it cannot be locked at {value!r}", reason)


def in_kg_m2(moments: Sequence[float]) -> str:
    """Moments of inertia as a message gives them."""
    return ", ".join(f"{moment:.6g}" for moment in moments) + " kg m^2"


# Where the reader writes down what it noticed


@dataclass
class Notes:
    """Findings in the order in which they were made; ``source`` is the file that they are about.

    ``strict``: what would be a serious warning is refused.
    """

    source: str | None = None
    findings: list[Finding] = field(default_factory=list)
    errors: list[DescriptionError] = field(default_factory=list)
    strict: bool = False

    def place(self, line: int | None, element: str | None) -> Place:
        """A place in this file."""
        return Place(self.source, line, element)

    def add(self, code: str, message: str, line: int | None = None, element: str | None = None) -> None:
        """Note one thing; its severity is the code's."""
        self.findings.append(Finding(code, CODES[code].severity, message, self.source, line, element))

    def refuse(self, error: DescriptionError) -> None:
        """Refuse the robot, after everything else that is wrong was found too."""
        self.errors.append(error)

    def warn(self, error: DescriptionError, why: str = "") -> None:
        """Note what is wrong, but does no harm because of ``why``."""
        message = f"{error.found}; {why}" if why else f"{error.found}; {error.remedy}"
        self.findings.append(Finding(error.code, "warning", message, *error.place))

    def warn_unless_strict(self, error: DescriptionError) -> None:
        """Refuse where ``strict`` is asked for, else warn."""
        if self.strict:
            self.refuse(error)
        else:
            self.warn(error)

    def raise_errors(self) -> None:
        """Raise what was refused: one error as it is, several together."""
        if self.errors:
            error = self.errors[0] if len(self.errors) == 1 else SeveralDefectsError(self.errors)
            error.noted = tuple(self.findings)
            raise error
