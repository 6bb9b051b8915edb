"""``kinetoscope docs``: the documentation, in a terminal."""

from __future__ import annotations

import sys

import click

from ..web.documentation import page_names, page_text


def _pages(context: click.Context, option: click.Parameter, begun: str) -> list[str]:
    del context, option
    return [name for name in page_names() if name.startswith(begun)]


@click.command()
@click.argument("page", default="README", metavar="[PAGE]", shell_complete=_pages)
def docs(page: str) -> None:
    """Shows a page of the documentation.

    Without PAGE it shows the list of pages. Output that is no terminal gets Markdown.
    """
    text = page_text(page)
    if not sys.stdout.isatty():
        click.echo(text)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    with console.pager(styles=True):
        console.print(Markdown(text))
