//! Functions for C: sums, ranks and order by group.

#![allow(unsafe_code)]
#![allow(clippy::too_many_arguments)]

use crate::frames::{labels, numbers, sums as sums_of_frames, Holds, Owned};
use crate::groups::{first_largest, index, middles, ranks, sums, Ranks};

exported! {
    /// Returns 0.
    kinetoscope_by_name(
        name: read(i32; count),
        ts: read(i64; count),
        dur: read(i64; count),
        count: number,
        first: read(i64; names + 1),
        names: number,
        rows: write(i32; count),
        sum_ns: write(i64; names),
    ) {
        index(name, ts, dur, first, rows, sum_ns);
        0
    }

    /// Returns 0; panics where a code is no group.
    kinetoscope_group_sums(
        code: read(i32; rows),
        value: read(i64; rows),
        rows: number,
        groups: number,
        sum: write(i64; groups),
        count: write(i64; groups),
    ) {
        sums(code, value, sum, count);
        0
    }

    /// Returns 0; panics where a code is no group, or the counts are not those of the codes.
    kinetoscope_group_ranks(
        code: read(i32; rows),
        value: read(i64; rows),
        rows: number,
        groups: number,
        count: read(i64; groups),
        room: write(i64; rows),
        least: write(i64; groups),
        median: write(i64; groups),
        p95: write(i64; groups),
        most: write(i64; groups),
        longest: write(i64; groups),
    ) {
        let mut found = Ranks { least, median, p95, most, longest };
        ranks(code, value, count, room, &mut found);
        0
    }

    /// Returns 0; panics where a code is no group.
    kinetoscope_group_middles(
        code: read(i32; rows),
        value: read(i64; rows),
        rows: number,
        groups: number,
        room: write(i64; rows),
        lower: write(i64; groups),
        upper: write(i64; groups),
    ) {
        middles(code, value, room, lower, upper);
        0
    }

    /// Returns 0; panics where a code is no group. `found` is −1 everywhere before.
    kinetoscope_group_first_largest(
        code: read(i32; rows),
        value: read(i64; rows),
        rows: number,
        groups: number,
        most: write(i64; groups),
        found: write(i64; groups),
    ) {
        first_largest(code, value, most, found);
        0
    }

    /// Returns 0; panics where a row or a name is not there.
    kinetoscope_frame_sums(
        mask: read(u8; rows),
        owner: read(i32; rows),
        name: read(i32; rows),
        own: read(i64; rows),
        rows: number,
        total: write(i64; names),
        names: number,
    ) {
        sums_of_frames(Owned { mask, owner, name }, own, total);
        0
    }

    /// Returns 0; panics where a row or a name is not there, or a parent behind its row. `around` is 0
    /// everywhere before.
    kinetoscope_frame_numbers(
        mask: read(u8; rows),
        owner: read(i32; rows),
        name: read(i32; rows),
        parent: read(i32; rows),
        rows: number,
        of_name: read(u8; names),
        names: number,
        number: write(u8; rows),
        around: write(u8; rows),
    ) {
        numbers(Owned { mask, owner, name }, parent, of_name, number, around);
        0
    }

    /// Returns 0; panics where a row or a label is not there.
    kinetoscope_held_labels(
        row: read(i32; count),
        cause: read(i8; count),
        idle: read(i64; count),
        count: number,
        marker: read(u8; rows),
        name: read(i32; rows),
        rows: number,
        causes: number,
        label: write(i32; count),
        total: write(i64; all),
        number: write(i64; all),
        all: number,
    ) {
        labels(Holds { row, cause, idle }, marker, name, causes as i32, label, total, number);
        0
    }
}
