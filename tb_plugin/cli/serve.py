"""``kinetoscope serve LOGDIR...``: the page without TensorBoard."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

import click

from ..analysis.facts import Facts
from ..session.catalog import facts_catalog
from ..session.remote import remote_file
from ..session.session import local
from ..store.catalog import CatalogService
from ..store.discovery.walk import is_far, resolve
from ..views import all_views
from ..web.app import create_app
from ..web.embed import fragment_of
from ..web.page import page_alone
from ..web.report.document import report_of_served
from ..web.serve import LOOPBACK, Address, listen, url
from .entry import PATH, end_gently, say


@click.command()
@click.argument("logdirs", nargs=-1, required=True, metavar="LOGDIR...", type=PATH)
@click.option("--host", default=LOOPBACK, show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Port; 0 takes any free one.  [default: the first free one from 6007 on]",
)
@click.option(
    "--path-prefix",
    default="",
    help="Serve below this path, for example /user/bob.  [default: none]",
)
@click.option(
    "--allow-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME",
    help="A name by which a proxy calls this server; may be given several times.  [default: none]",
)
@click.option(
    "--frame-ancestors",
    "framers",
    multiple=True,
    metavar="ORIGIN",
    help="An origin whose pages may frame the page, such as https://hub.example; may be given"
    " several times.  [default: none]",
)
def serve(
    logdirs: tuple[str, ...],
    host: str,
    port: int | None,
    path_prefix: str,
    allowed_hosts: tuple[str, ...],
    framers: tuple[str, ...],
) -> None:
    """Serves the page without TensorBoard.

    LOGDIR is a folder with traces, or an address such as s3://bucket/logs. Of a trace file the
    folder that it is in is served, and the page opens with it. Only this machine can open the
    page, unless --host says more.
    """
    files = [one for one in logdirs if os.path.isfile(one)]
    first = fragment_of(files[0]) if files else ""
    logdirs = tuple(os.path.dirname(os.path.abspath(x)) if x in files else x for x in logdirs)
    serve_page(logdirs, Address(host, port, path_prefix, allowed_hosts), first, framers)


def serve_page(
    logdirs: Sequence[str],
    address: Address,
    fragment: str,
    framers: tuple[str, ...] = (),
    opens: Callable[[str], object] | None = None,
) -> None:
    """Serve the page until Ctrl-C; print its address with a fragment, and hand it to ``opens``.

    Raises:
        KinetoscopeError: there is no such logdir.
        OSError: the port is taken.
    """
    found = resolve(logdirs, None)
    if not any(logdir.path for logdir in found):
        (remote_file if is_far(logdirs[0]) else local)(logdirs[0])  # says why
    page = page_alone(framers)
    catalog = facts_catalog(found)
    app = create_app(catalog, all_views(), "standalone", page, report_of_served)
    server = listen(app, address)
    end_gently()
    # From here on Ctrl-C is how it ends, also before the server waits for requests.
    with catalog, suppress(KeyboardInterrupt):
        at = f"{url(server, address)}{fragment}"
        click.echo(f"kinetoscope is at {at} (Ctrl-C ends it)")
        if address.is_public:
            say("there is no sign-in: everyone who can reach this machine can read these traces")
        threading.Thread(target=_tell_problems, args=(catalog,), daemon=True).start()
        if opens is not None:
            opens(at)
        server.serve_forever()


def _tell_problems(catalog: CatalogService[Facts]) -> None:
    """Print problems of a logdir on the terminal, too."""
    catalog.wait_first_look(60.0)
    for problem in catalog.snapshot().problems:
        say(problem.message, hint=problem.hint)
