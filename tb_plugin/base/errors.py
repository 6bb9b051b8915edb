"""Every error a user can meet, as one small tree.

KinetoscopeError            has kind, message, hint; the web answers its status, the CLI its code
├── TraceFormatError        the file is not a PyTorch trace, or nothing of it can be read
├── NotFoundError           no such file, run, worker, span or view
├── QueryError              a parameter has no meaning here
├── NotReadyError           being read right now; ask again
└── UnavailableError        this recording cannot answer; says what to record
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager


class KinetoscopeError(Exception):
    """A condition with a name, a sentence for the user and a remedy."""

    kind = "error"
    status = 500
    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @property
    def text(self) -> str:
        """The problem, without the remedy."""
        return self.message

    def __str__(self) -> str:
        """The problem and the remedy, as a traceback shows them."""
        if not self.hint:
            return self.text
        is_sentence = self.text.endswith((".", "!", "?"))
        return f"{self.text} {self.hint}" if is_sentence else f"{self.text} ({self.hint})"


class TraceFormatError(KinetoscopeError):
    """The file is no usable trace; ``kind`` names its actual type, such as ``lfs_pointer``.

    ``file`` is its path, where it is not known from elsewhere; the text of the error begins with
    it, the ``message`` does not.
    """

    status = 422
    exit_code = 3

    def __init__(self, kind: str, message: str, *, hint: str = "", file: str = "") -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        self.file = file

    @property
    def text(self) -> str:
        return f"{self.file}: {self.message}" if self.file else self.message

    def of_file(self, file: str) -> TraceFormatError:
        """The same error, which names its file."""
        return TraceFormatError(self.kind, self.message, hint=self.hint, file=file)

    def __reduce__(self) -> tuple[object, ...]:
        # Crosses the process boundary of the ingest pool.
        return (_rebuild_format_error, (self.kind, self.message, self.hint, self.file))


def _rebuild_format_error(kind: str, message: str, hint: str, file: str) -> TraceFormatError:
    return TraceFormatError(kind, message, hint=hint, file=file)


class NotFoundError(KinetoscopeError):
    """No such file, run, worker, span or view."""

    kind = "not_found"
    status = 404
    exit_code = 4


class QueryError(KinetoscopeError):
    """A parameter has no meaning here."""

    kind = "bad_query"
    status = 400
    exit_code = 2


class NotReadyError(KinetoscopeError):
    """Being read right now; try again."""

    kind = "reading"
    status = 202
    exit_code = 5


class UnavailableError(KinetoscopeError):
    """This recording cannot answer; says what to record."""

    kind = "not_available"
    status = 409
    exit_code = 6


def not_installed(error: ModuleNotFoundError) -> KinetoscopeError:
    """The message for a missing viewer library: the extra was not installed.

    Raises:
        ModuleNotFoundError: it is one of our own modules, so the installation is damaged.
    """
    library = (error.name or "").partition(".")[0]
    if library in {"", "kinetoscope"}:
        raise error
    if library == "tensorboard":
        return KinetoscopeError(
            "TensorBoard is not installed", hint="pip install 'kinetoscope[tensorboard]'"
        )
    return KinetoscopeError(
        f"this installation only records, because {library} is not installed",
        hint="to show traces: pip install 'kinetoscope[viewer]'",
    )


def told(error: BaseException) -> str:
    """An unexpected exception as text: type, message, and place.

    The place is the innermost line of this package, as it is there.
    """
    import traceback
    from pathlib import Path

    package = Path(__file__).resolve().parent.parent
    frames = traceback.extract_tb(error.__traceback__)
    ours = [(Path(frame.filename), frame) for frame in frames]
    inside = [(path, frame) for path, frame in ours if path.is_relative_to(package)]
    said = "".join(traceback.format_exception_only(type(error), error)).strip()
    if not inside:
        return said
    path, frame = inside[-1]
    return f"{said} ({path.relative_to(package).as_posix()}:{frame.lineno}, in {frame.name})"


def short(text: str, length: int = 80) -> str:
    """A text from outside, shortened for a message."""
    return text if len(text) <= length else text[:length] + "…"


def nearest(word: str, known: Collection[str], otherwise: str = "one of: ") -> str:
    """The hint for a wrong word: the known one that is near it, else all of them.

    >>> nearest("operatros", ["overview", "operators"]), nearest("x", ["json", "csv"])
    ('did you mean operators?', 'one of: json, csv')
    """
    from difflib import get_close_matches  # takes longer to import than a command to start

    begun = [one for one in known if word and one.startswith(word)]
    near = get_close_matches(word[:80].lower(), known, 1) or begun[: len(begun) == 1]
    return f"did you mean {near[0]}?" if near else f"{otherwise}{', '.join(known)}"


@contextmanager
def naming(file: str) -> Iterator[None]:
    """Name the file in errors of the system that name none: those of reading and writing."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = file
        raise
