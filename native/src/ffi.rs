//! The functions for C: pointers become slices here, and no panic leaves.
//!
//! This file and `scan/ffi.rs` hold nothing but the translation, and all unsafe code. Numbers are 64
//! bits wide.

#![allow(unsafe_code)]
#![allow(clippy::too_many_arguments)]

use std::panic::{catch_unwind, AssertUnwindSafe};

use crate::deflate::first_block;
use crate::frames::{labels, numbers, sums as sums_of_frames, Holds, Owned};
use crate::groups::{first_largest, index, middles, ranks, sums, Ranks};
use crate::holders::{hold, Entries, Events};
use crate::intervals::{intersect, level_within, merge, union, union_of, Spans, Steps};
use crate::lanes::{assign, share};
use crate::links::{forward_ops, join, match_starts, Arrows, Events as Nested, Numbered, Threads};
use crate::nest::{nest, outer_rows, Nesting, Rows, Tolerance};
use crate::order::{fill_names, fill_times, find_positive, gather, merge_parts, sort_parts};
use crate::order::{rank_places, spread, spread_wanted, Columns, File, Keys, Kinds};
use crate::paths::{call_tree, find as find_paths, find_kept, inherit, mark_above, sum_up, Calls};
use crate::perfetto::transcoder::Transcoder;
use crate::pyramid::{count as count_levels, first as first_level, next as next_level};
use crate::pyramid::{Level, Room, Slices};
use crate::rows::{
    are_thousands, combine, count_codes, count_to_two, equal_any, extent, find, find_codes,
};
use crate::rows::{
    flags_by_code, mark, number, pack, pairs, places, put, rows_by_code, take, tally,
};
use crate::search::{length_within, search};
use crate::snapshot::Reader;

/// Grows with every change of a signature or of a meaning; Python refuses a library of another
/// number.
pub const INTERFACE: u32 = 18;

/// What a function returns when it panicked: the caller falls back to the reference.
pub const PANICKED: i64 = -1;

#[no_mangle]
pub extern "C" fn kinetoscope_interface() -> u32 {
    INTERFACE
}

/// Runs `body`, and answers `PANICKED` instead of unwinding into C.
pub fn guarded(body: impl FnOnce() -> i64) -> i64 {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(PANICKED)
}

/// The `len` values at `data`.
///
/// # Safety
/// `data` points to `len` initialised values that nobody changes while the slice lives, or `len` is
/// 0.
pub unsafe fn slice<'a, T>(data: *const T, len: usize) -> &'a [T] {
    if len == 0 {
        &[]
    } else {
        std::slice::from_raw_parts(data, len)
    }
}

/// The `len` values at `data`, to be written.
///
/// # Safety
/// As `slice`, and nobody else reads or writes them while the slice lives.
pub unsafe fn slice_mut<'a, T>(data: *mut T, len: usize) -> &'a mut [T] {
    if len == 0 {
        &mut []
    } else {
        std::slice::from_raw_parts_mut(data, len)
    }
}

/// A function for C. Its parameters are `read(type; length)` and `write(type; length)`, pointers that
/// the body has as slices of so many values; `number`, which the body has as usize; and `raw(type)`,
/// handed on as it comes. The body makes the i64 that is returned; `PANICKED` where it panics.
macro_rules! exported {
    ($(
        $(#[$doc:meta])*
        $function:ident($($name:ident: $kind:ident $(($($of:tt)+))?),* $(,)?) $body:block
    )*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// Each pointer leads to as many values as the function says.
        #[no_mangle]
        pub unsafe extern "C" fn $function(
            $($name: exported!(@type $kind $(($($of)+))?)),*
        ) -> i64 {
            $crate::ffi::guarded(|| {
                $(#[allow(unused_variables)] // of a length, once it is known
                let $name = exported!(@value $name $kind $(($($of)+))?);)*
                $body
            })
        }
    )*};
    (@type number) => { i64 };
    (@type raw($type:ty)) => { $type };
    (@type read($type:ty; $len:expr)) => { *const $type };
    (@type write($type:ty; $len:expr)) => { *mut $type };
    (@value $name:ident number) => { $name as usize };
    (@value $name:ident raw($type:ty)) => { $name };
    (@value $name:ident read($type:ty; $len:expr)) => {
        $crate::ffi::slice($name, ($len) as usize)
    };
    (@value $name:ident write($type:ty; $len:expr)) => {
        $crate::ffi::slice_mut($name, ($len) as usize)
    };
}
pub(crate) use exported;

/// Calls a body with the type of a column's values, and with that of rows.
macro_rules! typed {
    ($width:expr, |$value:ident| $body:expr) => {
        match $width {
            1 => {
                type $value = u8;
                $body
            }
            4 => {
                type $value = u32;
                $body
            }
            8 => {
                type $value = u64;
                $body
            }
            _ => panic!("values of {} bytes", $width),
        }
    };
    ($width:expr, $row_width:expr, |$value:ident, $row:ident| $body:expr) => {
        match $row_width {
            1 => {
                type $row = u8;
                typed!($width, |$value| $body)
            }
            4 => {
                type $row = i32;
                typed!($width, |$value| $body)
            }
            8 => {
                type $row = i64;
                typed!($width, |$value| $body)
            }
            _ => panic!("rows of {} bytes", $row_width),
        }
    };
}

// --- sums, ranks and order by group ---------------------------------------------------------------

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

// --- nesting, lanes, call paths -------------------------------------------------------------------

exported! {
    /// Returns the number of overruns.
    kinetoscope_nest(
        ts: read(i64; rows),
        dur: read(i64; rows),
        first: read(u8; rows),
        clock: read(i8; rows),
        rows: number,
        tolerance: raw(i64),
        two_clocks: raw(i64),
        outer: write(i32; rows),
        parent: write(i32; rows),
        depth: write(i16; rows),
        self_ns: write(i64; rows),
        overrun_row: write(i32; rows),
        overrun_ns: write(i64; rows),
    ) {
        let rows = Rows { ts, dur, first, clock };
        let mut to = Nesting { outer, parent, depth, self_ns, overrun_row, overrun_ns };
        let tolerance = Tolerance { any: tolerance, two_clocks };
        nest(rows, tolerance, &mut to) as i64
    }

    /// Returns 0.
    kinetoscope_outer_rows(
        ts: read(i64; rows),
        end: read(i64; rows),
        first: read(u8; rows),
        rows: number,
        outer: write(i32; rows),
    ) {
        outer_rows(ts, end, first, outer);
        0
    }

    /// Returns 0.
    kinetoscope_lanes(
        ts: read(i64; rows),
        dur: read(i64; rows),
        first: read(u8; rows),
        rows: number,
        tolerance: raw(i64),
        lane: write(u16; rows),
        displaced: write(u8; rows),
    ) {
        assign(ts, dur, first, tolerance, lane, displaced);
        0
    }

    /// Returns 0; panics where a node is not below `nodes`.
    kinetoscope_shared_lanes(
        ts: read(i64; rows),
        dur: read(i64; rows),
        node: read(i32; rows),
        rows: number,
        nodes: number,
        lane: write(u16; rows),
    ) {
        share(ts, dur, node, nodes, lane);
        0
    }

    /// Returns the number of nodes.
    kinetoscope_paths(
        parent: read(i32; rows),
        name: read(i32; rows),
        rows: number,
        node: write(i32; rows),
        node_parent: write(i32; rows),
        first: write(i32; rows),
    ) {
        find_paths(parent, name, node, node_parent, first) as i64
    }

    /// Returns the number of nodes; panics where a parent is behind its row.
    kinetoscope_kept_paths(
        kept: read(u8; rows),
        label: read(i32; rows),
        parent: read(i32; rows),
        rows: number,
        around: write(i32; rows),
        node_parent: write(i32; rows),
        node_label: write(i32; rows),
    ) {
        find_kept(kept, label, parent, around, node_parent, node_label) as i64
    }

    /// Returns 0.
    kinetoscope_call_tree(
        thread: read(i32; rows),
        ts: read(i64; rows),
        dur: read(i64; rows),
        name: read(i32; rows),
        rows: number,
        parent: write(i32; rows),
        own: write(i64; rows),
        survivor: write(i32; rows),
    ) {
        call_tree(Calls { thread, ts, dur, name }, parent, own, survivor);
        0
    }

    /// Returns 0; panics where a parent is behind its row.
    kinetoscope_tree_inherit(parent: read(i32; rows), own: write(i32; rows), rows: number) {
        inherit(parent, own);
        0
    }

    /// Returns 0; panics where a parent is behind its row.
    kinetoscope_tree_inherit_bytes(parent: read(i32; rows), own: write(i8; rows), rows: number) {
        inherit(parent, own);
        0
    }

    /// Returns 0; panics where a parent is behind its row, or a row not there.
    kinetoscope_tree_mark_above(
        parent: read(i32; rows), rows: number, below: read(i32; count), count: number, mark: write(u8; rows),
    ) {
        mark_above(parent, below, mark);
        0
    }

    /// Returns 0; panics where a parent is behind its row.
    kinetoscope_tree_sum_up(parent: read(i32; rows), value: write(i64; rows), rows: number) {
        sum_up(parent, value);
        0
    }
}

// --- levels of detail -----------------------------------------------------------------------------

exported! {
    /// Returns 0.
    kinetoscope_pyramid_count(
        order: read(i32; rows),
        rows: number,
        lane_first: read(i64; lanes + 1),
        lanes: number,
        ts: read(i64; ids),
        dur: read(i64; ids),
        ids: number,
        small: write(i64; levels),
        records: write(i64; levels),
        levels: number,
    ) {
        count_levels(&Slices { order, lane_first, ts, dur }, small, records);
        0
    }

    /// Returns 0.
    kinetoscope_pyramid_first(
        order: read(i32; rows),
        rows: number,
        lane_first: read(i64; lanes + 1),
        lanes: number,
        ts: read(i64; ids),
        dur: read(i64; ids),
        ids: number,
        level: number,
        bucket_first: write(i64; lanes + 1),
        bucket: write(i64; records),
        count: write(i64; records),
        sum_ns: write(i64; records),
        longest: write(i32; records),
        records: number,
        rect_first: write(i64; lanes + 1),
        rect: write(i32; rects),
        rects: number,
    ) {
        let mut room = Room { bucket_first, bucket, count, sum_ns, longest, rect_first, rect };
        first_level(&Slices { order, lane_first, ts, dur }, level as u32, &mut room);
        0
    }

    /// Returns 0.
    kinetoscope_pyramid_next(
        below_bucket_first: read(i64; lanes + 1),
        below_bucket: read(i64; below_records),
        below_count: read(i64; below_records),
        below_sum_ns: read(i64; below_records),
        below_longest: read(i32; below_records),
        below_records: number,
        below_rect_first: read(i64; lanes + 1),
        below_rect: read(i32; below_rects),
        below_rects: number,
        lanes: number,
        ts: read(i64; ids),
        dur: read(i64; ids),
        ids: number,
        level: number,
        bucket_first: write(i64; lanes + 1),
        bucket: write(i64; records),
        count: write(i64; records),
        sum_ns: write(i64; records),
        longest: write(i32; records),
        records: number,
        rect_first: write(i64; lanes + 1),
        rect: write(i32; rects),
        rects: number,
    ) {
        let below = Level {
            bucket_first: below_bucket_first,
            bucket: below_bucket,
            count: below_count,
            sum_ns: below_sum_ns,
            longest: below_longest,
            rect_first: below_rect_first,
            rect: below_rect,
        };
        let slices = Slices { order: &[], lane_first: &[], ts, dur };
        let mut room = Room { bucket_first, bucket, count, sum_ns, longest, rect_first, rect };
        next_level(&below, &slices, level as u32, &mut room);
        0
    }
}

// --- intervals -----------------------------------------------------------------------------------

exported! {
    /// Returns how many intervals there are.
    kinetoscope_union(
        ts: read(i64; count),
        dur: read(i64; count),
        mask: read(u8; count),
        count: number,
        start: write(i64; count),
        end: write(i64; count),
    ) {
        union(ts, dur, mask, start, end) as i64
    }

    /// Returns how many intervals there are; panics where a row is not there, or rows have other widths.
    kinetoscope_union_of(
        ts: read(i64; size),
        dur: read(i64; size),
        size: number,
        rows: raw(*const u8),
        row_width: number,
        count: number,
        start: write(i64; count),
        end: write(i64; count),
    ) {
        let found = typed!(1, row_width, |_Value, Row| {
            union_of(ts, dur, slice(rows.cast::<Row>(), count), start, end)
        });
        found as i64
    }

    /// Returns 0.
    kinetoscope_level_within(
        ts: read(i64; count), end: read(i64; count), height: read(f64; count), count: number,
        edges: read(i64; cells + 1), cells: number,
        sums: write(f64; cells),
    ) {
        level_within(Steps { ts, end, height }, edges, sums);
        0
    }

    /// Returns 0.
    kinetoscope_length_within(
        start: read(i64; spans), end: read(i64; spans), spans: number,
        low: read(i64; count), high: read(i64; count), count: number,
        out: write(i64; count),
    ) {
        length_within(Spans { start, end }, low, high, out);
        0
    }

    /// Returns how many intervals there are.
    kinetoscope_merge(
        a_start: read(i64; a), a_end: read(i64; a), a: number,
        b_start: read(i64; b), b_end: read(i64; b), b: number,
        start: write(i64; a + b), end: write(i64; a + b),
    ) {
        let sets = Spans { start: a_start, end: a_end };
        merge(sets, Spans { start: b_start, end: b_end }, start, end) as i64
    }

    /// Returns how many intervals there are.
    kinetoscope_intersect(
        a_start: read(i64; a), a_end: read(i64; a), a: number,
        b_start: read(i64; b), b_end: read(i64; b), b: number,
        start: write(i64; a + b), end: write(i64; a + b),
    ) {
        let sets = Spans { start: a_start, end: a_end };
        intersect(sets, Spans { start: b_start, end: b_end }, start, end) as i64
    }

    /// Returns how many entries there are, at most two for each event and one for each piece and window;
    /// panics where a piece is in no window, and where there is no room for one entry of each event.
    kinetoscope_exclusive(
        ts: read(i64; events),
        dur: read(i64; events),
        events: number,
        low: number,
        piece_start: read(i64; pieces),
        piece_end: read(i64; pieces),
        pieces: number,
        window_start: read(i64; windows),
        window_end: read(i64; windows),
        windows: number,
        row: write(i32; room),
        window: write(i32; room),
        idle: write(i64; room),
        room: number,
    ) {
        let events = Events { ts, dur };
        let pieces = Spans { start: piece_start, end: piece_end };
        let windows = Spans { start: window_start, end: window_end };
        let to = Entries { event: row, window, own: idle };
        hold(events, pieces, windows, low as i32, to) as i64
    }
}

// --- rows of columns ------------------------------------------------------------------------------

exported! {
    /// Returns 0; panics where a row is not there, and where values or rows have other widths.
    kinetoscope_rows_take(
        column: raw(*const u8),
        size: number,
        width: number,
        rows: raw(*const u8),
        row_width: number,
        count: number,
        out: raw(*mut u8),
    ) {
        typed!(width, row_width, |Value, Row| {
            take(
                slice(column.cast::<Value>(), size),
                slice(rows.cast::<Row>(), count),
                slice_mut(out.cast::<Value>(), count),
            )
        });
        0
    }

    /// Returns how many numbers are not the least one; panics where there is no room for all that
    /// the mask keeps, and where numbers have other widths. `told` gets the least, the greatest and
    /// the bytes of each; nothing is written where all are equal.
    kinetoscope_rows_pack(
        column: raw(*const u8),
        rows: number,
        width: number,
        mask: read(u8; rows),
        out: raw(*mut u8),
        count: number,
        told: write(i64; 3),
    ) {
        let others = typed!(width, |Value| {
            pack(slice(column.cast::<Value>(), rows), mask, slice_mut(out, count * width), told)
        });
        others as i64
    }

    /// Returns 0; panics where a row is not there, and those before it were put.
    kinetoscope_rows_put(
        column: raw(*mut u8),
        size: number,
        width: number,
        rows: raw(*const u8),
        row_width: number,
        count: number,
        values: raw(*const u8),
    ) {
        typed!(width, row_width, |Value, Row| {
            put(
                slice_mut(column.cast::<Value>(), size),
                slice(rows.cast::<Row>(), count),
                slice(values.cast::<Value>(), count),
            )
        });
        0
    }

    /// Returns how often the mask holds.
    kinetoscope_rows_find(
        mask: read(u8; count), count: number, out: write(i32; room), room: number,
    ) {
        find(mask, out) as i64
    }

    /// Returns 0; panics where numbers have other widths than 4 and 8 bytes.
    kinetoscope_rows_search(
        ordered: raw(*const u8),
        width: number,
        size: number,
        values: raw(*const u8),
        value_width: number,
        count: number,
        equal: number,
        out: write(i64; count),
    ) {
        let equal = equal != 0;
        match (width, value_width) {
            (4, 4) => search(slice(ordered.cast::<i32>(), size), slice(values.cast::<i32>(), count), equal, out),
            (4, 8) => search(slice(ordered.cast::<i32>(), size), slice(values.cast::<i64>(), count), equal, out),
            (8, 4) => search(slice(ordered.cast::<i64>(), size), slice(values.cast::<i32>(), count), equal, out),
            (8, 8) => search(slice(ordered.cast::<i64>(), size), slice(values.cast::<i64>(), count), equal, out),
            _ => panic!("numbers of {width} and {value_width} bytes"),
        }
        0
    }

    /// Returns 0; panics where rows have other widths.
    kinetoscope_rows_places(
        column: read(i32; size),
        size: number,
        rows: raw(*const u8),
        row_width: number,
        count: number,
        out: write(i32; count),
    ) {
        typed!(1, row_width, |_Value, Row| {
            places(column, slice(rows.cast::<Row>(), count), out)
        });
        0
    }

    /// Returns 0; panics where a code is not below `size`.
    kinetoscope_rows_mark(
        codes: read(i32; count), count: number, out: write(u8; size), size: number,
    ) {
        mark(codes, out);
        0
    }

    /// Returns how often a code is wanted; panics where a code is not below `size`.
    kinetoscope_rows_find_codes(
        codes: read(i32; rows),
        rows: number,
        is_wanted: read(u8; size),
        size: number,
        out: write(i32; rows),
    ) {
        find_codes(codes, is_wanted, out) as i64
    }

    /// Returns 0; panics where a row has no place.
    kinetoscope_rows_group(
        codes: read(u8; rows),
        rows: number,
        slot: read(u8; 256),
        next: write(i64; 256),
        step: read(i64; 256),
        out: write(i32; room),
        room: number,
    ) {
        let (slot, step) = (slot.try_into().unwrap(), step.try_into().unwrap());
        rows_by_code(codes, slot, next.try_into().unwrap(), step, out);
        0
    }

    /// Returns 0; panics where a code is not below `size`.
    kinetoscope_rows_flags(
        codes: read(i32; rows),
        marks: read(u8; rows),
        rows: number,
        flags: read(u8; 256),
        out: write(u8; size),
        size: number,
    ) {
        flags_by_code(codes, marks, flags.try_into().unwrap(), out);
        0
    }

    /// Returns 0.
    kinetoscope_rows_count(codes: read(u8; rows), rows: number, counts: write(i64; 256)) {
        count_codes(codes, counts.try_into().unwrap());
        0
    }

    /// Returns 0; panics where a code is not below `size`, or its kind not below `kinds`.
    kinetoscope_rows_tally(
        codes: read(i32; rows),
        marks: read(u8; rows),
        rows: number,
        index: read(i32; size),
        size: number,
        counts: write(i64; kinds),
        kinds: number,
    ) {
        tally(codes, marks, index, counts);
        0
    }

    /// Returns 0; panics where a code is not below `size`, or its kind not below `kinds`.
    kinetoscope_rows_combine(
        codes: read(i32; rows),
        marks: read(u8; rows),
        rows: number,
        index: read(i32; size),
        size: number,
        table: read(u8; kinds),
        kinds: number,
        out: write(u8; rows),
    ) {
        combine(codes, marks, index, table, out);
        0
    }

    /// Returns 0; panics where a row is not there.
    kinetoscope_rows_extent(
        column: read(i64; size),
        size: number,
        rows: read(i32; count),
        count: number,
        out: write(i64; 2),
    ) {
        let (low, high) = extent(column, rows);
        (out[0], out[1]) = (low, high);
        0
    }

    /// Returns 1 where all values at some rows are multiples of 1000, else 0; panics where a row is not there.
    kinetoscope_rows_are_thousands(
        column: read(i64; size), size: number, rows: read(i32; count), count: number,
    ) {
        i64::from(are_thousands(column, rows))
    }

    /// Returns how many pairs there are, or −2 where there are more than `room`.
    kinetoscope_rows_pairs(
        rows: read(i32; count),
        count: number,
        first: read(i32; size),
        second: read(i32; size),
        size: number,
        index: write(i32; count),
        found: write(i64; room),
        room: number,
    ) {
        pairs(rows, first, second, index, found).map_or(-2, |count| count as i64)
    }

    /// Returns 0; panics where a row is not there.
    kinetoscope_rows_number(
        column: write(i32; size),
        size: number,
        rows: read(i32; count),
        count: number,
        first: raw(i64),
    ) {
        number(column, rows, first as i32);
        0
    }

    /// Returns 0; panics where a code is not below `size`.
    kinetoscope_rows_count_to_two(
        codes: read(i32; count), count: number, out: write(u8; size), size: number,
    ) {
        count_to_two(codes, out);
        0
    }

    /// Returns 0; panics where a group is none.
    kinetoscope_rows_gather(
        rows: read(i32; count),
        group: read(i32; count),
        count: number,
        groups: number,
        first: write(i64; groups + 1),
        out: write(i32; count),
    ) {
        gather(rows, group, first, out);
        0
    }

    /// Returns 0; panics where a row is not there, or a bound. Sorts the parts, or merges those that are sorted.
    kinetoscope_rows_sort(
        rows: write(i32; count),
        count: number,
        bounds: read(i64; bound_count),
        bound_count: number,
        ts: read(i64; size),
        size: number,
        dur: read(i64; durs),
        durs: number,
        are_sorted: number,
    ) {
        let keys = Keys { ts, dur };
        let done = if are_sorted == 0 { sort_parts } else { merge_parts };
        done(rows, bounds, keys);
        0
    }

    /// Returns how many rows are tied; panics where a row is not there.
    kinetoscope_rows_fill_times(
        rows: read(i32; count),
        count: number,
        before: raw(i64),
        start: raw(i64),
        ts: read(i64; size),
        dur: read(i64; size),
        size: number,
        to_ts: write(i64; count),
        to_dur: write(i64; count),
        tied: write(i32; count),
    ) {
        let before = i32::try_from(before).ok().filter(|&row| row >= 0);
        fill_times(rows, before, start, Keys { ts, dur }, to_ts, to_dur, tied) as i64
    }

    /// Returns 0; panics where a row is not there, or the kind of one is unknown.
    kinetoscope_rows_fill_names(
        rows: read(i32; count),
        count: number,
        name: read(i32; size),
        category: read(i32; size),
        role: read(u8; size),
        size: number,
        index: read(i32; names),
        seen: write(u8; names),
        names: number,
        table: read(u8; kinds),
        kinds: number,
        to_name: write(i32; count),
        to_category: write(i32; count),
        to_kind: write(u8; count),
    ) {
        let file = File { name, category, role };
        let to = Columns { name: to_name, category: to_category, kind: to_kind, seen };
        fill_names(rows, file, Kinds { index, table }, to);
        0
    }

    /// Returns how many cells are left; panics where a row is not there.
    kinetoscope_rows_spread_wanted(
        rows: read(i32; count),
        values: raw(*const u8),
        width: number,
        count: number,
        place: read(i32; size),
        size: number,
        kind: read(u8; room),
        wanted: read(u8; 256),
        out: raw(*mut u8),
        room: number,
        rest_row: write(i32; count),
        rest_value: raw(*mut u8),
    ) {
        let left = typed!(width, |Value| {
            spread_wanted(
                (rows, slice(values.cast::<Value>(), count)),
                place,
                kind,
                wanted,
                slice_mut(out.cast::<Value>(), room),
                (rest_row, slice_mut(rest_value.cast::<Value>(), count)),
            )
        });
        left as i64
    }

    /// Returns how many numbers are above 0; panics where there is no room for them.
    kinetoscope_rows_find_positive(
        kind: read(u8; count),
        wanted: read(u8; 256),
        numbers: raw(*const u8),
        count: number,
        rows: write(i32; room),
        values: raw(*mut u8),
        width: number,
        room: number,
    ) {
        let found = match width {
            4 => find_positive(
                kind, wanted, slice(numbers.cast::<i32>(), count),
                rows, slice_mut(values.cast::<i32>(), room),
            ),
            8 => find_positive(
                kind, wanted, slice(numbers.cast::<i64>(), count),
                rows, slice_mut(values.cast::<i64>(), room),
            ),
            _ => panic!("numbers of {width} bytes"),
        };
        found as i64
    }

    /// Returns twice the number of places, and 1 more where the rank of each row is its own index;
    /// panics where a row is not there, or its place not below 64 times `words`.
    kinetoscope_rows_rank(
        rows: read(i32; count),
        count: number,
        place: read(i32; size),
        size: number,
        seen: write(u64; words),
        before: write(i32; words),
        words: number,
        sorted: write(i32; count),
        rank: write(i32; count),
    ) {
        let (found, is_plain) = rank_places(rows, place, seen, before, sorted, rank);
        2 * found as i64 + i64::from(is_plain)
    }

    /// Returns 0; panics where values have other widths.
    kinetoscope_rows_spread(
        values: raw(*const u8),
        width: number,
        rank: read(i32; count),
        count: number,
        out: raw(*mut u8),
        room: number,
    ) {
        typed!(width, |Value| spread(
            slice(values.cast::<Value>(), count),
            rank,
            slice_mut(out.cast::<Value>(), room),
        ));
        0
    }

    /// Returns 0; panics where values have other widths.
    kinetoscope_rows_equal_any(
        column: raw(*const u8),
        width: number,
        count: number,
        values: raw(*const u8),
        value_count: number,
        out: write(u8; count),
    ) {
        typed!(width, |Value| equal_any(
            slice(column.cast::<Value>(), count),
            slice(values.cast::<Value>(), value_count),
            out,
        ));
        0
    }
}

// --- links ----------------------------------------------------------------------------------------

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

// --- deflate --------------------------------------------------------------------------------------

exported! {
    /// Returns the bit behind the first one of the first block that seems to begin in `data`; 0: none does.
    kinetoscope_deflate_block(data: read(u8; size), size: number) {
        first_block(data).map_or(0, |bit| bit as i64 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::{guarded, PANICKED};

    #[test]
    fn a_panic_becomes_a_number() {
        assert_eq!(guarded(|| panic!("on purpose")), PANICKED);
        assert_eq!(guarded(|| 7), 7);
    }
}

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
