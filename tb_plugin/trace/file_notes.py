"""What the health record says of the file itself: damage, repairs, oddities of its text."""

from __future__ import annotations

from collections.abc import Mapping

from .note_kind import EVERYTHING, UPGRADE, NoteKind, harmless

_AGAIN = "Let the recording end before the process does, and copy the file whole."


def _repaired(title: str, consequence: str, remedy: str = "") -> NoteKind:
    return NoteKind("info", title, consequence, remedy, counts_as="repaired")


def _skipped(title: str, consequence: str, remedy: str = _AGAIN) -> NoteKind:
    return NoteKind("error", title, consequence, remedy, EVERYTHING, "skipped")


FILE: Mapping[str, NoteKind] = {
    "gzip_truncated": NoteKind(
        "error",
        "The compressed file ends early",
        "Everything before the cut was read; what came later is missing from every figure.",
        _AGAIN,
        EVERYTHING,
    ),
    "gzip_unfinished": NoteKind(
        "warning",
        "The compressed file lacks its last bytes",
        "The trace in it is whole, but its checksum is missing: single characters may be wrong.",
        _AGAIN,
        EVERYTHING,
    ),
    "gzip_corrupt": NoteKind(
        "error",
        "The compressed file is damaged",
        "Everything before the damage was read; what came later is missing from every figure.",
        "Copy the file again in binary mode.",
        EVERYTHING,
    ),
    "gzip_checksum": NoteKind(
        "warning",
        "The checksum of the compressed file is wrong",
        "The text was read as it is; single characters may be wrong.",
        "Copy the file again in binary mode.",
        EVERYTHING,
    ),
    "gzip_trailing": harmless(
        "Bytes after the compressed data", "They are not part of the trace and were ignored."
    ),
    "gzip_nested": harmless("Compressed twice", "Both layers were opened."),
    "encoding": harmless(
        "Text in another encoding", "The file was saved again by an editor; it was read as UTF-8."
    ),
    "truncated": NoteKind(
        "error",
        "The file ends in the middle",
        "Every complete event was read; what came later is missing from every figure.",
        _AGAIN,
        EVERYTHING,
    ),
    "bad_utf8": _repaired(
        "Bytes that are no UTF-8", "In the names they belong to, � stands in their place."
    ),
    "lone_surrogate": _repaired(
        "Halves of characters", "In the names they belong to, � stands in their place."
    ),
    "control_char": _repaired("Line breaks inside names", "They were kept.", UPGRADE),
    "bad_escape": _repaired(
        "Backslashes that are not escaped", "They were read as they are.", UPGRADE
    ),
    "unescaped_quote": _repaired(
        "Quotes inside names",
        "The recorder did not escape them; each name was read up to the quote that ends its field.",
    ),
    "not_a_number": _repaired("Values that are no number", "They were read as missing."),
    "stray_comma": _repaired("Commas without a value", "They were ignored."),
    "missing_comma": _repaired("Commas missing between events", "The events were read."),
    "missing_quote": _repaired("Keys without a quote", "They were read as meant."),
    "comment": harmless("Comments in the file", "They were ignored."),
    "bad_number": _repaired("Numbers in an odd form", "They were read as meant, or as missing."),
    "skipped_event": _skipped(
        "{count} events could not be read", "They are missing from every figure; the rest was read."
    ),
    "skipped_text": _skipped(
        "{count} pieces of text could not be read",
        "They belong to no event; reading went on after them.",
    ),
    "oversized": _skipped(
        "{count} events or values are too large",
        "They were left out and are missing from every figure.",
    ),
    "too_many_events": NoteKind(
        "error",
        "More events than one trace can hold",
        "The first ones were read; the rest is missing from every figure.",
        "Record fewer steps.",
        EVERYTHING,
    ),
    "bad_metadata": harmless(
        "Metadata that cannot be read",
        "A value given to add_metadata_json() is no JSON; it was left out.",
        "Pass json.dumps(value) to add_metadata_json().",
    ),
    "repeated_key": harmless("Metadata given twice", "The last value counts."),
    "repeated_events": harmless(
        "Two lists of events in one file", "The second was read after the first."
    ),
    "repeated_document": NoteKind(
        "warning",
        "Several traces in one file",
        "Behind the first, {count} more were read: their events are part of this recording, their"
        " metadata is not. If they come from different processes or machines, sums and idle times"
        " mix them.",
        "Write each recording into a file of its own.",
        EVERYTHING,
    ),
    "json_lines": harmless("One event a line", "The lines were read as a list of events."),
    "trailing_text": NoteKind(
        "warning",
        "Text after the end of the trace",
        "{count} pieces were left out: they are no trace and no events.",
        _AGAIN,
        counts_as="skipped",
    ),
    "not_an_event": _skipped(
        "{count} members of the event list are no events", "They were left out.", ""
    ),
    "odd_field": harmless("Fields of an unusual type", "They were read as their text."),
    "odd_args": harmless("Arguments that are no object", "They were ignored."),
    "odd_arg": harmless("Arguments of an unusual type", "They are shown with the event only."),
    "bad_ts": NoteKind(
        "warning",
        "{count} events with an unreadable time",
        "They are not in any figure.",
        "",
        EVERYTHING,
    ),
    "bad_dur": NoteKind(
        "warning",
        "{count} events with an unreadable duration",
        "They count as 0 ns long.",
        "",
        EVERYTHING,
    ),
    "wide_int": harmless("Numbers wider than 64 bits", "They are shown with the event only."),
    "complete": NoteKind(
        "good", "Read completely", "{count} events; nothing was skipped or repaired."
    ),
    "empty": NoteKind(
        "warning",
        "No events",
        "The recording window holds nothing: every figure is empty.",
        "Run the code to profile between start() and stop(), or inside the active steps of the"
        " schedule.",
        EVERYTHING,
    ),
}
