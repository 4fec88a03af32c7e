"""A small schema registry that speaks Confluent's protocol over HTTP, for the real client to talk to."""

from __future__ import annotations

import base64
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from urllib.parse import unquote, urlsplit


class LocalRegistry:
    """A registry with ids, subjects and versions in memory, which listens on a free port within its `with` block.

    `requests` lists the requests, such as "GET /schemas/ids/1". Subjects in `refused` accept no new schema, as if none
    were compatible. With `credentials`, "user:password", it refuses all other users.
    """

    def __init__(self, credentials=None):
        self.credentials = credentials
        self.requests = []
        self.refused = set()
        self._schemas = []
        self._subjects = {}
        self._lock = Lock()

    def __enter__(self):
        handler = type("Handler", (_Handler,), {"registry": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        return self

    def __exit__(self, *raised):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def subjects(self):
        """The registered schemas of every subject, by version."""
        return {name: [self._schemas[i - 1] for i in ids] for name, ids in self._subjects.items()}

    def answer(self, method, path, body):
        with self._lock:
            match [method, *map(unquote, path.strip("/").split("/"))]:
                case "POST", "subjects", subject, "versions":
                    return self._register(subject, body)
                case "POST", "subjects", subject:
                    return self._lookup(subject, body)
                case "GET", "subjects":
                    return 200, list(self._subjects)
                case "GET", "subjects", subject, "versions", version:
                    return self._version(subject, version)
                case "GET", "schemas", "ids", number:
                    return self._by_id(int(number))
                case "GET", "config", *_:
                    return 200, {"compatibilityLevel": "BACKWARD"}
        return 404, {"error_code": 404, "message": "HTTP 404 Not Found"}

    def _register(self, subject, body):
        schema = _stored(body)
        ids = self._subjects.setdefault(subject, [])
        if subject in self.refused and ids and schema not in (self._schemas[i - 1] for i in ids):
            message = f"Schema being registered is incompatible with an earlier schema for subject {subject!r}"
            return 409, {"error_code": 409, "message": message}
        if schema not in self._schemas:
            self._schemas.append(schema)
        number = self._schemas.index(schema) + 1
        if number not in ids:
            ids.append(number)
        return 200, {"id": number}

    def _lookup(self, subject, body):
        if subject not in self._subjects:
            return 404, {"error_code": 40401, "message": f"Subject '{subject}' not found."}
        for version, number in enumerate(self._subjects[subject], start=1):
            if self._schemas[number - 1] == _stored(body):
                return 200, {"subject": subject, "id": number, "version": version, **self._schemas[number - 1]}
        return 404, {"error_code": 40403, "message": "Schema not found"}

    def _version(self, subject, version):
        ids = self._subjects.get(subject, [])
        at = len(ids) if version == "latest" else int(version)
        if not 0 < at <= len(ids):
            return 404, {"error_code": 40402, "message": f"Version {version} not found."}
        return 200, {"subject": subject, "id": ids[at - 1], "version": at, **self._schemas[ids[at - 1] - 1]}

    def _by_id(self, number):
        if not 0 < number <= len(self._schemas):
            return 404, {"error_code": 40403, "message": f"Schema {number} not found"}
        return 200, self._schemas[number - 1]


def _stored(body):
    """The stored form of a schema: like Confluent's registry, it leaves out the schema type if that is Avro."""
    kept = {name: body[name] for name in ("schema", "schemaType", "references") if body.get(name)}
    if kept.get("schemaType") == "AVRO":
        del kept["schemaType"]
    return kept


class _Handler(BaseHTTPRequestHandler):
    registry: LocalRegistry

    def do_GET(self):
        self._answer(None)

    def do_POST(self):
        self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _answer(self, body):
        url = urlsplit(self.path)
        self.registry.requests.append(f"{self.command} {unquote(url.path)}")
        if self.registry.credentials and self.headers["Authorization"] != self._basic(self.registry.credentials):
            status, answer = 401, {"error_code": 401, "message": "Unauthorized"}
        else:
            status, answer = self.registry.answer(self.command, url.path, body)
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    @staticmethod
    def _basic(credentials):
        return f"Basic {base64.b64encode(credentials.encode()).decode()}"

    def log_message(self, *message):
        """Logs nothing."""
