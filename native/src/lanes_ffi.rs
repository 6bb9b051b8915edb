//! `lanes` for C.

#![allow(unsafe_code)]

use crate::ffi::{guarded, slice, slice_mut};
use crate::lanes::assign;

/// Returns 0, or `PANICKED`.
///
/// # Safety
/// The pointers lead to `rows` values each.
#[no_mangle]
pub unsafe extern "C" fn kinetoscope_lanes(
    ts: *const i64,
    dur: *const i64,
    first: *const u8,
    rows: i64,
    tolerance: i64,
    lane: *mut u16,
    displaced: *mut u8,
) -> i64 {
    guarded(|| {
        let rows = rows as usize;
        let (ts, dur, first) = (slice(ts, rows), slice(dur, rows), slice(first, rows));
        let (lane, displaced) = (slice_mut(lane, rows), slice_mut(displaced, rows));
        assign(ts, dur, first, tolerance, lane, displaced);
        0
    })
}
