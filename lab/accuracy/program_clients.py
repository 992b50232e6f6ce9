"""More programs of the world as the lab starts them: aria2c, h2load, sftp with few requests, PostgreSQL, boto3.

As `program_commands` has the common ones.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

from vmtrace.lab.accuracy.program_commands import FILE, SSH_PORT, Ends, Program, found, ssh_options

S3_PORT, POSTGRES_PORT = 5000, 5432
_POSTGRES_USER = "postgres"
_POSTGRES_FOLDERS = "/usr/lib/postgresql/*/bin"
ROW_BYTES = 1000
"""Of the rows that a COPY carries, with what the protocol puts around them."""


def aria2(*words: str) -> Program:
    """Fetches the file by HTTP."""
    return Program(
        ("aria2c",),
        lambda ends: [
            "aria2c", "-q", "--allow-overwrite=true", "--file-allocation=none", "-d", str(ends.folder), "-o",
            "copy.bin", *words, f"http://{ends.url_host}/{FILE}",
        ],
    )  # fmt: skip


def h2load(*words: str) -> Program:
    """Fetches the file by HTTP/2 as often as `words` say."""
    return Program(("h2load",), lambda ends: ["h2load", *words, f"https://{ends.url_host}/{FILE}"])


def sftp_of_few_requests(requests: int, block_bytes: int) -> Program:
    """Fetches the file with no more than so many requests outstanding, each for a block."""
    return Program(
        ("sftp",),
        lambda ends: [
            "sftp", "-q", "-R", str(requests), "-B", str(block_bytes), "-P", str(SSH_PORT), *ssh_options(ends),
            f"root@{ends.url_host}:{ends.folder / FILE}", str(ends.folder / "copy.bin"),
        ],
    )  # fmt: skip


def s3_server() -> Program:
    """moto's own server: S3 over HTTP."""
    return Program(
        (), lambda ends: [sys.executable, "-m", "moto.server", "-H", ends.server, "-p", str(S3_PORT)], S3_PORT
    )


def s3_upload(parallel: int) -> Program:
    """Uploads the file by boto3 in parts, so many at a time."""
    return Program(
        (),
        lambda ends: [
            sys.executable, "-m", "vmtrace.lab.accuracy.s3_upload", f"http://{ends.url_host}:{S3_PORT}",
            str(ends.folder / FILE), str(parallel),
        ],
    )  # fmt: skip


def postgres() -> Program:
    """A new PostgreSQL, which trusts everybody; it refuses to run as root."""
    return Program(("postgres", "psql", "setpriv"), _postgres, POSTGRES_PORT)


def _postgres(ends: Ends) -> list[str]:
    data = ends.folder / "postgres"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir()
    shutil.chown(data, _POSTGRES_USER)
    settings = {
        "listen_addresses": ends.server, "unix_socket_directories": "", "fsync": "off", "autovacuum": "off",
        "shared_buffers": "16MB", "max_wal_size": "4GB",
    }  # fmt: skip
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    as_user = ["setpriv", f"--reuid={_POSTGRES_USER}", f"--regid={_POSTGRES_USER}", "--clear-groups"]
    prepare = shlex.join([*as_user, postgres_program("initdb"), "-N", "-A", "trust", "-D", str(data)])
    allow = f"echo host all all all trust >> {shlex.quote(str(data / 'pg_hba.conf'))}"
    run = shlex.join([*as_user, postgres_program("postgres"), "-D", str(data), "-p", str(POSTGRES_PORT), *options])
    return ["sh", "-c", f"cd / && {prepare} && {allow} && exec {run}"]


def postgres_program(name: str) -> str:
    """Where a program of PostgreSQL is: Debian keeps the server's out of the path."""
    folders = sorted(Path("/").glob(_POSTGRES_FOLDERS.lstrip("/")))
    return found(name) or next((str(folder / name) for folder in folders if (folder / name).exists()), name)


def _psql(ends: Ends, *commands: str) -> list[str]:
    words = ["psql", "-q", "-h", ends.server, "-p", str(POSTGRES_PORT), "-U", _POSTGRES_USER, "-o", "/dev/null"]
    return words + [word for command in commands for word in ("-c", command)]


def copy_out(rows: int) -> Program:
    """COPY of so many rows to the client."""
    query = f"COPY (SELECT repeat('x', {ROW_BYTES - 6}) FROM generate_series(1, {rows})) TO STDOUT"
    return Program(("psql",), lambda ends: _psql(ends, query))


def copy_in(rows: int) -> Program:
    """COPY of so many rows to the server."""

    def command(ends: Ends) -> list[str]:
        words = _psql(ends, "CREATE UNLOGGED TABLE lab (line text)", "COPY lab FROM STDIN")
        line = "x" * (ROW_BYTES - 6)
        return ["sh", "-c", f"yes {line} | head -n {rows} | {shlex.join(words)}"]

    return Program(("psql",), command)
