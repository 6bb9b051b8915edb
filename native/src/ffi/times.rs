//! Functions for C: levels of detail and intervals.

#![allow(unsafe_code)]
#![allow(clippy::too_many_arguments)]

use super::slice;
use crate::holders::{hold, Entries, Events};
use crate::intervals::{intersect, level_within, merge, union, union_of, Spans, Steps};
use crate::pyramid::{
    count as count_levels, first as first_level, next as next_level, Level, Room, Slices,
};
use crate::search::length_within;

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
