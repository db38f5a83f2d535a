"""Random URDF trees with what ordinary robots lack: followers of followers, massless links, oblique axes."""

from random import Random

from small_urdf import LIMIT, joint, link, robot

AXES = ("1 0 0", "0 1 0", "0 0 1", "0 0 -1", "1 1 0", "0.3 -0.5 0.8")
TURNS = ("0 0 0", "0 0 0", "1.5707963267948966 0 0", "0 0 1.5707963267948966", "0.4 -0.2 0.9")
PLACES = ("0 0 0", "0 0 0", "0.3 0 0", "0 0 0.2", "0.1 -0.2 0.3")


def strange_tree(seed: int) -> tuple[str, str]:
    """URDF text and the link that is to be the tip: two to six moving joints on links of any order.

    Half of the links have no mass, a third of the joints follow another one, which may follow a third, on any
    branch; axes and placements are simple ones or oblique.
    """
    random = Random(seed)
    names = ["base"]
    parts = [link("base")]
    joints: list[str] = []
    for k in range(1, random.randint(2, 6) + 1):
        mass = random.uniform(0.1, 3)
        a, b, c = (random.uniform(0.01, 0.1) for _ in range(3))
        inertia = (
            f'<inertial><origin xyz="{random.choice(PLACES)}"/><mass value="{mass!r}"/>'
            f'<inertia ixx="{a + b!r}" iyy="{b + c!r}" izz="{c + a!r}" ixy="0" ixz="0" iyz="0"/></inertial>'
        )
        parts.append(link(f"l{k}", inertia if random.random() < 0.5 else ""))
        follow = ""
        if joints and random.random() < 0.35:
            multiplier, offset = random.choice((1.0, -2.3, 0.5)), random.choice((0.0, -0.7))
            leader = random.choice(joints)
            follow = f'<mimic joint="{leader}" multiplier="{multiplier!r}" offset="{offset!r}"/>'
        inside = f'<axis xyz="{random.choice(AXES)}"/>{LIMIT}{follow}'
        kind = random.choice(("revolute", "continuous", "prismatic"))
        place, turn = random.choice(PLACES), random.choice(TURNS)
        parts.append(joint(f"j{k}", random.choice(names), f"l{k}", kind, inside, place, turn))
        names.append(f"l{k}")
        joints.append(f"j{k}")
    random.shuffle(parts)
    return robot(*parts), random.choice(names[1:])
