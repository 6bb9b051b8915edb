//! Functions for C: memory snapshots and Perfetto files.

#![allow(unsafe_code)]
#![allow(clippy::too_many_arguments)]

use super::PANICKED;
use crate::perfetto::transcoder::Transcoder;
use crate::snapshot::Reader;

exported! {
    /// A reader of a memory snapshot, as a number; it lives until `free`, and one thread at a time may use it.
    kinetoscope_snapshot_new() {
        Box::into_raw(Box::new(Reader::new())) as i64
    }

    /// Frees a reader; returns 0.
    kinetoscope_snapshot_free(reader: raw(*mut Reader)) {
        drop(Box::from_raw(reader));
        0
    }

    /// Takes the next bytes; returns 0 if there must be more, 1 if that was all, 2 if the reference must read the file, 3 if
    /// an instruction cannot be run.
    kinetoscope_snapshot_feed(reader: raw(*mut Reader), data: read(u8; len), len: number) {
        (*reader).feed(data) as i64
    }

    /// Closes what is open, because no more can be run; returns 3, or 2 if the reference must read the file.
    kinetoscope_snapshot_end(reader: raw(*mut Reader)) {
        (*reader).end() as i64
    }

    /// Bytes of a column; columns are numbered as `trace/pickles/native.py` lists them.
    kinetoscope_snapshot_size(reader: raw(*const Reader), column: number) {
        (*reader).size(column) as i64
    }

    /// Copies a column out and frees it; returns how many bytes it had.
    kinetoscope_snapshot_take(
        reader: raw(*mut Reader),
        column: number,
        to: write(u8; len),
        len: number,
    ) {
        match (*reader).take(column) {
            Some(found) if found.size() == len => {
                found.copy_to(to);
                len as i64
            }
            _ => PANICKED,
        }
    }
}

exported! {
    /// The passes over a Perfetto file, as a number; it lives until `free`, and one thread at a time may use it.
    kinetoscope_perfetto_new(subtract: raw(i64), table: read(u8; len), len: number) {
        Box::into_raw(Box::new(Transcoder::new(subtract, table))) as i64
    }

    /// Frees it; returns 0.
    kinetoscope_perfetto_free(passes: raw(*mut Transcoder)) {
        drop(Box::from_raw(passes));
        0
    }

    /// First pass: takes the next bytes, `last` when none follow; returns 0.
    kinetoscope_perfetto_survey(
        passes: raw(*mut Transcoder), data: read(u8; len), len: number, last: number,
    ) {
        (*passes).survey(data, last > 0);
        0
    }

    /// Second pass: takes the next bytes; returns how many bytes of text there are.
    kinetoscope_perfetto_write(
        passes: raw(*mut Transcoder), data: read(u8; len), len: number, last: number,
    ) {
        (*passes).write(data, last > 0) as i64
    }

    /// Moves the text out, all of it; returns its size.
    kinetoscope_perfetto_take(passes: raw(*mut Transcoder), to: write(u8; len), len: number) {
        (*passes).take(to);
        len as i64
    }

    /// Tells what was found, as `trace/perfetto/native.py` lists it; returns 0.
    kinetoscope_perfetto_tell(passes: raw(*const Transcoder), to: write(i64; len), len: number) {
        (*passes).tell(to);
        0
    }
}
