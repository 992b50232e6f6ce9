"""The receiver over the wire: trouble of this side's address is trouble of the network."""

from __future__ import annotations

import pytest

from vmtrace.sender.far_side import OverTheWire
from vmtrace.sender.wire.endpoint import Endpoint
from vmtrace.sender.wire.errors import ReceiverGone


def test_a_receiver_that_is_not_there_may_come() -> None:
    with pytest.raises(ReceiverGone) as caught:
        OverTheWire(Endpoint("127.0.0.1", 1), b"k" * 32).connect()
    assert caught.value.may_help_to_retry


def test_an_address_of_our_own_that_is_gone_may_come_back() -> None:
    with pytest.raises(ReceiverGone, match=r"cannot send from 198\.18\.99\.99"):
        OverTheWire(Endpoint("127.0.0.1", 1, bind_address="198.18.99.99"), b"k" * 32).connect()
