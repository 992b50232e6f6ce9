from pathlib import Path

from vmtrace.receiver.command import _limits
from vmtrace.receiver.settings import AdmissionLimits, ReceiverSettings


def test_the_defaults_let_the_largest_transfer_of_one_sender_in() -> None:
    settings = ReceiverSettings(Path())
    assert settings.admission.unproven > 2 * settings.limits.streams
    assert settings.limits.transfer_bytes <= settings.limits.session_bytes
    assert settings.limits.transfer_s <= settings.limits.session_s
    assert settings.admission.introduction_s <= 10


def test_the_defaults_are_those_of_the_document() -> None:
    said = (Path(__file__).parents[2] / "docs/security.md").read_text()
    unproven = AdmissionLimits()
    for part in (
        *(f"\n| `{option.flag}` | {option.default} |" for option in _limits()),
        f"for {unproven.introduction_s:g} s at most",
        f": {unproven.unproven_of_address} of one origin, {unproven.unproven} in all",
        f"try {unproven.wrong_keys}, then wait a minute",
        f"; {unproven.connection_burst} at a time are free",
    ):
        assert part in said
    assert unproven.wrong_key_pause_s == 60
