"""The protocol between `sender` and `receiver`, for both of them. docs/security.md is its specification."""
