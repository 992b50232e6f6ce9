"""The v3 token API of OpenStack's identity service (Keystone), as little of it as a login needs, before a real Swift.

No Keystone: a stand-in of a few lines that speaks HTTP over TLS as Keystone 30 does to python-swiftclient. It has one
user in one project, and answers a right login with a token that Swift's own TempAuth gave, and a catalog in which that
Swift stands with one region.
"""

from __future__ import annotations

import json
import ssl
import threading
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from vmtrace.lab.services.certificates import Certificates
from vmtrace.lab.services.service import Service as Server

USER, PASSWORD, PROJECT, DOMAIN, REGION = "tester", "testing", "box", "Default", "RegionOne"
_REFUSED = {"code": 401, "title": "Unauthorized", "message": "The request you have made requires authentication."}
_VERSION = {"id": "v3.14", "status": "stable", "updated": "2020-04-07T00:00:00Z"}


@contextmanager
def started(swift: Server, certificates: Certificates) -> Iterator[dict[str, str]]:
    """Serve while the block lasts; gives what the SDK reads to log in."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            links = [{"rel": "self", "href": f"{url}/v3/"}]
            found = self.path.rstrip("/") == "/v3"
            self._answer(200 if found else 404, {"version": {**_VERSION, "links": links}} if found else {})

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path != "/v3/auth/tokens":
                self._answer(404, {})
            elif not _is_right(asked["auth"]):
                self._answer(401, {"error": _REFUSED})
            else:
                storage_url, token = _tempauth(swift)
                self._answer(201, {"token": _token(storage_url)}, {"X-Subject-Token": token})

        def _answer(self, status: int, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> None:
            content = json.dumps(body).encode()
            self.send_response(status)
            for name, value in {**(headers or {}), "Content-Type": "application/json"}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.chain_path, certificates.key_path)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    url = f"https://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield {
            "OS_AUTH_URL": f"{url}/v3",
            "OS_IDENTITY_API_VERSION": "3",
            "OS_USERNAME": USER,
            "OS_PASSWORD": PASSWORD,
            "OS_PROJECT_NAME": PROJECT,
            "OS_USER_DOMAIN_NAME": DOMAIN,
            "OS_PROJECT_DOMAIN_NAME": DOMAIN,
            "OS_CACERT": str(certificates.ca_path),
        }
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _is_right(auth: Mapping[str, Any]) -> bool:
    """Keystone answers a wrong user, password or project alike."""
    user = auth["identity"].get("password", {}).get("user", {})
    project = auth.get("scope", {}).get("project", {})
    domain = {"name": DOMAIN}
    right_user = {"name": USER, "password": PASSWORD, "domain": domain}
    return bool(user == right_user and project == {"name": PROJECT, "domain": domain})


def _token(storage_url: str) -> dict[str, Any]:
    endpoints = [
        {"id": name, "interface": name, "region": REGION, "region_id": REGION, "url": storage_url}
        for name in ("public", "internal")
    ]
    domain = {"id": "default", "name": DOMAIN}
    return {
        "methods": ["password"],
        "user": {"id": "u1", "name": USER, "domain": domain},
        "project": {"id": "p1", "name": PROJECT, "domain": domain},
        "roles": [{"id": "r1", "name": "member"}],
        "issued_at": "2026-01-01T00:00:00.000000Z",
        "expires_at": "2099-01-01T00:00:00.000000Z",
        "audit_ids": ["a1"],
        "catalog": [{"id": "s1", "name": "swift", "type": "object-store", "endpoints": endpoints}],
    }


def _tempauth(swift: Server) -> tuple[str, str]:
    said = swift.environment
    request = urllib.request.Request(
        said["ST_AUTH"], headers={"X-Auth-User": said["ST_USER"], "X-Auth-Key": said["ST_KEY"]}
    )
    with urllib.request.urlopen(request, context=ssl.create_default_context(cafile=swift.ca_path)) as answer:
        return answer.headers["X-Storage-Url"], answer.headers["X-Auth-Token"]
