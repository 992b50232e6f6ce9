"""When the engine's verdict on a transfer is left open (docs/verdict.md)."""

LEAST_CONFIDENCE = 0.6
"""The engine's `verdict::LEAST_CONFIDENCE`; a test compares them."""


def is_open(confidence: float | None) -> bool:
    """True if a verdict of this confidence names candidates and decides nothing."""
    return (confidence or 0.0) < LEAST_CONFIDENCE
