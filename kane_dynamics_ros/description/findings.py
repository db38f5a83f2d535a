"""What is wrong with a URDF, or deserves a warning: the table of codes, findings, and the refusal."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.text import did_you_mean, listed

Severity = Literal["info", "warning", "error"]

# The stable code of every finding: how bad it is, and its name; docs/diagnostics.md explains each
CODES: dict[str, tuple[Severity, str]] = {
    # 1xx: the file and its XML
    "KD101": ("error", "file cannot be read"),
    "KD102": ("error", "not well-formed XML"),
    "KD103": ("error", "input too large"),
    "KD104": ("error", "document type declaration"),
    "KD105": ("error", "xacro failed"),
    "KD106": ("error", "xacro that was not run"),
    "KD107": ("error", "not a URDF"),
    "KD108": ("info", "byte-order mark skipped"),
    "KD109": ("info", "encoding declaration in text ignored"),
    "KD110": ("info", "namespace stripped"),
    "KD111": ("info", "expanded by xacro"),
    "KD112": ("error", "refused by urdf_parser_py"),
    "KD113": ("warning", "remark of urdf_parser_py"),
    "KD114": ("info", "xacro tag in a block that is not read"),
    "KD115": ("error", "xacro argument that is not declared"),
    "KD116": ("warning", "version that other tools refuse"),
    "KD117": ("error", "text that cannot be changed in place"),
    "KD118": ("error", "xacro argument that is missing"),
    "KD119": ("error", "package that was not found"),
    "KD120": ("error", "xacro file of macros alone"),
    # 2xx: names and structure
    "KD201": ("error", "missing attribute or element"),
    "KD202": ("error", "duplicate name"),
    "KD203": ("error", "undefined link"),
    "KD204": ("error", "several root links"),
    "KD205": ("error", "loop of joints"),
    "KD206": ("error", "link with several parents"),
    "KD207": ("error", "no moving joint"),
    "KD208": ("error", "unknown joint type"),
    "KD209": ("warning", "unknown tag"),
    "KD210": ("warning", "unknown attribute"),
    "KD211": ("warning", "element given more than once"),
    "KD212": ("info", "foreign block not read"),
    "KD213": ("error", "mimic that cannot be followed"),
    "KD214": ("info", "name that needs care"),
    "KD215": ("info", "names that collide after cleaning"),
    "KD216": ("warning", "mimic that cannot be followed, off the chain"),
    # 3xx: numbers
    "KD301": ("error", "not a number"),
    "KD302": ("error", "number not finite or far too large"),
    "KD303": ("error", "wrong count of numbers"),
    "KD304": ("error", "zero axis"),
    "KD305": ("warning", "axis of length other than 1"),
    "KD306": ("info", "axis not given"),
    "KD307": ("warning", "number so small that it was read as 0"),
    "KD308": ("error", "negative where it cannot be"),
    "KD309": ("error", "orientation not clear"),
    # 4xx: inertia
    "KD401": ("error", "negative mass"),
    "KD402": ("error", "inertia without mass"),
    "KD403": ("warning", "physically impossible inertia"),
    "KD404": ("warning", "joint that moves no inertia"),
    "KD405": ("warning", "moving link without inertia"),
    "KD406": ("warning", "physically impossible inertia, where it does no harm"),
    "KD407": ("warning", "radius of gyration far larger than the link"),
    "KD408": ("warning", "mass without inertia"),
    "KD409": ("warning", "centre of mass far outside the link"),
    "KD410": ("warning", "mass too large for a link"),
    "KD411": ("info", "rotor inertia read"),
    "KD412": ("warning", "rotor inertia not clear"),
    "KD413": ("warning", "inertial element without mass and inertia"),
    "KD414": ("warning", "denser than any material"),
    "KD415": ("warning", "inertia about the link's origin"),
    # 5xx: limits
    "KD501": ("warning", "position limits absent"),
    "KD502": ("warning", "effort limit absent or zero"),
    "KD503": ("warning", "velocity limit absent or zero"),
    "KD504": ("error", "lower limit above upper limit"),
    "KD505": ("warning", "effort limit below the gravity torque"),
    "KD506": ("warning", "degrees for radians"),
    "KD507": ("warning", "degrees for radians in rpy"),
    "KD508": ("warning", "millimetres for metres"),
    "KD509": ("warning", "friction above the effort limit"),
    "KD510": ("warning", "effort limit far above what the arm needs"),
    # 6xx: the chain
    "KD601": ("error", "unknown link or joint asked for"),
    "KD602": ("info", "tip chosen"),
    "KD603": ("info", "fixed links lumped"),
    "KD604": ("warning", "branch lumped as rigid"),
    "KD605": ("error", "floating or planar joint"),
    "KD606": ("info", "link does not move"),
    "KD607": ("info", "joint locked"),
    "KD608": ("warning", "mimic whose leader is off the path to the tip"),
    "KD609": ("info", "mimic honoured"),
    "KD610": ("error", "joint that cannot be locked so"),
    "KD611": ("error", "tip that is not below the root"),
    "KD612": ("info", "gravity turned into the root's axes"),
    "KD613": ("warning", "gravity not known in the root's axes"),
    "KD614": ("warning", "joint locked outside its limits"),
}


@dataclass(frozen=True)
class Finding:
    """One thing that the reader noticed: a stable code, how bad, where, and what to do."""

    code: str
    severity: Severity
    message: str
    file: str | None = None
    line: int | None = None
    element: str | None = None


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
    """A URDF that cannot be used, or a chain that it does not have; made by ``refusal``.

    Attributes:
        code: one of ``CODES``.
        place, found, remedy: where it is, what was found there, and what to do.
        parts: of several refusals of one chain, each; else empty.
        noted: what was noticed before it was refused.
    """

    place: Place = Place()
    found: str = ""
    remedy: str = ""
    parts: tuple["DescriptionError", ...] = ()
    noted: tuple[Finding, ...] = ()

    @property
    def errors(self) -> tuple["DescriptionError", ...]:
        """This error, or its parts where there are several."""
        return self.parts or (self,)

    @property
    def finding(self) -> Finding:
        """The error as a finding, for those who list findings."""
        return Finding(self.code, "error", f"{self.found}; {self.remedy}", *self.place)


def refusal(code: str, place: Place, found: str, remedy: str, **values: Any) -> DescriptionError:
    """The error that says where, what was found and what to do; ``values`` become attributes."""
    message = f"{place}: {found}; {remedy} [{code}]"
    return DescriptionError(message, code, place=place, found=found, remedy=remedy, **values)


def missing(place: Place, what: str) -> DescriptionError:
    """An attribute or element that is not there."""
    return refusal("KD201", place, f"{what} is missing or empty", "add it")


def too_large(place: Place, limit: int, what: str) -> DescriptionError:
    """More than ``limit`` of something."""
    found = f"too large: more than {limit} {what}"
    return refusal("KD103", place, found, "a robot's URDF is far smaller: check the file")


def unknown_name(place: Place, kind: str, found: str, known: Iterable[str]) -> DescriptionError:
    """A link or joint that was asked for and that the robot does not have."""
    names = list(known)
    remedy = f"{did_you_mean(found, names)}its {kind}s are {listed(names, most=40)}"
    return refusal("KD601", place, f"there is no {kind} {found!r}", remedy)


@dataclass
class Notes:
    """Findings in the order in which they were made; ``source`` is the file that they are about.

    ``strict``: what would be a serious warning is refused.
    """

    source: str | None = None
    findings: list[Finding] = field(default_factory=list)
    errors: list[DescriptionError] = field(default_factory=list)
    strict: bool = False

    def place(self, line: int | None = None, element: str | None = None) -> Place:
        """A place in this file."""
        return Place(self.source, line, element)

    def add(self, code: str, message: str, line: int | None = None, element: str | None = None) -> None:
        """Note one thing; its severity is the code's."""
        self.findings.append(Finding(code, CODES[code][0], message, self.source, line, element))

    def refuse(self, error: DescriptionError) -> None:
        """Refuse the robot, after everything else that is wrong was found too."""
        self.errors.append(error)

    def refuse_unless(self, error: DescriptionError, harmless: str) -> None:
        """Refuse, or warn where it does no harm because of ``harmless``."""
        if harmless:
            message = f"{error.found}; {harmless}"
            self.findings.append(Finding(error.code, "warning", message, *error.place))
        else:
            self.errors.append(error)

    def doubt(self, error: DescriptionError, refused: bool) -> None:
        """Refuse where that must be, or ``strict`` is asked for; else it is a serious warning."""
        self.refuse_unless(error, "" if refused or self.strict else error.remedy)

    def raise_errors(self) -> None:
        """Raise what was refused: one error as it is, several together under the first one's code."""
        if not self.errors:
            return
        error = self.errors[0]
        if len(self.errors) > 1:
            message = "\nerror: ".join(map(str, self.errors))
            values = {"place": error.place, "found": error.found, "remedy": error.remedy}
            error = DescriptionError(message, error.code, parts=tuple(self.errors), **values)
        error.noted = tuple(self.findings)
        raise error
