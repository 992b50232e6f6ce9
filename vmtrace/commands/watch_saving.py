"""The last packets of a stream as a capture with its report, whenever somebody asks for them."""

import subprocess
import sys
import time
from pathlib import Path

from vmtrace.analyze.read.atomic import make_folder, writing
from vmtrace.analyze.reports.live.stream import Stream
from vmtrace.errors import complain


class Saving:
    """Writes `watch-DATE-TIME.pcapng`, and beside it the report, which a process of its own makes."""

    def __init__(self, stream: Stream, folder: Path | None) -> None:
        self._stream, self._folder = stream, folder or Path()
        self._reports: dict[Path, subprocess.Popen[bytes]] = {}
        self.last = ""
        """What was saved last."""

    def save(self) -> None:
        """Save now. What is wrong is said, and nothing ends by it."""
        packets = self._stream.last_packets()
        if not packets:
            complain("nothing to save yet")
            return
        capture = self._folder / time.strftime("watch-%Y%m%d-%H%M%S.pcapng")
        try:
            make_folder(self._folder)
            with writing(capture) as out:
                out.write(packets)
        except OSError as error:
            complain(f"{capture}: {error.strerror or error}")
            return
        report = capture.with_suffix(".html")
        command = [sys.executable, "-m", "vmtrace", "analyze", str(capture), "--report", str(report), "--quiet"]
        self._reports[capture] = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
        self.last = f"saved {capture}"

    def look(self) -> None:
        """Whether reports are there."""
        for capture, process in list(self._reports.items()):
            if process.poll() is not None:
                del self._reports[capture]
                self.last = f"saved {capture} and its report"
                complain(self.last if process.returncode == 0 else f"saved {capture}, but its report failed")

    def finish(self) -> None:
        """Wait for reports that are being made."""
        for process in self._reports.values():
            process.wait()
        self.look()
