"""Which vmtrace this is, under the name that both programs use; an agent carries its version in itself."""

from vmtrace.formats.provenance import vmtrace_version

__all__ = ["vmtrace_version"]
