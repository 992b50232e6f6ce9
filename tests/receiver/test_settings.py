from pathlib import Path

from vmtrace.receiver.settings import ReceiverSettings


def test_the_defaults_let_the_largest_transfer_of_one_sender_in() -> None:
    settings = ReceiverSettings(Path())
    assert settings.admission.unproven > 2 * settings.limits.streams
    assert settings.limits.transfer_bytes <= settings.limits.session_bytes
    assert settings.limits.transfer_s <= settings.limits.session_s
    assert settings.admission.introduction_s <= 10
