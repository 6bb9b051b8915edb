//! `by_name` for C.

#![allow(unsafe_code)]

use crate::by_name::index;
use crate::ffi::{guarded, slice, slice_mut};

/// Returns 0, or `PANICKED`.
///
/// # Safety
/// `name`, `ts`, `dur` and `rows` lead to `count` values, `first` to `names` + 1, `sum_ns` to `names`.
#[no_mangle]
pub unsafe extern "C" fn kinetoscope_by_name(
    name: *const i32,
    ts: *const i64,
    dur: *const i64,
    count: i64,
    first: *const i64,
    names: i64,
    rows: *mut i32,
    sum_ns: *mut i64,
) -> i64 {
    guarded(|| {
        let (count, names) = (count as usize, names as usize);
        index(
            slice(name, count),
            slice(ts, count),
            slice(dur, count),
            slice(first, names + 1),
            slice_mut(rows, count),
            slice_mut(sum_ns, names),
        );
        0
    })
}
