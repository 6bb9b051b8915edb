"""``kinetoscope``: finds the command, and turns every error into one line and an exit code.

| code | meaning |
|---|---|
| 0 | done |
| 1 | it failed for another reason: the file cannot be read, the port is taken |
| 2 | the command line or a query option makes no sense |
| 3 | the file is not a trace, or nothing of it can be read |
| 4 | there is no such file, run, worker, span |
| 5 | still being written: try again |
| 6 | this recording cannot answer; says what to record |
| 7 | `hang --exit-code`: a collective did not end; `check`: worse than the budget allows |
| 8 | `check`: cannot tell; says what would settle it |
| 130 | interrupted |

Texts of a trace are printed with their control characters written out (``printable``).
"""

from __future__ import annotations

import atexit
import gc
import importlib
import itertools
import os
import re
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from io import TextIOWrapper
from types import MappingProxyType
from typing import Any, NoReturn

import click

from ..base.errors import KinetoscopeError, QueryError, nearest, not_installed
from ..base.machine import MANY_OBJECTS, keep_memory
from ..base.regex import regex
from ..base.units import NBSP

START_HELP = "Start of the run: 1 is the oldest, -1 the newest, -2 the one before.  [default: -1]"
_CONTROL = regex(
    r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufffe\uffff]"
)
_CONTROL_IN_JSON = regex(r"[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff]")


def printable(text: str) -> str:
    """The text with control characters written out: an escape sequence moves no cursor.

    No-break spaces become spaces: they are for the page, and a search for them is unlikely.

    >>> printable("a" + chr(27) + "[2Jb") == "a" + chr(92) + "x1b[2Jb"
    True
    """
    return _CONTROL.sub(_written_out, text.replace(NBSP, " "))


def as_json(answer: Any, indent: int = 2) -> str:  # noqa: ANN401  # whatever msgspec encodes
    r"""An answer as JSON; ``indent`` -1 for one line.

    What a terminal would obey stands there as escapes of JSON, which mean the same. Bytes of a path
    that are not UTF-8 become ``\xff``, as in a table.
    """
    import msgspec

    try:
        encoded = msgspec.json.encode(answer)
    except UnicodeEncodeError:
        encoded = msgspec.json.encode(_sendable(msgspec.to_builtins(answer)))
    text = msgspec.json.format(encoded, indent=indent).decode()
    return _CONTROL_IN_JSON.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def _sendable(value: Any) -> Any:  # noqa: ANN401
    """Plain values with texts that UTF-8 can hold."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    if isinstance(value, Mapping):
        return {_sendable(key): _sendable(item) for key, item in value.items()}
    return [_sendable(item) for item in value] if isinstance(value, (list, tuple)) else value


def one_line(text: str) -> str:
    """The text on one line, its blanks and breaks as single blanks."""
    return printable(" ".join(text.split()))


def _written_out(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "explain": "Answers most questions on a recording at once.",
        "path": "Shows the critical path of the steps.",
        "whatif": "Replays a step of all ranks with one change.",
        "window": "Shows what ran between two instants, by name.",
        "show": "Shows a view of a trace as a table, JSON or CSV.",
        "advise": "Says what holds the steps, and what to do about it.",
        "sql": "Answers one SELECT over the tables of a recording.",
        "export": "Writes every table of a recording as a file.",
        "diff": "Explains what changed between two recordings.",
        "check": "Holds a recording against a baseline and a budget, for CI.",
        "snapshot": "Explains a memory snapshot, or compares two.",
        "ingest": "Reads every trace of a logdir into the cache, once.",
        "hang": "Says which rank never entered which collective.",
        "doctor": "Lists every file: whether it is used, and if not, why.",
        "mcp": "Answers an agent's questions on recordings.",
        "report": "Writes one HTML file with all views, to be sent to someone.",
        "serve": "Serves the page without TensorBoard.",
        "open": "Opens a link to a view with one's own copy of the logdir.",
        "demo": "Records a small training and shows it in TensorBoard.",
        "docs": "Shows the documentation, without a network.",
    }
)
"""Command → its help; the command ``x`` is ``x.x``, imported when it is called."""
ASK: Mapping[str, str] = MappingProxyType(
    {
        **{name: name for name in ("explain", "sql", "export", "mcp")},
        **dict.fromkeys(("path", "whatif", "window"), "parts"),
    }
)
"""Command of the folder ``ask`` → its module there."""

LASTING = (["serve"], ["open"], ["demo"], ["mcp"])
"""Commands that go on until they are ended."""
FAILED, INTERRUPTED = 1, 130


FORMATS = ("text", "markdown", "json", "csv")


class UnknownWordError(click.UsageError):
    """A word that is not known here, and the one that may be meant."""

    def __init__(self, message: str, hint: str, ctx: click.Context | None) -> None:
        super().__init__(message, ctx)
        self.hint = hint


class WordChoice(click.Choice):  # type: ignore[type-arg]  # click 8.1 has no arguments of types here
    """One of some words. Words of earlier versions are taken, too, and shown nowhere."""

    def __init__(self, words: Sequence[str], earlier: Mapping[str, str]) -> None:
        super().__init__(words)
        self._earlier = earlier

    def convert(
        self,
        value: Any,  # noqa: ANN401  # theirs
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str:
        word = self._earlier.get(value, value)
        if word not in self.choices:
            place = f"{param.opts[0]}: " if param else ""
            hint = nearest(str(value), self.choices)
            raise UnknownWordError(f"{place}there is no {value!r}", hint, ctx)
        return str(word)


FORMAT: Mapping[str, Any] = MappingProxyType(
    {
        "type": WordChoice(FORMATS, {"table": "text"}),
        "default": "text",
        "show_default": True,
        "help": "For people, for pull requests, for programs, for spreadsheets.",
    }
)
"""The option ``--format`` of every command."""
PATH = click.Path(readable=False)
"""A path or address that a shell completes; the command checks that it is readable."""


class CommandGroup(click.Group):
    """Commands; without one the help is printed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = ctx.resilient_parsing or args[0].startswith("-")
        if not known and self.get_command(ctx, args[0]) is None:
            hint = nearest(args[0], self.list_commands(ctx))
            raise UnknownWordError(f"there is no command {args[0]!r}", hint, ctx)
        return super().resolve_command(ctx, args)


class Cli(CommandGroup):
    """The commands, imported when they are needed: ``--help`` must not wait for pandas."""

    ends_soon = False

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # theirs
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        place = f".ask.{ASK[cmd_name]}" if cmd_name in ASK else f".{cmd_name}"
        module = importlib.import_module(place, __package__)
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401  # theirs
        """Run the command; its result is the exit code."""
        try:
            if self.ends_soon:
                keep_memory()
            status = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:  # the reader of our output has ended (`| head`)
            _write_no_more()
            return 0
        except ModuleNotFoundError as error:
            raise not_installed(error) from error
        return status

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> NoReturn:  # noqa: ANN401  # theirs
        """Runs a command and ends the process with its exit code."""
        extra["standalone_mode"] = False
        is_program = args is None
        # Nothing here multiplies matrices: NumPy's library for it need not start threads.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        self.ends_soon = is_program and sys.argv[1:2] not in LASTING
        if self.ends_soon:
            # What a short command imports and makes stays, most often: a sixth of its time would go
            # by in looking for garbage there.
            gc.set_threshold(MANY_OBJECTS)
        _write_what_cannot_be_encoded()
        try:
            status = super().main(args, *rest, **extra)
        except (click.Abort, KeyboardInterrupt):
            status = INTERRUPTED
        except (click.ClickException, KinetoscopeError, OSError, MemoryError) as error:
            ours = _as_ours(error)
            status = ours.exit_code
            if _wants_json(sys.argv[1:] if args is None else args):
                told = {"kind": ours.kind, "message": ours.text, "hint": ours.hint}
                write(as_json({"error": told}, indent=-1))
            say(ours.text, hint=ours.hint)
        code = status if isinstance(status, int) else 0
        if is_program:
            _end_at_once(code)
        sys.exit(code)


def _wants_json(args: Sequence[str]) -> bool:
    """True if errors also go to standard output as JSON, in the form of the server's."""
    pairs = {*itertools.pairwise(args)}
    return any(f"{one}=json" in args or (one, "json") in pairs for one in ("--format", "--report"))


def _end_at_once(code: int) -> None:
    """Ends the process where nothing is left to do but to take its objects apart.

    That takes a tenth of the time of a short command. What was registered for the end is done. A
    thread that still runs, or a debugger, has the end that Python gives every program.
    """
    watched = sys.gettrace() or sys.getprofile() or sys.flags.interactive or sys.flags.inspect
    if watched or threading.active_count() > 1:
        return
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:  # there is none where it was closed before
                stream.flush()
    except (OSError, ValueError):
        return
    os._exit(code)


def _as_ours(error: Exception) -> KinetoscopeError:
    """Any error that ends a command, as one of this program."""
    if isinstance(error, KinetoscopeError):
        return error
    if isinstance(error, MemoryError):
        hint = "record fewer steps, or free memory"
        return KinetoscopeError("there is not enough memory", hint=hint)
    if isinstance(error, click.NoSuchOption):
        return QueryError(f"there is no option {error.option_name}", hint=_option_meant(error))
    if isinstance(error, click.ClickException):
        kind = QueryError if isinstance(error, click.UsageError) else KinetoscopeError
        hint = getattr(error, "hint", "") or _usage(error)
        return kind(error.format_message(), hint=hint)
    assert isinstance(error, OSError)
    place = error.filename or "a file that cannot be named"
    if not error.filename and not _takes_output():
        place = "writing the result"
        _write_no_more()
    return KinetoscopeError(f"{place}: {error.strerror or error}")


def _takes_output() -> bool:
    """False if a line more cannot be written; a failed write leaves nothing to flush again."""
    try:
        sys.stdout.write("\n")
        sys.stdout.flush()
    except (OSError, ValueError):
        return False
    return True


def _write_no_more() -> None:
    """Discard unwritten output, so that the end of the process does not try again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _write_what_cannot_be_encoded() -> None:
    """Make a terminal or pipe limited to ASCII write other characters as escapes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def say(message: str, *, hint: str = "") -> None:
    """One line on standard error."""
    text = one_line(message.rstrip("."))
    more = f" ({one_line(hint.rstrip('.'))})" if hint else ""
    sys.stderr.write(f"kinetoscope: {text}{more}\n")


def write(text: str) -> None:
    """A result, on standard output."""
    sys.stdout.write(f"{text}\n")


def end_gently() -> None:
    """Makes SIGTERM end this process as Ctrl-C does, so that the processes it started end too."""
    signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _option_meant(error: click.NoSuchOption) -> str:
    """The option that is near, else where all of them are."""
    known = [name for one in _options(error.ctx) for name in one if name.startswith("--")]
    hint = nearest(error.option_name, known)
    return hint if hint.startswith("did") else _usage(error)


def _options(context: click.Context | None) -> list[list[str]]:
    if context is None:
        return []
    return [[*one.opts, *one.secondary_opts] for one in context.command.get_params(context)]


def _version(context: click.Context, option: click.Parameter, is_asked: bool) -> None:
    del option
    if is_asked and not context.resilient_parsing:
        from ..base.version import release  # asks git in a checkout

        click.echo(f"kinetoscope {release()}")
        context.exit()


def _usage(error: click.ClickException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f"see {context.command_path} --help" if context else ""


@click.command(cls=Cli, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Show the version and the commit, and exit.",
)
def main() -> None:
    """Explains PyTorch profiles."""
