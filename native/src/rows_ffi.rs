//! `rows` for C. Columns have values of 1, 4 or 8 bytes, rows of 4 or 8; what has others is a panic.

#![allow(unsafe_code)]

use crate::ffi::{guarded, slice, slice_mut};
use crate::rows::{equal_any, find, mark, put, take};

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

/// Returns 0, or `PANICKED`: then a row is not there.
///
/// # Safety
/// `column` leads to `size` values, `rows` and `out` to `count`.
#[no_mangle]
pub unsafe extern "C" fn kinetoscope_rows_take(
    column: *const u8,
    size: i64,
    width: i64,
    rows: *const u8,
    row_width: i64,
    count: i64,
    out: *mut u8,
) -> i64 {
    guarded(|| {
        let (size, count) = (size as usize, count as usize);
        typed!(width, row_width, |Value, Row| {
            take(
                slice(column.cast::<Value>(), size),
                slice(rows.cast::<Row>(), count),
                slice_mut(out.cast::<Value>(), count),
            )
        });
        0
    })
}

/// Returns 0, or `PANICKED`: then a row is not there, and those before it were put.
///
/// # Safety
/// `column` leads to `size` values, `rows` and `values` to `count`.
#[no_mangle]
pub unsafe extern "C" fn kinetoscope_rows_put(
    column: *mut u8,
    size: i64,
    width: i64,
    rows: *const u8,
    row_width: i64,
    count: i64,
    values: *const u8,
) -> i64 {
    guarded(|| {
        let (size, count) = (size as usize, count as usize);
        typed!(width, row_width, |Value, Row| {
            put(
                slice_mut(column.cast::<Value>(), size),
                slice(rows.cast::<Row>(), count),
                slice(values.cast::<Value>(), count),
            )
        });
        0
    })
}

/// Returns how often the mask holds, or `PANICKED`.
///
/// # Safety
/// `mask` leads to `count` bytes, `out` to `room` values.
#[no_mangle]
pub unsafe extern "C" fn kinetoscope_rows_find(
    mask: *const u8,
    count: i64,
    out: *mut i32,
    room: i64,
) -> i64 {
    guarded(|| find(slice(mask, count as usize), slice_mut(out, room as usize)) as i64)
}

/// Returns 0, or `PANICKED`: then a code is not below `size`.
///
/// # Safety
/// `codes` leads to `count` values, `out` to `size` bytes.
#[no_mangle]
pub unsafe extern "C" fn kinetoscope_rows_mark(
    codes: *const i32,
    count: i64,
    out: *mut u8,
    size: i64,
) -> i64 {
    guarded(|| {
        mark(slice(codes, count as usize), slice_mut(out, size as usize));
        0
    })
}

/// Returns 0, or `PANICKED`.
///
/// # Safety
/// `column` leads to `count` values, `values` to `value_count`, `out` to `count` bytes.
#[no_mangle]
pub unsafe extern "C" fn kinetoscope_rows_equal_any(
    column: *const u8,
    width: i64,
    count: i64,
    values: *const u8,
    value_count: i64,
    out: *mut u8,
) -> i64 {
    guarded(|| {
        typed!(width, |Value| equal_any(
            slice(column.cast::<Value>(), count as usize),
            slice(values.cast::<Value>(), value_count as usize),
            slice_mut(out, count as usize),
        ));
        0
    })
}
