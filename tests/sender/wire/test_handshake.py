import secrets

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.sender.wire import handshake as hs
from vmtrace.sender.wire.errors import KeyRefused, ReceiverBusy, ReceiverRefused, VersionMismatch, WireError

KEY, OTHER = secrets.token_bytes(32), secrets.token_bytes(32)
SHOWN = secrets.token_bytes(32)


def test_both_sides_prove_the_key_to_each_other() -> None:
    hello = hs.new_hello()
    hs.check_hello(hello, "it")
    auth = hs.new_auth(KEY, hello, hs.CONTROL)
    assert hs.read_auth(auth).proves(KEY, hello)
    hs.check_accept(KEY, hello, auth, hs.new_accept(KEY, hello, auth), "it")
    assert hs.session_key(KEY, hello, auth, SHOWN) != hs.session_key(KEY, hs.new_hello(), auth, SHOWN)


def test_proof_and_session_are_of_one_certificate() -> None:
    hello = hs.new_hello()
    auth = hs.new_auth(KEY, hello, hs.CONTROL)
    accept = hs.new_accept(KEY, hello, auth, SHOWN)
    hs.check_accept(KEY, hello, auth, accept, "it", SHOWN)
    for other in (b"", secrets.token_bytes(32)):
        with pytest.raises(KeyRefused):
            hs.check_accept(KEY, hello, auth, accept, "it", other)
        assert hs.session_key(KEY, hello, auth, SHOWN) != hs.session_key(KEY, hello, auth, other)


def test_both_sides_put_fresh_random_bytes_into_every_connection() -> None:
    hello = hs.new_hello()
    nonces = {hs.new_auth(KEY, hello, hs.CONTROL)[16:48] for _ in range(50)}
    nonces |= {hs.new_hello()[16:48] for _ in range(50)}
    assert len(nonces) == 100
    assert bytes(32) not in nonces


def test_another_key_proves_nothing() -> None:
    hello = hs.new_hello()
    auth = hs.new_auth(OTHER, hello, hs.CONTROL)
    assert not hs.read_auth(auth).proves(KEY, hello)
    with pytest.raises(KeyRefused, match="does not have this key: give both ends the same key file"):
        hs.check_accept(KEY, hello, auth, hs.new_accept(OTHER, hello, auth), "it")


def test_a_recorded_answer_is_none_to_a_new_hello() -> None:
    recorded = hs.new_auth(KEY, hs.new_hello(), hs.CONTROL)
    assert not hs.read_auth(recorded).proves(KEY, hs.new_hello())


def test_neither_proof_can_be_reflected_as_the_other() -> None:
    hello = hs.new_hello()
    auth = hs.new_auth(KEY, hello, hs.CONTROL)
    reflected = hs.new_accept(OTHER, hello, auth)[:8] + auth[-32:]
    with pytest.raises(KeyRefused):
        hs.check_accept(KEY, hello, auth, reflected, "it")
    accept = hs.new_accept(KEY, hello, auth)
    assert not hs.read_auth(auth[:-32] + accept[-32:]).proves(KEY, hello)


@given(st.integers(0, hs.AUTH_BYTES * 8 - 1))
def test_every_bit_of_an_auth_is_proven(bit: int) -> None:
    hello = hs.new_hello()
    auth = bytearray(hs.new_auth(KEY, hello, hs.CONTROL))
    auth[bit // 8] ^= 1 << bit % 8
    try:
        assert not hs.read_auth(bytes(auth)).proves(KEY, hello)
    except ValueError:
        assert bit < 64  # the magic


@given(st.integers(0, hs.HELLO_BYTES * 8 - 1))
def test_every_bit_of_a_hello_is_proven(bit: int) -> None:
    hello = hs.new_hello()
    changed = bytearray(hello)
    changed[bit // 8] ^= 1 << bit % 8
    assert not hs.read_auth(hs.new_auth(KEY, bytes(changed), hs.CONTROL)).proves(KEY, hello)


@given(st.binary(max_size=2 * hs.AUTH_BYTES))
def test_any_bytes_are_an_auth_or_a_value_error(raw: bytes) -> None:
    try:
        introduction = hs.read_auth(raw)
    except ValueError:
        return
    assert not introduction.proves(KEY, hs.new_hello())


@given(st.binary(min_size=hs.HELLO_BYTES, max_size=hs.HELLO_BYTES))
def test_any_bytes_as_hello_are_no_receiver(hello: bytes) -> None:
    with pytest.raises(VersionMismatch, match="it is not a vmtrace receiver"):
        hs.check_hello(hello, "it")


@given(
    st.binary(min_size=hs.ACCEPT_BYTES, max_size=hs.ACCEPT_BYTES)
    | st.binary(min_size=36, max_size=36).map(b"VMTA".__add__)
)
def test_any_bytes_as_accept_are_refused(accept: bytes) -> None:
    hello = hs.new_hello()
    with pytest.raises(WireError):
        hs.check_accept(KEY, hello, hs.new_auth(KEY, hello, hs.CONTROL), accept, "it")


def test_another_version_is_named_on_both_sides() -> None:
    hello = hs.new_hello()
    newer = hello[:8] + b"\0\7" + hello[10:]
    with pytest.raises(
        VersionMismatch, match=r"has version 7 of the protocol, this vmtrace has version 2: install the same"
    ):
        hs.check_hello(newer, "it")
    refusal = hs.new_refusal(hs.REFUSED_VERSION)
    with pytest.raises(VersionMismatch, match="install the same vmtrace at both ends"):
        hs.check_accept(KEY, hello, hs.new_auth(KEY, hello, hs.CONTROL), refusal, "it")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (hs.REFUSED_KEY, KeyRefused),
        (hs.REFUSED_BUSY, ReceiverBusy),
        (hs.REFUSED_SUBJECT, ReceiverRefused),
        (99, ReceiverRefused),
    ],
)
def test_every_refusal_has_its_error(status: int, kind: type[WireError]) -> None:
    hello = hs.new_hello()
    with pytest.raises(kind):
        hs.check_accept(KEY, hello, hs.new_auth(KEY, hello, hs.CONTROL), hs.new_refusal(status), "it")


def test_the_bytes_on_the_wire_are_those_of_version_2() -> None:
    """Both ends of one build would agree on any others; those of two builds would not."""
    hello, subject = hs.new_hello(), bytes(range(32))
    assert (hello[:16], len(hello)) == (b"VMTRACE\0\0\2" + bytes(6), 48)
    for kind, number in ((hs.CONTROL, 1), (hs.DATA, 2)):
        auth = hs.new_auth(KEY, hello, kind, subject)
        assert auth[:16] == b"VMTRACE\0\0\2" + bytes([number]) + bytes(5)
        assert (auth[48:80], len(auth)) == (subject, 112)
    accept = hs.new_accept(KEY, hello, hs.new_auth(KEY, hello, hs.CONTROL))
    assert (accept[:8], len(accept)) == (b"VMTA\0\2\0\0", 40)
    assert hs.new_refusal(hs.REFUSED_BUSY) == b"VMTA\3\2\0\0" + bytes(32)
