"""``kinetoscope open ADDRESS [LOGDIR]``: a link to a view, with one's own copy of the logdir."""

from __future__ import annotations

import webbrowser
from collections.abc import Mapping
from urllib.parse import quote, unquote, urlencode

import click

from ..base.errors import NotFoundError, QueryError, nearest
from ..base.regex import regex
from ..base.units import NBSP
from ..session.session import Wanted, choose
from ..views import all_views
from ..views.view import TracePlace
from ..web.embed import has_screen
from ..web.serve import Address
from ..web.tab import TITLES
from .entry import PATH, printable, say
from .serve import serve_page

MOST_CHARACTERS = 16_384
_KEY = regex(r"[A-Za-z][\w.-]*")
_HINT = "paste what *Copy link to this view* gave, between single quotes"


@click.command(name="open")
@click.argument("address", metavar="ADDRESS")
@click.argument("logdir", metavar="[LOGDIR]", default=".", type=PATH)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Port; 0 takes any free one.  [default: the first free one from 6007 on]",
)
@click.option("--no-browser", is_flag=True, help="Prints the address and opens no browser.")
def open(address: str, logdir: str, port: int | None, *, no_browser: bool) -> None:  # noqa: A001
    """Opens a link to a view with the same recording below LOGDIR.

    ADDRESS is a link from `kinetoscope serve` or TensorBoard, of any machine. What stands before
    its # is not used, and nothing is requested from there. LOGDIR is this folder by default.
    """
    values = values_of(address)
    place = found(values, logdir)
    fragment = "#" + urlencode({**values, **place._asdict()}, quote_via=quote)
    opens = None if no_browser or not has_screen() else webbrowser.open
    serve_page((logdir,), Address(port=port), fragment, opens=opens)


def values_of(address: str) -> Mapping[str, str]:
    """Keys and values of a link, of the page alone or inside TensorBoard.

    Raises:
        QueryError: it names no recording, or holds what no page writes.
    """
    _, sign, fragment = address.partition("#")
    if not sign or len(address) > MOST_CHARACTERS:
        what = "is no link to a view" if not sign else f"has over {MOST_CHARACTERS:,} characters"
        raise QueryError(f"the address {what}", hint=_HINT)
    try:
        pieces = [one.split("=", 1) for one in fragment.split("&") if "=" in one]
        pairs = [(unquote(a, errors="strict"), unquote(b, errors="strict")) for a, b in pieces]
    except UnicodeDecodeError:
        raise QueryError("the address is not UTF-8", hint=_HINT) from None
    prefixes = tuple(f"p.{plugin}." for plugin in TITLES)
    inside = {
        key[len(prefix) :]: value
        for key, value in pairs
        for prefix in prefixes
        if key.startswith(prefix)
    }
    values = {key: value for key, value in (inside or dict(pairs)).items() if value}
    for key, value in values.items():
        if not _KEY.fullmatch(key) or printable(value) != value.replace(NBSP, " "):
            raise QueryError(f"the address has an unusual {printable(key)!r}", hint=_HINT)
    views = [one.stem for one in all_views()]
    view = values.get("view", views[0])
    if view not in views:
        raise QueryError(f"there is no view {view!r}", hint=nearest(view, views))
    if "run" not in values or "worker" not in values:
        raise QueryError("the address names no recording", hint=_HINT)
    return values


def found(values: Mapping[str, str], logdir: str) -> TracePlace:
    """The recording below a logdir: that of the same names, else the only one of that file name.

    Raises:
        NotFoundError: there is none.
        QueryError: the logdir is one file.
    """
    run, worker, span = values["run"], values["worker"], values.get("span")
    try:
        place = choose(logdir, Wanted(run, worker, span)).place
    except NotFoundError:
        folder = choose(logdir).folder
        of_name = [
            one
            for one in (folder.files if folder else ())
            if one.worker == worker and span in {None, one.span}
        ]
        if len(of_name) != 1:
            raise
        say(f"there is no run {run} below {logdir}: opening {worker} of run {of_name[0].run}")
        return of_name[0]
    if place is None:
        raise QueryError(f"{logdir} is one file", hint="name the folder that it is in")
    return place
