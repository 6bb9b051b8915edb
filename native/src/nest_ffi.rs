//! `nest` for C.

#![allow(unsafe_code)]

use crate::ffi::{guarded, slice, slice_mut};
use crate::nest::{nest, outer_rows, Nesting, Rows, Tolerance};

/// Returns the number of overruns, or `PANICKED`.
///
/// # Safety
/// The pointers lead to `rows` values each.
#[no_mangle]
pub unsafe extern "C" fn kinetoscope_nest(
    ts: *const i64,
    end: *const i64,
    first: *const u8,
    clock: *const i8,
    rows: i64,
    tolerance: i64,
    two_clocks: i64,
    outer: *mut i32,
    parent: *mut i32,
    depth: *mut i16,
    self_ns: *mut i64,
    overrun_row: *mut i32,
    overrun_ns: *mut i64,
) -> i64 {
    guarded(|| {
        let count = rows as usize;
        let rows = Rows {
            ts: slice(ts, count),
            end: slice(end, count),
            first: slice(first, count),
            clock: slice(clock, count),
        };
        let mut to = Nesting {
            outer: slice_mut(outer, count),
            parent: slice_mut(parent, count),
            depth: slice_mut(depth, count),
            self_ns: slice_mut(self_ns, count),
            overrun_row: slice_mut(overrun_row, count),
            overrun_ns: slice_mut(overrun_ns, count),
        };
        let tolerance = Tolerance {
            any: tolerance,
            two_clocks,
        };
        nest(rows, tolerance, &mut to) as i64
    })
}

/// Returns 0, or `PANICKED`.
///
/// # Safety
/// The pointers lead to `rows` values each.
#[no_mangle]
pub unsafe extern "C" fn kinetoscope_outer_rows(
    ts: *const i64,
    end: *const i64,
    first: *const u8,
    rows: i64,
    outer: *mut i32,
) -> i64 {
    guarded(|| {
        let rows = rows as usize;
        let (ts, end, first) = (slice(ts, rows), slice(end, rows), slice(first, rows));
        outer_rows(ts, end, first, slice_mut(outer, rows));
        0
    })
}
