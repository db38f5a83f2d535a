"""A stand-in for an rclpy node: what is published is kept, and nothing goes over the wire."""

from types import SimpleNamespace


class Topic:
    """A publisher that somebody listens to, or nobody; ``messages`` in order."""

    def __init__(self):
        self.subscribers, self.messages = 1, []

    def get_subscription_count(self):
        return self.subscribers

    def publish(self, message):
        self.messages.append(message)


class StandInNode:
    """``topics`` by name, ``services`` by name, and what is logged in ``warnings``."""

    def __init__(self):
        self.topics, self.services, self.warnings = {}, {}, []

    def create_publisher(self, kind, topic, qos):
        return self.topics.setdefault(topic, Topic())

    def create_service(self, kind, name, serve):
        self.services[name] = serve

    def get_logger(self):
        return SimpleNamespace(warning=lambda text, **_: self.warnings.append(text))
