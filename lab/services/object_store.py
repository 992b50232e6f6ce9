"""A small S3 server over a folder that can misbehave: for tests and measurements of reading and writing objects.

Buckets are folders, objects are files. It does ranges, conditions, lists in pages and uploads in parts; signatures are
not checked. `Faults` says what goes wrong; every request is logged, so that a test can count them.
"""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape, unescape


@dataclass(slots=True)
class Faults:
    """What goes wrong; each number counts requests of its kind, and 0 is never."""

    unavailable_every: int = 0
    """Of all requests every so many is answered with 503."""
    cut_every: int = 0
    """Of the bodies every so many ends in its middle, and so does the connection."""
    slow_s: float = 0
    """Each response waits so long."""
    page_keys: int = 1000
    """Keys in a page of a list."""
    denied: bool = False
    """All is answered with 403."""
    elsewhere: bool = False
    """All is answered as by a bucket in another region."""


@dataclass(slots=True)
class Request:
    """One request as it came."""

    method: str
    key: str
    range: str | None
    status: int = 0


@dataclass(slots=True)
class ObjectStore:
    """A running server."""

    endpoint_url: str
    folder: Path
    faults: Faults
    requests: list[Request] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def environment(self) -> dict[str, str]:
        """What clients need to find it; the key is worth nothing."""
        names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_ENDPOINT_URL")
        return dict(zip(names, ("lab-access-key", "lab-secret-key", "us-east-1", self.endpoint_url), strict=True))

    def put(self, bucket: str, key: str, content: bytes) -> None:
        """An object as if it had been uploaded."""
        path = self.folder / bucket / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def every(self, kind: str, period: int) -> bool:
        """Count one of a kind; true for each that is due."""
        with self.lock:
            self.counts[kind] += 1
            return period > 0 and self.counts[kind] % period == 0


@contextmanager
def started(folder: Path, faults: Faults | None = None, port: int = 0) -> Iterator[ObjectStore]:
    """A server over `folder`, in threads of this process, while the block lasts."""
    server = _Server(("127.0.0.1", port), _Handler)
    store = ObjectStore(f"http://127.0.0.1:{server.server_address[1]}", folder, faults or Faults())
    server.store = store
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield store
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    store: ObjectStore

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is no error of the server."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Nothing: requests are kept in `ObjectStore.requests`."""

    def do_GET(self) -> None:
        self._answer(self._get)

    def do_HEAD(self) -> None:
        self._answer(self._get)

    def do_PUT(self) -> None:
        self._answer(self._put)

    def do_POST(self) -> None:
        self._answer(self._post)

    def do_DELETE(self) -> None:
        self._answer(self._delete)

    def _answer(self, work: object) -> None:
        store = self.server.store
        url = urlsplit(self.path)
        self.key = unquote(url.path).lstrip("/")
        self.query = {name: values[0] for name, values in parse_qs(url.query, keep_blank_values=True).items()}
        length = int(self.headers.get("Content-Length") or 0)
        self.body = self.rfile.read(length)
        self.entry = Request(self.command, self.key, self.headers.get("Range"))
        with store.lock:
            store.requests.append(self.entry)
        time.sleep(store.faults.slow_s)
        if store.every("request", store.faults.unavailable_every):
            self._send(503, _error("SlowDown", "Reduce your request rate."))
        elif store.faults.denied:
            self._send(403, _error("AccessDenied", "Access Denied"))
        elif store.faults.elsewhere:
            self._send(301, _error("PermanentRedirect", "The bucket is in another region."))
        elif callable(work):
            work()

    def _path(self) -> Path | None:
        """The file of the key; none if that leads out of the folder."""
        path = (self.server.store.folder / self.key).resolve()
        return path if path.is_relative_to(self.server.store.folder.resolve()) else None

    def _get(self) -> None:
        bucket, _, key = self.key.partition("/")
        if not (self.server.store.folder / bucket).is_dir():
            self._send(404, _error("NoSuchBucket", "The specified bucket does not exist"))
        elif not key:
            self._list(bucket)
        else:
            self._object()

    def _object(self) -> None:
        path = self._path()
        if path is None or not path.is_file():
            return self._send(404, _error("NoSuchKey", "The specified key does not exist."))
        tag, size = etag(path), path.stat().st_size
        if self.headers.get("If-Match", tag) != tag:
            return self._send(412, _error("PreconditionFailed", "At least one of the conditions did not hold"))
        start, end, status = 0, size, 200
        if wanted := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or ""):
            start, status = int(wanted[1]), 206
            end = min(int(wanted[2]) + 1 if wanted[2] else size, size)
        self.entry.status = status
        self.send_response(status)
        self.send_header("Content-Length", str(end - start))
        self.send_header("ETag", tag)
        self.send_header("Last-Modified", self.date_time_string(int(path.stat().st_mtime)))
        if status == 206:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{size}")
        self.end_headers()
        if self.command == "GET":
            self._send_range(path, start, end)
        return None

    def _send_range(self, path: Path, start: int, end: int) -> None:
        store = self.server.store
        if store.every("body", store.faults.cut_every):
            end, self.close_connection = start + (end - start) // 2, True
        with path.open("rb") as file:
            self.wfile.flush()
            sent = 0
            while sent < end - start:
                count = self.connection.sendfile(file, start + sent, end - start - sent)
                if not count:
                    break
                sent += count

    def _list(self, bucket: str) -> None:
        store = self.server.store
        folder = store.folder / bucket
        prefix, after = self.query.get("prefix", ""), self.query.get("continuation-token", "")
        keys = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
        keys = [key for key in keys if key.startswith(prefix) and key > after]
        page, more = keys[: store.faults.page_keys], len(keys) > store.faults.page_keys
        found = "".join(_listed(key, folder / key) for key in page)
        token = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if more else ""
        text = f"<IsTruncated>{str(more).lower()}</IsTruncated>{token}<KeyCount>{len(page)}</KeyCount>{found}"
        self._send(200, f"<ListBucketResult><Name>{bucket}</Name>{text}</ListBucketResult>".encode())

    def _put(self) -> None:
        path = self._path()
        if path is None or not (self.server.store.folder / self.key.partition("/")[0]).is_dir():
            return self._send(404, _error("NoSuchBucket", "The specified bucket does not exist"))
        if "partNumber" in self.query:
            path = self._part(int(self.query["partNumber"]))
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_name(f".{path.name}.{threading.get_ident()}")
        aside.write_bytes(self.body)
        aside.replace(path)
        return self._send(200, b"", {"ETag": etag(path)})

    def _part(self, number: int) -> Path:
        return self.server.store.folder / ".parts" / self.query["uploadId"] / f"{number:05}"

    def _post(self) -> None:
        if "uploads" in self.query:
            upload = hashlib.sha256(f"{self.key}{time.monotonic_ns()}".encode()).hexdigest()[:16]
            text = f"<UploadId>{upload}</UploadId>"
            return self._send(200, f"<InitiateMultipartUploadResult>{text}</InitiateMultipartUploadResult>".encode())
        if "delete" in self.query:
            return self._delete_several()
        path = self._path()
        parts = sorted(self._part(0).parent.glob("*")) if "uploadId" in self.query else []
        if path is None or not parts:
            return self._send(404, _error("NoSuchUpload", "The specified upload does not exist."))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(part.read_bytes() for part in parts))
        return self._send(
            200,
            f"<CompleteMultipartUploadResult><ETag>{escape(etag(path))}</ETag></CompleteMultipartUploadResult>".encode(),
        )

    def _delete_several(self) -> None:
        keys = re.findall(r"<Key>(.*?)</Key>", self.body.decode())
        for key in keys:
            (self.server.store.folder / self.key / unescape(key)).unlink(missing_ok=True)
        deleted = "".join(f"<Deleted><Key>{key}</Key></Deleted>" for key in keys)
        self._send(200, f"<DeleteResult>{deleted}</DeleteResult>".encode())

    def _delete(self) -> None:
        path = self._path()
        if path is not None and path.is_file():
            path.unlink()
        self._send(204, b"")

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.entry.status = status
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def etag(path: Path) -> str:
    """What changes when the content does: a digest of its size and time would miss a change within one tick."""
    state = path.stat()
    return f'"{hashlib.md5(f"{state.st_size}-{state.st_mtime_ns}-{state.st_ino}".encode()).hexdigest()}"'


def _listed(key: str, path: Path) -> str:
    state = path.stat()
    when = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(state.st_mtime))
    tag = escape(etag(path), {'"': "&quot;"})
    facts = f"<LastModified>{when}</LastModified><ETag>{tag}</ETag><Size>{state.st_size}</Size>"
    return f"<Contents><Key>{escape(key)}</Key>{facts}</Contents>"


def _error(code: str, message: str) -> bytes:
    return f"<Error><Code>{code}</Code><Message>{message}</Message></Error>".encode()


def main() -> None:
    """Serve a folder until the process ends: `python -m vmtrace.lab.services.object_store FOLDER PORT`."""
    import sys

    with started(Path(sys.argv[1]), port=int(sys.argv[2])) as store:
        sys.stdout.write(f"{store.endpoint_url}\n")
        sys.stdout.flush()
        threading.Event().wait()


if __name__ == "__main__":
    main()
