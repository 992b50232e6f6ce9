"""The folder of a discovery run (docs/discovery.md): files of lines that are whole at every moment, and `run.json`."""

from typing import ClassVar

from vmtrace.formats.schemas import DISCOVERY_RUN
from vmtrace.providers.run_folder import RunFolder


class DiscoveryFolder(RunFolder):
    """One run's folder, open for writing."""

    schema: ClassVar[str] = DISCOVERY_RUN
    lines: ClassVar[tuple[str, ...]] = ("answers", "certificates", "round_trips", "traces", "reverse_names")
