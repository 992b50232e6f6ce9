"""What runs against all services are asked alike."""

import dataclasses

from vmtrace.providers.order import Order, ServiceOrder
from vmtrace.providers.queues.order import QueueOrder


def test_orders_of_objects_and_messages_have_the_same_defaults_for_what_they_share() -> None:
    shared = {one.name: one.default for one in dataclasses.fields(ServiceOrder)}
    for kind in (Order, QueueOrder):
        defaults = {one.name: one.default for one in dataclasses.fields(kind)}
        assert {name: defaults[name] for name in shared} == shared
    assert shared["capture"] is True
