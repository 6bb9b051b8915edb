//! Functions for C: rows of columns.

#![allow(unsafe_code)]
#![allow(clippy::too_many_arguments)]

use super::{slice, slice_mut};
use crate::order::{
    fill_names, fill_times, find_positive, gather, merge_parts, rank_places, sort_parts, spread,
    spread_wanted, Columns, File, Keys, Kinds,
};
use crate::rows::{
    are_thousands, combine, count_codes, count_to_two, equal_any, extent, find, find_codes,
    flags_by_code, mark, number, pack, pairs, places, put, rows_by_code, take, tally,
};
use crate::search::search;

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
