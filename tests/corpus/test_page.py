"""The page over a corpus: what it shows, and that captures cannot write into it."""

from pathlib import Path

from tests.corpus.test_overview import overview, row
from vmtrace.corpus.page import page_of, write_page


def test_the_page_escapes_what_captures_say(tmp_path: Path) -> None:
    capture = {"unseen_acked_bytes": 1, "clock_steps": 1}
    inputs = [{"path": "<i>.pcap", "format": None, "packets": 5, "tcp_packets": 4, "damage": [1], "capture": capture}]
    found = overview(row(1, "loss_recovery", 4, client="<u>:1"))
    assert page_of(found, inputs, (), {}).facts == ("1 connection", "1 capture", "5 packets")
    write_page(found, inputs, (), {}, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "<b>" not in text.replace("</b>", "") or "&lt;b&gt;" in text
    assert "<i>.pcap" not in text
    assert "<u>" not in text
    assert "1 capture is damaged" in text
