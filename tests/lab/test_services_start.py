"""Servers come up or say why not, and none outlives whoever started it."""

import signal
import socket
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from tests.eventually import eventually
from vmtrace.lab.hosts import module_environment
from vmtrace.lab.services import accepted, azurite, certificates, moto, process
from vmtrace.lab.services.certificates import Certificates, KeyKind
from vmtrace.lab.services.service import Place

OWNER = """
import sys, time
from pathlib import Path
from vmtrace.lab.services import certificates, moto
with moto.started(certificates.make(Path(sys.argv[1]))) as service:
    print(service.port, service.process_id, flush=True)
    time.sleep(600)
"""


def alive(process_id: int) -> bool:
    stat = Path(f"/proc/{process_id}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_server_that_ends_at_once_is_an_error_with_its_last_words(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "import sys; sys.exit('no such disk')"]
    command = process.Command("storage", words, {}, tmp_path / "log", lambda: False)
    ended = pytest.raises(process.ServiceError, match="storage ended with status 1: no such disk")
    with ended, process.serving(command):
        pytest.fail("it is not running")


def test_a_server_that_never_answers_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_READY_WITHIN_S", 0.5)
    words = [sys.executable, "-c", "print('thinking', flush=True); import time; time.sleep(60)"]
    command = process.Command("storage", words, {}, tmp_path / "log", lambda: False)
    silent = pytest.raises(process.ServiceError, match="storage does not answer after")
    with silent, process.serving(command):
        pytest.fail("it does not listen")


def test_a_server_is_gone_after_its_block_even_when_the_block_fails(chain: Certificates) -> None:
    starting = moto.started(chain)
    service = starting.__enter__()
    folder = service.log_path.parent
    assert alive(service.process_id)
    assert folder.exists()
    assert service.connections_accepted() == 0  # the starter's probes are not counted
    socket.create_connection((service.address, service.port)).close()
    assert eventually(lambda: service.connections_accepted() == 1, within_s=20)  # before any TLS
    failure = ZeroDivisionError()
    assert not starting.__exit__(type(failure), failure, None)
    assert not alive(service.process_id)
    assert not folder.exists()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((service.address, service.port), 5).close()


def test_a_server_is_gone_when_whoever_started_it_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OWNER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=module_environment()) as owner:
        assert owner.stdout is not None
        port, server = map(int, owner.stdout.readline().split())
        assert alive(server)
        owner.send_signal(signal.SIGKILL)
    assert eventually(lambda: not alive(server), within_s=20)

    def refused() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) != 0

    assert eventually(refused, within_s=20)  # gunicorn's worker too


def test_azurite_that_is_not_installed_says_how_to_install_it(
    chain: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(azurite.FOLDER_VARIABLE, str(tmp_path))
    with pytest.raises(process.ServiceError, match="Azurite"), azurite.started(chain):
        pytest.fail("it is not there")


@pytest.mark.parametrize("kind", KeyKind)
def test_a_chain_has_an_intermediate_and_verifies_for_its_names(tmp_path: Path, kind: KeyKind) -> None:
    made = certificates.make(tmp_path, kind, ["s3.lab.test"])
    assert made.chain_path.read_text().count("BEGIN CERTIFICATE") == 2
    server, client = ssl.MemoryBIO(), ssl.MemoryBIO()
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(made.chain_path, made.key_path)
    trust = ssl.create_default_context(cafile=str(made.ca_path))
    ends = [
        trust.wrap_bio(server, client, server_hostname="s3.lab.test"),
        serving.wrap_bio(client, server, server_side=True),
    ]
    for _ in range(4):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
    assert ends[0].version() == "TLSv1.3"


def test_an_rsa_chain_is_longer_on_the_wire_than_an_ecdsa_chain(tmp_path: Path) -> None:
    lengths = {kind: certificates.make(tmp_path / kind, kind).chain_path.stat().st_size for kind in KeyKind}
    assert lengths[KeyKind.RSA] > 1.5 * lengths[KeyKind.ECDSA]


def test_a_half_written_line_of_the_accept_log_is_not_yet_a_connection(tmp_path: Path) -> None:
    path = tmp_path / "accepted.log"
    assert accepted.read(path) == []
    path.write_text("5 127.0.0.1 4000\n6 127.0.0.1 40")
    assert accepted.read(path) == [accepted.AcceptedConnection(5, "127.0.0.1", 4000)]


def test_an_endpoint_has_no_port_where_https_implies_it() -> None:
    assert Place("198.18.2.11", host_name="s3.lab.test").url(443) == "https://s3.lab.test"
    assert Place().url(8443) == "https://127.0.0.1:8443"
