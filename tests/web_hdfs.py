"""A server of WebHDFS on this machine: the few calls of its REST interface that are needed.

After the documentation of Apache Hadoop, "WebHDFS REST API". Files lie in memory; what is written
or read goes through a redirection, as from a name node to a data node.
"""

from __future__ import annotations

import json
import posixpath
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

PREFIX = "/webhdfs/v1"


class Node:
    """A file with its content; a folder has none."""

    def __init__(self, content: bytes | None) -> None:
        self.content = content
        self.modified_ms = time.time_ns() // 10**6

    def status(self, name: str) -> dict[str, Any]:
        return {
            "pathSuffix": name,
            "type": "DIRECTORY" if self.content is None else "FILE",
            "length": len(self.content or b""),
            "modificationTime": self.modified_ms,
        }


class WebHdfs(ThreadingHTTPServer):
    """The tree of files, by path."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Call)
        self.nodes: dict[str, Node] = {"/": Node(None)}
        self.lock = threading.Lock()
        self.before_rename: Callable[[], None] = lambda: None

    def make(self, path: str) -> None:
        """A folder, with those above it."""
        while path not in self.nodes:
            self.nodes[path] = Node(None)
            path = posixpath.dirname(path)

    def below(self, path: str) -> Iterator[tuple[str, Node]]:
        for one, node in sorted(self.nodes.items()):
            if one != "/" and posixpath.dirname(one) == path:
                yield posixpath.basename(one), node


class Call(BaseHTTPRequestHandler):
    """One request."""

    server: WebHdfs
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Nothing: a test has its own log."""

    def do_GET(self) -> None:
        path, told = self.asked()
        with self.server.lock:
            node = self.server.nodes.get(path)
            if node is None:
                return self.missing(path)
            if told["op"] == "GETFILESTATUS":
                return self.answer({"FileStatus": node.status("")})
            if told["op"] == "LISTSTATUS":
                every = [(posixpath.basename(path), node)]
                if node.content is None:
                    every = list(self.server.below(path))
                statuses = [one.status("" if one is node else name) for name, one in every]
                return self.answer({"FileStatuses": {"FileStatus": statuses}})
            begin = int(told.get("offset", 0))
            end = begin + int(told["length"]) if "length" in told else None
            if not self.redirected(told):
                self.respond(200, (node.content or b"")[begin:end])
            return None

    def do_PUT(self) -> None:
        path, told = self.asked()
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if told["op"] == "RENAME":
            self.server.before_rename()
        with self.server.lock:
            nodes = self.server.nodes
            if told["op"] == "MKDIRS":
                self.server.make(path)
                return self.answer({"boolean": True})
            if told["op"] == "RENAME":
                is_free = path in nodes and told["destination"] not in nodes
                if is_free:
                    nodes[told["destination"]] = nodes.pop(path)
                return self.answer({"boolean": is_free})
            if self.redirected(told):
                return None
            self.server.make(posixpath.dirname(path))
            nodes[path] = Node(data)
            return self.respond(201, b"")

    def do_POST(self) -> None:
        """APPEND."""
        path, told = self.asked()
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.redirected(told):
            return
        with self.server.lock:
            nodes = self.server.nodes
            before = nodes[path].content if path in nodes else b""
            nodes[path] = Node((before or b"") + data)
        self.respond(200, b"")

    def do_DELETE(self) -> None:
        path, _ = self.asked()
        with self.server.lock:
            self.answer({"boolean": self.server.nodes.pop(path, None) is not None})

    def asked(self) -> tuple[str, dict[str, str]]:
        parts = urlsplit(self.path)
        assert parts.path.startswith(PREFIX)
        path = unquote(parts.path[len(PREFIX) :]).rstrip("/") or "/"
        return path, {name: values[0] for name, values in parse_qs(parts.query).items()}

    def redirected(self, told: dict[str, str]) -> bool:
        """True if the caller was sent to the data node, which is this server again."""
        if "node" in told:
            return False
        host, port = self.server.server_address[:2]
        self.send_response(307)
        self.send_header("Location", f"http://{host!s}:{port}{self.path}&node=data")
        self.send_header("Content-Length", "0")
        self.end_headers()
        return True

    def missing(self, path: str) -> None:
        told = {"exception": "FileNotFoundException", "message": f"File does not exist: {path}"}
        self.respond(404, json.dumps({"RemoteException": told}).encode())

    def answer(self, value: object) -> None:
        self.respond(200, json.dumps(value).encode())

    def respond(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def running() -> Iterator[WebHdfs]:
    """A server, until the end of the block."""
    server = WebHdfs()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
