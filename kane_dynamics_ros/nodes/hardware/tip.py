"""Where the tip of an elastic arm is, and where its joints alone would put it, as messages."""

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, PoseStamped, Quaternion
from rclpy.node import Node
from scipy.spatial.transform import Rotation

from kane_dynamics_ros.elastic.statics import Pose
from kane_dynamics_ros.simulation.elastic_plant import ElasticPlant


class TipPoses:
    """Publishes ``~/tip_pose`` and ``~/rigid_tip_pose`` of an elastic arm, in the root link's frame."""

    def __init__(self, node: Node, engine: ElasticPlant, root: str) -> None:
        self._engine, self._root = engine, root
        self._true = node.create_publisher(PoseStamped, "~/tip_pose", 10)
        self._rigid = node.create_publisher(PoseStamped, "~/rigid_tip_pose", 10)

    def publish(self, stamp: Time) -> None:
        """Both poses at ``stamp``, that of the joint states beside them."""
        self._true.publish(pose_message(self._engine.tip, stamp, self._root))
        self._rigid.publish(pose_message(self._engine.rigid_tip, stamp, self._root))


def pose_message(pose: Pose, stamp: Time, frame: str) -> PoseStamped:
    """The pose [m, quaternion] of a frame in ``frame``."""
    message = PoseStamped()
    message.header.stamp, message.header.frame_id = stamp, frame
    message.pose.position = Point(**dict(zip("xyz", map(float, pose.p), strict=True)))
    quaternion = Rotation.from_matrix(np.asarray(pose.R)).as_quat()
    message.pose.orientation = Quaternion(**dict(zip("xyzw", map(float, quaternion), strict=True)))
    return message
