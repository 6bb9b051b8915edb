//! `paths` for C.

#![allow(unsafe_code)]

use crate::ffi::{guarded, slice, slice_mut};
use crate::paths::find;

/// Returns the number of nodes, or `PANICKED`.
///
/// # Safety
/// The pointers lead to `rows` values each.
#[no_mangle]
pub unsafe extern "C" fn kinetoscope_paths(
    parent: *const i32,
    name: *const i32,
    rows: i64,
    node: *mut i32,
    node_parent: *mut i32,
    first: *mut i32,
) -> i64 {
    guarded(|| {
        let rows = rows as usize;
        let (parent, name) = (slice(parent, rows), slice(name, rows));
        let (node, node_parent) = (slice_mut(node, rows), slice_mut(node_parent, rows));
        let first = slice_mut(first, rows);
        find(parent, name, node, node_parent, first) as i64
    })
}
