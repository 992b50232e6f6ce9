"""A server for the time of a block."""

import sys

import pytest

from bench.measure import ProgramError
from bench.serving import RECEIVER_READY, serving


def server(code: str) -> list[str]:
    return [sys.executable, "-u", "-c", code]


def test_a_server_is_there_from_its_word_to_the_end_of_the_block() -> None:
    code = "import time; print('starting'); print('listening on 127.0.0.1:5810'); time.sleep(60)"
    with serving(server(code), RECEIVER_READY) as (process, port):
        assert port == "5810"
        assert process.poll() is None
    assert process.returncode is not None


def test_a_server_that_does_not_start_says_why() -> None:
    code = "import sys; sys.exit('no such interface')"
    with pytest.raises(ProgramError, match="no such interface"), serving(server(code), RECEIVER_READY):
        pass
