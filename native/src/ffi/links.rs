//! Functions for C: links and deflate.

#![allow(unsafe_code)]
#![allow(clippy::too_many_arguments)]

use super::slice;
use crate::deflate::first_block;
use crate::links::{forward_ops, join, match_starts, Arrows, Events as Nested, Numbered, Threads};

exported! {
    /// Returns 1, or 0 where the ids are too far apart for a table of `limit`.
    kinetoscope_join(
        key: raw(*const u8),
        width: number,
        row: read(i32; keys),
        keys: number,
        wanted: read(i64; count),
        count: number,
        limit: number,
        first_counts: number,
        out: write(i32; count),
    ) {
        let first = first_counts != 0;
        i64::from(match width {
            4 => join(slice(key.cast::<i32>(), keys), row, wanted, limit, first, out),
            8 => join(slice(key.cast::<i64>(), keys), row, wanted, limit, first, out),
            _ => panic!("ids of {width} bytes"),
        })
    }

    /// `told` gets the numbers of starts and of ends; where those are not `ends`, nothing is matched. Returns 1, or 0 where
    /// the ids are too far apart for a table of `limit`; panics where a row is not there.
    kinetoscope_match_starts(
        row: read(i32; cells),
        ids: raw(*const u8),
        width: number,
        cells: number,
        phase: read(u8; rows),
        category: read(i32; rows),
        rows: number,
        start: number,
        end: number,
        limit: number,
        source: write(i32; ends),
        ends: number,
        told: write(i64; 2),
    ) {
        let arrows = Arrows { row, phase, category, start: start as u8, end: end as u8 };
        let found = match width {
            4 => match_starts(arrows, slice(ids.cast::<i32>(), cells), limit, source),
            8 => match_starts(arrows, slice(ids.cast::<i64>(), cells), limit, source),
            _ => panic!("ids of {width} bytes"),
        };
        if let Some((starts, ends)) = found {
            (told[0], told[1]) = (starts as i64, ends as i64);
        }
        i64::from(found.is_some())
    }

    /// Returns 0; panics where a row is not there, or an outer event is behind its row.
    kinetoscope_climb(
        ts: read(i64; rows),
        dur: read(i64; rows),
        outer: read(i32; rows),
        kind: read(i8; rows),
        rows: number,
        op: number,
        at: read(i64; count),
        count: number,
        patience: number,
        found: write(i32; count),
    ) {
        Nested { ts, dur, outer, kind, op: op as i8 }.climb(at, patience, found);
        0
    }

    /// Returns 1, or 0 where numbers are too far apart for a table of `limit`, or more than `patience` ops were looked at;
    /// panics where a row is not there.
    kinetoscope_forward_ops(
        ahead_sequence: read(i64; ahead),
        ahead_row: read(i32; ahead),
        ahead: number,
        asked_sequence: read(i64; asked),
        asked_row: read(i32; asked),
        asked: number,
        ts: read(i64; rows),
        thread: read(i32; rows),
        rows: number,
        threads: number,
        bounds: read(i64; ends),
        ends: number,
        forward: read(i32; groups),
        groups: number,
        limit: number,
        patience: number,
        found: write(i32; asked),
    ) {
        let ahead = Numbered { sequence: ahead_sequence, row: ahead_row };
        let asked = Numbered { sequence: asked_sequence, row: asked_row };
        let of = Threads { bounds, forward, count: threads };
        i64::from(forward_ops(ahead, asked, (ts, thread), of, limit, patience, found))
    }

    /// Returns 0; panics where an outer event is behind its row.
    kinetoscope_ops_above(
        outer: read(i32; rows),
        kind: read(i8; rows),
        rows: number,
        op: number,
        above: write(i32; rows),
    ) {
        Nested { ts: &[], dur: &[], outer, kind, op: op as i8 }.ops_above(above);
        0
    }
}

exported! {
    /// Returns the bit behind the first one of the first block that seems to begin in `data`; 0: none does.
    kinetoscope_deflate_block(data: read(u8; size), size: number) {
        first_block(data).map_or(0, |bit| bit as i64 + 1)
    }
}
