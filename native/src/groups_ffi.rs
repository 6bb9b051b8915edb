//! `groups` for C.

#![allow(unsafe_code)]

use crate::ffi::{guarded, slice, slice_mut};
use crate::groups::{ranks, sums, Ranks};

/// Returns 0, or `PANICKED`: then a code was no group.
///
/// # Safety
/// `code` and `value` lead to `rows` values each, `sum` and `count` to `groups`.
#[no_mangle]
pub unsafe extern "C" fn kinetoscope_group_sums(
    code: *const i32,
    value: *const i64,
    rows: i64,
    groups: i64,
    sum: *mut i64,
    count: *mut i64,
) -> i64 {
    guarded(|| {
        let (rows, groups) = (rows as usize, groups as usize);
        let (sum, count) = (slice_mut(sum, groups), slice_mut(count, groups));
        sums(slice(code, rows), slice(value, rows), sum, count);
        0
    })
}

/// Returns 0, or `PANICKED`: then a code was no group, or the counts were not those of the codes.
///
/// # Safety
/// `code`, `value` and `room` lead to `rows` values each, the others to `groups`.
#[no_mangle]
pub unsafe extern "C" fn kinetoscope_group_ranks(
    code: *const i32,
    value: *const i64,
    rows: i64,
    groups: i64,
    count: *const i64,
    room: *mut i64,
    least: *mut i64,
    median: *mut i64,
    p95: *mut i64,
    most: *mut i64,
    longest: *mut i64,
) -> i64 {
    guarded(|| {
        let (rows, groups) = (rows as usize, groups as usize);
        let mut found = Ranks {
            least: slice_mut(least, groups),
            median: slice_mut(median, groups),
            p95: slice_mut(p95, groups),
            most: slice_mut(most, groups),
            longest: slice_mut(longest, groups),
        };
        let (code, value) = (slice(code, rows), slice(value, rows));
        ranks(
            code,
            value,
            slice(count, groups),
            slice_mut(room, rows),
            &mut found,
        );
        0
    })
}
