"""Replace what names people and machines: folders, hosts, users.

    /home/ana/secret/train.py(12): step    →  folder-1/train.py(12): step
    /opt/lib/python3.12/site-packages/torch/nn/modules/module.py  →  …/torch/nn/modules/module.py
    gpu07.lab_4711                         →  host-1_4711

A name is replaced by the order in which it is found, so a code cannot be turned back, and one thing
has one code in the whole report. Names of files, functions, modules and kernels stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np

from ...base.regex import regex
from ...views.timeline.tiles import HEADER, NAMES_ENTRY, names_frame

_FOLDER = regex(
    r"(?<![\w/\\.:<-])(?:[A-Za-z][\w+.-]*://|[A-Za-z]:[\\/]|~?/|\\\\)"
    r"(?:[^\s/\\:'\"()<>|,;=&]+[\\/])*"
)
_PUBLIC = regex(r"(?:site-packages|dist-packages|lib/python3\.\d+)[\\/](.*)")
_USER = regex(r"(?:/home|/Users|/export/home|[A-Za-z]:\\+Users)[/\\]+([\w.@-]{3,})")
_HOST = regex(r"(?P<host>[A-Za-z][\w.-]*?)_\d{2,}(?:\.|$)")
_NO_HOSTS = frozenset({"rank", "worker", "node", "gpu", "trace", "train", "localhost", "host"})
_NO_USERS = frozenset({"root", "user", "ubuntu", "runner", "admin", "Shared", "Public"})


class Redactor:
    """The codes that were given so far."""

    def __init__(self, workers: Iterable[str] = ()) -> None:
        hosts = [match["host"] for one in workers if (match := _HOST.match(one))]
        self._names: dict[str, str] = {}
        self._folders: dict[str, str] = {}
        for host in hosts:
            if host.lower() not in _NO_HOSTS:
                self._learn(host, "host")

    def learn_users(self, body: bytes) -> None:
        """Take the names of users from the paths in a text."""
        for user in _USER.findall(body.decode("utf-8", "replace").replace("\\\\", "\\")):
            if user not in _NO_USERS:
                self._learn(user, "user")

    def _learn(self, name: str, kind: str) -> None:
        if name not in self._names:
            known = sum(code.startswith(kind) for code in self._names.values())
            self._names[name] = f"{kind}-{known + 1}"

    def text(self, text: str) -> str:
        """A text with codes in place of names."""
        if "/" in text or "\\" in text:
            text = _FOLDER.sub(self._folder, text)
        for name in sorted(self._names, key=len, reverse=True):
            if name in text:
                pattern = rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])"
                text = re.sub(pattern, self._names[name], text)
        return text

    def _folder(self, match: re.Match[str]) -> str:
        folder = match[0]
        public = _PUBLIC.search(folder.replace("\\", "/"))
        if public is not None:
            return f"…/{public[1]}"
        if folder in {"/", "~/", "\\\\"} or re.fullmatch(r"[A-Za-z][\w+.-]*://", folder):
            return folder
        if folder not in self._folders:
            self._folders[folder] = f"folder-{len(self._folders) + 1}/"
        return self._folders[folder]

    def question(self, question: str) -> str:
        """A question of the page, whose parameters are texts of the answers."""
        route, mark, parameters = question.partition("?")
        pieces = [piece.partition("=") for piece in parameters.split("&")]
        texts = [f"{name}{sign}{self.text(value)}" for name, sign, value in pieces]
        return f"{route}{mark}{'&'.join(texts)}"

    def body(self, question: str, body: bytes) -> bytes:
        """An answer: texts in JSON, and names of slices."""
        if body[:1] == b"{":
            return msgspec.json.encode(self._value(msgspec.json.decode(body)))
        if not question.startswith("view/timeline/names"):
            return body
        entry = np.frombuffer(body, NAMES_ENTRY, 1, HEADER.itemsize)[0]
        ends_at, texts_at, count = (int(entry[one]) for one in ("ends_at", "text_at", "count"))
        ends = np.frombuffer(body, "<u4", count, ends_at).tolist()
        starts = [0, *ends[:-1]]
        texts = [
            body[texts_at + start : texts_at + end].decode()
            for start, end in zip(starts, ends, strict=True)
        ]
        return names_frame(int(entry["first"]), [self.text(one) for one in texts])

    def _value(self, value: Any) -> Any:  # noqa: ANN401  # as JSON has it
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self._value(one) for one in value]
        if isinstance(value, dict):
            return {self.text(key): self._value(one) for key, one in value.items()}
        return value
