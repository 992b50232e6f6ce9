"""A store that speaks as much of S3 as a campaign needs, and keeps nobody's time: it drips, lists for ever, or will not
delete.
"""

import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

_XML = '<?xml version="1.0"?>'


@dataclass
class HostileStore:
    """What it does to whom; objects by key."""

    drips_bodies: bool = False
    """Of objects: a byte a second."""
    drips_listings: bool = False
    endless_listing: bool = False
    """Every page says that another one follows; empty ones, which a client would follow for ever."""
    refuses_deletes: int = 0
    """Status of each request to delete objects."""
    deletes_only_first: bool = False
    """Of each request to delete many, with an error for every other."""
    objects: dict[str, bytes] = field(default_factory=dict)
    buckets: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    dripping: threading.Event = field(default_factory=threading.Event)
    """Set with the first byte that drips."""
    url: str = ""

    def environment(self) -> dict[str, str]:
        """What boto3 needs to find it."""
        return {
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": self.url,
            "AWS_EC2_METADATA_DISABLED": "true",
        }


@contextmanager
def started(store: HostileStore) -> Iterator[HostileStore]:
    """It listens on loopback, in threads of this process, while the block lasts."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.store = store
    store.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield store
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    store: HostileStore

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that had enough of it is what the tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Nothing: see `HostileStore.asked`."""

    def do_GET(self) -> None:
        store, (bucket, key), query = self.server.store, self._where(), self._query()
        if "uploads" in query:
            return self._say(f"{_XML}<ListMultipartUploadsResult></ListMultipartUploadsResult>")
        if key:
            return self._body(store.objects.get(f"{bucket}/{key}"), drips=store.drips_bodies)
        if bucket not in store.buckets:
            return self._say(f"{_XML}<Error><Code>NoSuchBucket</Code></Error>", 404)
        prefix = query.get("prefix", [""])[0]
        endless = store.endless_listing and not prefix.startswith("vmtrace-login")
        names = [name.partition("/")[2] for name in store.objects if name.startswith(f"{bucket}/{prefix}")]
        contents = "".join(f"<Contents><Key>{name}</Key><Size>1</Size></Contents>" for name in names)
        more = f"<NextContinuationToken>{time.time_ns()}</NextContinuationToken>" if endless else ""
        page = (
            f"{_XML}<ListBucketResult><IsTruncated>{str(endless).lower()}</IsTruncated>"
            f"<KeyCount>{len(names)}</KeyCount>{'' if endless else contents}{more}</ListBucketResult>"
        )
        drips = store.drips_listings and not prefix.startswith("vmtrace-login")
        return self._body(page.encode(), drips=drips)

    def do_HEAD(self) -> None:
        bucket, key = self._where()
        content = self.server.store.objects.get(f"{bucket}/{key}")
        self.send_response(404 if content is None else 200)
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()

    def do_PUT(self) -> None:
        store, (bucket, key), content = self.server.store, self._where(), self._content()
        if not key:
            store.buckets.add(bucket)
            return self._say("")
        store.objects[f"{bucket}/{key}"] = content
        return self._say("", etag=hashlib.md5(content).hexdigest())

    def do_POST(self) -> None:
        store, (bucket, _), content = self.server.store, self._where(), self._content()
        if store.refuses_deletes:
            return self._say(f"{_XML}<Error><Code>SlowDown</Code></Error>", store.refuses_deletes)
        names = [part.partition(b"</Key>")[0].decode() for part in content.split(b"<Key>")[1:]]
        gone = names[:1] if store.deletes_only_first else names
        for name in gone:
            store.objects.pop(f"{bucket}/{name}", None)
        errors = "".join(
            f"<Error><Key>{name}</Key><Code>AccessDenied</Code></Error>" for name in names if name not in gone
        )
        return self._say(f"{_XML}<DeleteResult>{errors}</DeleteResult>")

    def do_DELETE(self) -> None:
        self.server.store.buckets.discard(self._where()[0])
        self._say("", 204)

    def _where(self) -> tuple[str, str]:
        self.server.store.asked.append(f"{self.command} {self.path}")
        bucket, _, key = urlsplit(self.path).path.lstrip("/").partition("/")
        return bucket, key

    def _query(self) -> dict[str, list[str]]:
        return parse_qs(urlsplit(self.path).query, keep_blank_values=True)

    def _content(self) -> bytes:
        if self.headers.get("Expect", "").lower() == "100-continue":
            pass  # http.server has said that it may come
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if "aws-chunked" not in self.headers.get("Content-Encoding", ""):
            return body
        size, _, rest = body.partition(b"\r\n")
        return rest[: int(size.partition(b";")[0], 16)]

    def _say(self, text: str, status: int = 200, etag: str | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        if etag is not None:
            self.send_header("ETag", f'"{etag}"')
        self.end_headers()
        self.wfile.write(text.encode())

    def _body(self, content: bytes | None, *, drips: bool) -> None:
        if content is None:
            return self._say(f"{_XML}<Error><Code>NoSuchKey</Code></Error>", 404)
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", f'"{hashlib.md5(content).hexdigest()}"')
        self.end_headers()
        if not drips:
            self.wfile.write(content)
            return None
        for place in range(len(content)):
            self.wfile.write(content[place : place + 1])
            self.server.store.dripping.set()
            time.sleep(1)
        return None
