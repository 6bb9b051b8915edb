//! `pyramid` for C.

#![allow(unsafe_code)]
#![allow(clippy::too_many_arguments)]

use crate::ffi::{guarded, slice, slice_mut};
use crate::pyramid::{count, first, next, Level, Room, Slices};

/// Returns 0, or `PANICKED`.
///
/// # Safety
/// `order` leads to `rows` values, `lane_first` to `lanes` + 1, `ts` and `dur` to `ids`, `small` and
/// `records` to `levels`.
#[no_mangle]
pub unsafe extern "C" fn kinetoscope_pyramid_count(
    order: *const i32,
    rows: i64,
    lane_first: *const i64,
    lanes: i64,
    ts: *const i64,
    dur: *const i64,
    ids: i64,
    small: *mut i64,
    records: *mut i64,
    levels: i64,
) -> i64 {
    guarded(|| {
        let slices = slices(order, rows, lane_first, lanes, ts, dur, ids);
        let levels = levels as usize;
        count(
            &slices,
            slice_mut(small, levels),
            slice_mut(records, levels),
        );
        0
    })
}

/// Returns 0, or `PANICKED`.
///
/// # Safety
/// As above, and the room leads to `lanes` + 1 values (`*_first`), `records` (`bucket` … `longest`)
/// and `rects` (`rect`).
#[no_mangle]
pub unsafe extern "C" fn kinetoscope_pyramid_first(
    order: *const i32,
    rows: i64,
    lane_first: *const i64,
    lanes: i64,
    ts: *const i64,
    dur: *const i64,
    ids: i64,
    level: i64,
    bucket_first: *mut i64,
    bucket: *mut i64,
    sums: *mut i64,
    sum_ns: *mut i64,
    longest: *mut i32,
    records: i64,
    rect_first: *mut i64,
    rect: *mut i32,
    rects: i64,
) -> i64 {
    guarded(|| {
        let slices = slices(order, rows, lane_first, lanes, ts, dur, ids);
        let (lanes, records) = (lanes as usize, records as usize);
        let mut room = Room {
            bucket_first: slice_mut(bucket_first, lanes + 1),
            bucket: slice_mut(bucket, records),
            count: slice_mut(sums, records),
            sum_ns: slice_mut(sum_ns, records),
            longest: slice_mut(longest, records),
            rect_first: slice_mut(rect_first, lanes + 1),
            rect: slice_mut(rect, rects as usize),
        };
        first(&slices, level as u32, &mut room);
        0
    })
}

/// Returns 0, or `PANICKED`.
///
/// # Safety
/// As above; the level below has `lanes` + 1, `below_records` and `below_rects` values.
#[no_mangle]
pub unsafe extern "C" fn kinetoscope_pyramid_next(
    below_bucket_first: *const i64,
    below_bucket: *const i64,
    below_sums: *const i64,
    below_sum_ns: *const i64,
    below_longest: *const i32,
    below_records: i64,
    below_rect_first: *const i64,
    below_rect: *const i32,
    below_rects: i64,
    lanes: i64,
    ts: *const i64,
    dur: *const i64,
    ids: i64,
    level: i64,
    bucket_first: *mut i64,
    bucket: *mut i64,
    sums: *mut i64,
    sum_ns: *mut i64,
    longest: *mut i32,
    records: i64,
    rect_first: *mut i64,
    rect: *mut i32,
    rects: i64,
) -> i64 {
    guarded(|| {
        let lanes = lanes as usize;
        let below_records = below_records as usize;
        let below = Level {
            bucket_first: slice(below_bucket_first, lanes + 1),
            bucket: slice(below_bucket, below_records),
            count: slice(below_sums, below_records),
            sum_ns: slice(below_sum_ns, below_records),
            longest: slice(below_longest, below_records),
            rect_first: slice(below_rect_first, lanes + 1),
            rect: slice(below_rect, below_rects as usize),
        };
        let slices = slices(std::ptr::null(), 0, std::ptr::null(), -1, ts, dur, ids);
        let records = records as usize;
        let mut room = Room {
            bucket_first: slice_mut(bucket_first, lanes + 1),
            bucket: slice_mut(bucket, records),
            count: slice_mut(sums, records),
            sum_ns: slice_mut(sum_ns, records),
            longest: slice_mut(longest, records),
            rect_first: slice_mut(rect_first, lanes + 1),
            rect: slice_mut(rect, rects as usize),
        };
        next(&below, &slices, level as u32, &mut room);
        0
    })
}

unsafe fn slices<'a>(
    order: *const i32,
    rows: i64,
    lane_first: *const i64,
    lanes: i64,
    ts: *const i64,
    dur: *const i64,
    ids: i64,
) -> Slices<'a> {
    Slices {
        order: slice(order, rows as usize),
        lane_first: slice(lane_first, (lanes + 1) as usize),
        ts: slice(ts, ids as usize),
        dur: slice(dur, ids as usize),
    }
}
