//! `tree` for C.

#![allow(unsafe_code)]

use crate::ffi::{guarded, slice, slice_mut};
use crate::tree::{inherit, sum_up};

/// Returns 0, or `PANICKED`: then a parent is behind its row.
///
/// # Safety
/// The pointers lead to `rows` values each.
#[no_mangle]
pub unsafe extern "C" fn kinetoscope_tree_inherit(
    parent: *const i32,
    own: *mut i32,
    rows: i64,
) -> i64 {
    guarded(|| {
        let rows = rows as usize;
        inherit(slice(parent, rows), slice_mut(own, rows));
        0
    })
}

/// Returns 0, or `PANICKED`: then a parent is behind its row.
///
/// # Safety
/// The pointers lead to `rows` values each.
#[no_mangle]
pub unsafe extern "C" fn kinetoscope_tree_sum_up(
    parent: *const i32,
    value: *mut i64,
    rows: i64,
) -> i64 {
    guarded(|| {
        let rows = rows as usize;
        sum_up(slice(parent, rows), slice_mut(value, rows));
        0
    })
}
