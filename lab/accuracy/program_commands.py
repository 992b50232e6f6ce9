"""Programs of the world as the lab starts them: command lines, and the files that they are configured with.

Each is told where to listen or whom to ask by `Ends`. What they are told beyond that, and what follows from it, is
`program_transfers`' affair.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

FILE = "file.bin"
HTTP_PORT, HTTPS_PORT, IPERF_PORT, RSYNC_PORT, SSH_PORT = 80, 443, 5201, 8730, 2222
_SYSTEM_FOLDERS = "/usr/sbin:/sbin"


@dataclass(frozen=True, slots=True)
class Ends:
    """Where a transfer happens: the run's folder, which both hosts see, and the address of the server."""

    folder: Path
    server: str

    @property
    def url_host(self) -> str:
        """The server's address as a URL has it."""
        return f"[{self.server}]" if ":" in self.server else self.server


@dataclass(frozen=True, slots=True)
class Program:
    """One end's program: what must be installed for it, its command line, and (a server) the port it listens on."""

    needs: tuple[str, ...]
    command: Callable[[Ends], list[str]]
    port: int = 0


def found(name: str) -> str | None:
    """Where a program is, also one that only the administrator's path has."""
    return shutil.which(name) or shutil.which(name, path=_SYSTEM_FOLDERS)


def missing(*programs: Program) -> list[str]:
    """What is not installed of what they need."""
    return sorted({need for program in programs for need in program.needs if found(need) is None})


_NGINX = """daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/nginx.log; events {{}}
http {{ access_log off; sendfile {sendfile};
client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
server {{ listen {address}:{port}{listen}; root {folder}; {tls} location / {{ {location} }} }} }}
"""


def nginx(location: str = "", *, sendfile: bool = True) -> Program:
    """Serves the folder; `location` is what its only location is told, e.g. `limit_rate 500k;`."""
    return Program(("nginx",), lambda ends: _nginx(ends, location, "", sendfile), HTTP_PORT)


def nginx_tls(location: str = "", *, http2: bool = False) -> Program:
    """The same over TLS, with a certificate of its own making."""
    return Program(
        ("nginx", "openssl"), lambda ends: _nginx(ends, location, " ssl http2" if http2 else " ssl", True), HTTPS_PORT
    )


def _nginx(ends: Ends, location: str, listen: str, sendfile: bool) -> list[str]:
    configuration = ends.folder / "nginx.conf"
    text = _NGINX.format(
        folder=ends.folder,
        sendfile="on" if sendfile else "off",
        address=ends.url_host,
        port=HTTPS_PORT if listen else HTTP_PORT,
        listen=listen,
        tls=_certificate(ends.folder) if listen else "",
        location=location,
    )
    configuration.write_text(text)
    return [found("nginx") or "nginx", "-c", str(configuration), "-p", str(ends.folder)]


def _certificate(folder: Path) -> str:
    key, certificate = folder / "server.key", folder / "server.crt"
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    words += ["-subj", "/CN=lab", "-days", "1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(words, check=True, capture_output=True)
    return f"ssl_certificate {certificate}; ssl_certificate_key {key};"


def python_http() -> Program:
    """Python's `http.server`, serving the folder."""
    return Program(
        (),
        lambda ends: [
            sys.executable, "-m", "http.server", str(HTTP_PORT), "--bind", ends.server, "--directory", str(ends.folder)
        ],
        HTTP_PORT,
    )  # fmt: skip


def slow_server(*words: str) -> Program:
    """`vmtrace.lab.accuracy.program_servers` with these options."""
    module = "vmtrace.lab.accuracy.program_servers"
    return Program((), lambda ends: [sys.executable, "-m", module, ends.server, str(HTTP_PORT), *words], HTTP_PORT)


def curl(*words: str, path: str = FILE, tls: bool = False) -> Program:
    """Fetches; `path` may have curl's patterns such as `x?[1-80]`."""
    scheme = "https" if tls else "http"
    return Program(
        ("curl",), lambda ends: ["curl", "-skS", "-o", "/dev/null", *words, f"{scheme}://{ends.url_host}/{path}"]
    )


def curl_upload() -> Program:
    """Uploads the file by PUT."""
    return Program(
        ("curl",), lambda ends: ["curl", "-sS", "-T", str(ends.folder / FILE), f"http://{ends.url_host}/{FILE}"]
    )


def wget(*words: str) -> Program:
    """Fetches the file."""
    return Program(("wget",), lambda ends: ["wget", "-q", "-O", "/dev/null", *words, f"http://{ends.url_host}/{FILE}"])


def iperf_server() -> Program:
    """Serves one test."""
    return Program(("iperf3",), lambda ends: ["iperf3", "-s", "-1", "-B", ends.server], IPERF_PORT)


def iperf(*words: str) -> Program:
    """Runs a test."""
    return Program(("iperf3",), lambda ends: ["iperf3", "-c", ends.server, *words])


def rsync_daemon() -> Program:
    """Serves the folder as module `lab`."""
    return Program(("rsync",), _rsync_daemon, RSYNC_PORT)


def _rsync_daemon(ends: Ends) -> list[str]:
    configuration = ends.folder / "rsyncd.conf"
    lines = [f"port = {RSYNC_PORT}", f"address = {ends.server}", "use chroot = no", "uid = 0", "gid = 0", "[lab]"]
    configuration.write_text("\n".join([*lines, f"path = {ends.folder}", ""]))
    return ["rsync", "--daemon", "--no-detach", "--config", str(configuration)]


def rsync(*words: str) -> Program:
    """Fetches the file from the daemon."""
    return Program(
        ("rsync",),
        lambda ends: [
            "rsync", *words, f"rsync://{ends.url_host}:{RSYNC_PORT}/lab/{FILE}", str(ends.folder / "copy.bin")
        ],
    )  # fmt: skip


def sshd() -> Program:
    """Lets in whoever has the key of the run."""
    return Program(("sshd", "ssh-keygen"), _sshd, SSH_PORT)


def _sshd(ends: Ends) -> list[str]:
    for name in ("host_key", "user_key"):
        key = ends.folder / name
        key.unlink(missing_ok=True)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    Path("/run/sshd").mkdir(exist_ok=True)
    options = {
        "ListenAddress": f"{ends.url_host}:{SSH_PORT}",
        "HostKey": ends.folder / "host_key",
        "AuthorizedKeysFile": ends.folder / "user_key.pub",
        "StrictModes": "no",
        "UsePAM": "no",
        "PidFile": "none",
        "PermitRootLogin": "prohibit-password",
        "Subsystem": "sftp internal-sftp",
    }
    words = [found("sshd") or "sshd", "-D", "-e", "-f", "/dev/null"]
    return words + [word for name, value in options.items() for word in ("-o", f"{name}={value}")]


def ssh_options(ends: Ends) -> list[str]:
    """Words with which every client of ssh gets in without a question."""
    settings = ("BatchMode=yes", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR")
    chosen = [word for setting in settings for word in ("-o", setting)]
    return ["-F", "/dev/null", "-i", str(ends.folder / "user_key"), *chosen]


def ssh_pipe() -> Program:
    """Sends the file into a command at the far end, as `tar | ssh` does."""

    def command(ends: Ends) -> list[str]:
        words = ["ssh", "-p", str(SSH_PORT), *ssh_options(ends), f"root@{ends.server}", "cat > /dev/null"]
        return ["sh", "-c", 'exec "$@" < "$0"', str(ends.folder / FILE), *words]

    return Program(("ssh",), command)


def scp(*words: str) -> Program:
    """Copies the file to the server."""
    return Program(
        ("scp",),
        lambda ends: [
            "scp", "-q", "-P", str(SSH_PORT), *ssh_options(ends), *words, str(ends.folder / FILE),
            f"root@{ends.url_host}:{ends.folder / 'copy.bin'}",
        ],
    )  # fmt: skip


def sftp_fetch() -> Program:
    """Fetches the file from the server."""
    return Program(
        ("sftp",),
        lambda ends: [
            "sftp", "-q", "-P", str(SSH_PORT), *ssh_options(ends), f"root@{ends.url_host}:{ends.folder / FILE}",
            str(ends.folder / "copy.bin"),
        ],
    )  # fmt: skip


def rsync_over_ssh(*words: str) -> Program:
    """Copies the file to the server through ssh."""

    def command(ends: Ends) -> list[str]:
        shell = " ".join(["ssh", "-p", str(SSH_PORT), *ssh_options(ends)])
        target = f"root@{ends.url_host}:{ends.folder / 'copy.bin'}"
        return ["rsync", "-W", "-e", shell, *words, str(ends.folder / FILE), target]

    return Program(("rsync", "ssh"), command)
