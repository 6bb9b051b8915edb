"""The page in a cell of a notebook: one server in this process, and how the browser reaches it.

    kernel ── 127.0.0.1:PORT ──┬── /proxy/PORT/ of the notebook's server, by jupyter-server-proxy
                               ├── the port itself, where the browser is on this machine
                               └── Colab's own frame

The page may be framed by whoever knows its token, which is in the address of the frame: by exactly
the origin that the browser names as the framing page. The server ends with the process.
"""

from __future__ import annotations

import importlib.util
import os
import secrets
import sys
import threading
from collections.abc import Mapping
from html import escape
from urllib.parse import quote, urlencode

from msgspec import Struct

from ..base.errors import NotFoundError, QueryError
from ..session.catalog import facts_catalog
from ..session.folder import below
from ..session.session import ANY, ChosenTrace
from ..store.discovery.walk import resolve
from ..views import all_views
from .app import create_app
from .page import TOKEN, page_alone
from .report.document import report_of_served
from .serve import Address, listen


class _Running(Struct, frozen=True):
    """The server of a folder."""

    port: int
    token: str


class _Notebook(Struct, frozen=True):
    """The notebook's server: below which path it is, and whether it hands on requests to ports."""

    base: str
    has_proxy: bool
    is_local: bool


_servers: dict[str, _Running] = {}
_starting = threading.Lock()


def frame_of(chosen: ChosenTrace, height: int) -> str:
    """A frame with the page of a server of this process, as HTML; in Colab it is Colab's own.

    Raises:
        QueryError: the trace cannot be found in its folder.
    """
    folder = os.path.dirname(os.path.abspath(chosen.path))
    running = _serving(folder)
    colab = sys.modules.get("google.colab.output")
    if colab is not None:
        colab.serve_kernel_port_as_iframe(running.port, height=str(height))
        return ""
    notebook = _notebook()
    proxied = notebook is not None and notebook.has_proxy
    root = f"{notebook.base}proxy/{running.port}/" if notebook and proxied else ""
    root = root or f"http://127.0.0.1:{running.port}/"
    address = f"{root}?{TOKEN}={running.token}{fragment_of(chosen.path)}"
    # The page's policy allows the origin that the browser names: so it must name one.
    return (
        f'<iframe src="{escape(address)}" width="100%" height="{int(height)}"'
        ' style="border: 0" referrerpolicy="origin"></iframe>'
    )


def reaches_browser() -> bool:
    """True if the browser reaches a server here: through the notebook's, or on this machine."""
    notebook = _notebook()
    if notebook is None:
        return False
    is_here = notebook.is_local and has_screen() and "SSH_CONNECTION" not in os.environ
    return notebook.has_proxy or is_here


def has_screen() -> bool:
    """True if a browser can open a window from this process."""
    return sys.platform in {"darwin", "win32"} or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )


def _serving(folder: str) -> _Running:
    """The server of a folder, started at the first call."""
    with _starting:
        if folder not in _servers:
            token = secrets.token_urlsafe(16)
            catalog = facts_catalog(resolve([folder], None))
            page = page_alone(token=token)
            app = create_app(catalog, all_views(), "standalone", page, report_of_served)
            server = listen(app, Address(port=0))
            catalog.start()  # it closes itself when the program ends
            threading.Thread(target=server.serve_forever, daemon=True).start()
            _servers[folder] = _Running(server.port, token)
        return _servers[folder]


def _notebook() -> _Notebook | None:
    """The notebook's server that started this kernel; None where none is known."""
    has_proxy = importlib.util.find_spec("jupyter_server_proxy") is not None
    prefix = os.environ.get("JUPYTERHUB_SERVICE_PREFIX")
    if prefix:
        return _Notebook(prefix, has_proxy, is_local=False)
    if importlib.util.find_spec("jupyter_server") is None or "JPY_PARENT_PID" not in os.environ:
        return None
    serverapp = importlib.import_module("jupyter_server.serverapp")
    for one in serverapp.list_running_servers():
        if str(one["pid"]) == os.environ["JPY_PARENT_PID"]:
            is_local = one["hostname"] in {"localhost", "127.0.0.1", "::1"}
            return _Notebook(one["base_url"], has_proxy, is_local)
    return None


def jupyter_tile() -> Mapping[str, object]:
    """The tile in JupyterLab's launcher, for jupyter-server-proxy: the folder that is served."""
    command = [sys.executable, "-m", "kinetoscope", "serve", ".", "--port", "{port}"]
    return {"command": command, "timeout": 60, "launcher_entry": {"title": "kinetoscope"}}


def fragment_of(file: str) -> str:
    """Where the page shows a file; "" where its folder is not searched for it.

    Raises:
        QueryError: it is no trace.
    """
    folder = os.path.dirname(os.path.abspath(file))
    try:
        looked = below(folder, ANY).folder
    except NotFoundError:
        raise QueryError(
            f"{file} is no trace", hint=f"kinetoscope doctor {file} says why"
        ) from None
    for place, found in looked.files.items() if looked else ():
        if os.path.samefile(found.absolute, file):
            return "#" + urlencode(place._asdict(), quote_via=quote)
    return ""
