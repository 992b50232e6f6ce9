"""The protocol between `sender` and `receiver`, for both of them. docs/protocol.md is its specification."""
