//! `scan` for C. A scanner lives from `new` to `free`; one thread at a time may use it.

#![allow(unsafe_code)]

use std::hash::{BuildHasher, Hasher};
use std::ptr::null_mut;

use crate::ffi::{guarded, slice, slice_mut};
use crate::scan::bytes::Key;
use crate::scan::column::{Column, Extent};
use crate::scan::keys::{Kind, Widths};
use crate::scan::scanner::{End, Scanner};

/// A scanner for these columns (`scan::keys` describes the table), or null.
///
/// # Safety
/// `table` leads to `len` bytes.
#[no_mangle]
pub unsafe extern "C" fn kinetoscope_scan_new(
    table: *const u8,
    len: i64,
    ints: i64,
    floats: i64,
    texts: i64,
) -> *mut Scanner {
    let mut made = null_mut();
    guarded(|| {
        let widths = Widths {
            ints: ints as usize,
            floats: floats as usize,
            texts: texts as usize,
        };
        let key = Key(std::collections::hash_map::RandomState::new()
            .build_hasher()
            .finish());
        if let Some(scanner) = Scanner::new(slice(table, len as usize), widths, key) {
            made = Box::into_raw(Box::new(scanner));
        }
        0
    });
    made
}

/// # Safety
/// `scanner` is of `new`, and not used again.
#[no_mangle]
pub unsafe extern "C" fn kinetoscope_scan_free(scanner: *mut Scanner) {
    guarded(|| {
        drop(Box::from_raw(scanner));
        0
    });
}

/// Takes the events of `data` that begin from `start` on and before `stop`; `taken` gets the place behind the last one,
/// and how many rows there are now.
///
/// Returns 1 if the reference must read the next member, 0 if the text ends, or `PANICKED`.
///
/// # Safety
/// `scanner` is of `new`, `data` leads to `len` bytes, `taken` to two values.
#[no_mangle]
pub unsafe extern "C" fn kinetoscope_scan_run(
    scanner: *mut Scanner,
    data: *const u8,
    len: i64,
    start: i64,
    stop: i64,
    max_bytes: i64,
    taken: *mut i64,
) -> i64 {
    guarded(|| {
        let data = slice(data, len as usize);
        let (end, why) = (*scanner).run(data, start as usize, stop as usize, max_bytes as usize);
        slice_mut(taken, 2).copy_from_slice(&[end as i64, (*scanner).columns.rows() as i64]);
        i64::from(why == End::Left)
    })
}

/// The code of a text.
///
/// # Safety
/// `scanner` is of `new`, `text` leads to `len` bytes.
#[no_mangle]
pub unsafe extern "C" fn kinetoscope_scan_code(
    scanner: *mut Scanner,
    text: *const u8,
    len: i64,
) -> i64 {
    guarded(|| i64::from((*scanner).texts.code(slice(text, len as usize))))
}

/// Whether some event has a phase.
///
/// # Safety
/// `scanner` is of `new`.
#[no_mangle]
pub unsafe extern "C" fn kinetoscope_scan_phased(scanner: *const Scanner) -> i64 {
    guarded(|| i64::from((*scanner).columns.phased))
}

/// Appends events that another reader has read; returns 0. Their sparse values are added with `put`.
///
/// # Safety
/// `scanner` is of `new`, the others lead to `count` values each.
#[no_mangle]
pub unsafe extern "C" fn kinetoscope_scan_add(
    scanner: *mut Scanner,
    count: i64,
    phase: *const u8,
    codes: *const *const u32,
    ts: *const i64,
    dur: *const i64,
) -> i64 {
    guarded(|| {
        let count = count as usize;
        let columns = &mut (*scanner).columns;
        for &phase in slice(phase, count) {
            columns.phased |= phase != 0;
            columns.dense.phase.push(phase);
        }
        let dense = &mut columns.dense;
        let coded = [
            &mut dense.category,
            &mut dense.name,
            &mut dense.pid,
            &mut dense.tid,
        ];
        for (column, &codes) in coded.into_iter().zip(slice(codes, 4)) {
            slice(codes, count)
                .iter()
                .for_each(|&code| column.push(code));
        }
        slice(ts, count).iter().for_each(|&ns| dense.ts.push(ns));
        slice(dur, count).iter().for_each(|&ns| dense.dur.push(ns));
        0
    })
}

/// Appends values of a sparse column: int64, double or uint32, as its kind is; returns 0.
///
/// # Safety
/// `scanner` is of `new`, `row` and `value` lead to `count` values each.
#[no_mangle]
pub unsafe extern "C" fn kinetoscope_scan_put(
    scanner: *mut Scanner,
    column: i64,
    count: i64,
    row: *const u32,
    value: *const u8,
) -> i64 {
    guarded(|| {
        let count = count as usize;
        let scanner = &mut *scanner;
        let rows = slice(row, count);
        let to = column as u8;
        match scanner.widths.kind(column as usize) {
            Kind::Int => {
                let values = slice(value.cast::<i64>(), count);
                rows.iter()
                    .zip(values)
                    .for_each(|(&row, &value)| scanner.columns.put_int(to, row, value));
            }
            Kind::Float => {
                let values = slice(value.cast::<f64>(), count);
                rows.iter()
                    .zip(values)
                    .for_each(|(&row, &value)| scanner.columns.put_float(to, row, value));
            }
            Kind::Text => {
                let values = slice(value.cast::<u32>(), count);
                rows.iter()
                    .zip(values)
                    .for_each(|(&row, &value)| scanner.columns.put_text(to, row, value));
            }
        }
        0
    })
}

/// Where a column is that was handed over, how many values it has, and the bytes of each.
#[repr(C)]
pub struct Handed {
    data: *const u8,
    count: i64,
    width: i64,
}

/// Hands a dense column over; they are numbered as `raw.py` lists them. Null if it failed.
///
/// # Safety
/// `scanner` is of `new`, `handed` leads to one.
#[no_mangle]
pub unsafe extern "C" fn kinetoscope_scan_take(
    scanner: *mut Scanner,
    column: i64,
    handed: *mut Handed,
) -> *mut Column {
    hand_over(handed, || (*scanner).columns.take_dense(column as usize))
}

/// Hands the rows of a sparse column over, uint32. Null if it failed.
///
/// # Safety
/// As `take`.
#[no_mangle]
pub unsafe extern "C" fn kinetoscope_scan_take_rows(
    scanner: *mut Scanner,
    column: i64,
    handed: *mut Handed,
) -> *mut Column {
    hand_over(handed, || (*scanner).columns.take_rows(column as usize))
}

/// Hands the values of a sparse column over: double, uint32, int64, or int32 where all fit. Null if it failed.
///
/// # Safety
/// As `take`.
#[no_mangle]
pub unsafe extern "C" fn kinetoscope_scan_take_values(
    scanner: *mut Scanner,
    column: i64,
    handed: *mut Handed,
) -> *mut Column {
    hand_over(handed, || (*scanner).columns.take_values(column as usize))
}

/// As `take_values`, but integers are int64.
///
/// # Safety
/// As `take`.
#[no_mangle]
pub unsafe extern "C" fn kinetoscope_scan_take_wide_values(
    scanner: *mut Scanner,
    column: i64,
    handed: *mut Handed,
) -> *mut Column {
    hand_over(handed, || {
        (*scanner).columns.take_wide_values(column as usize)
    })
}

/// # Safety
/// `handed` leads to one.
unsafe fn hand_over(handed: *mut Handed, take: impl FnOnce() -> Column) -> *mut Column {
    let mut made = null_mut();
    guarded(|| {
        let column = Box::new(take().shrunk());
        let Extent { data, count, width } = column.extent();
        *handed = Handed {
            data,
            count: count as i64,
            width: width as i64,
        };
        made = Box::into_raw(column);
        0
    });
    made
}

/// Frees a column that was handed over.
///
/// # Safety
/// `column` is of one of the functions above, and nobody reads it any more.
#[no_mangle]
pub unsafe extern "C" fn kinetoscope_scan_free_column(column: *mut Column) {
    guarded(|| {
        drop(Box::from_raw(column));
        0
    });
}

/// How many texts there are; `bytes` gets how many bytes they have together.
///
/// # Safety
/// `scanner` is of `new`, `bytes` leads to one value.
#[no_mangle]
pub unsafe extern "C" fn kinetoscope_scan_texts(scanner: *const Scanner, bytes: *mut i64) -> i64 {
    guarded(|| {
        let texts = &(*scanner).texts;
        *bytes = texts.arena().len() as i64;
        texts.len() as i64
    })
}

/// Copies out all texts, one behind the other, and where each ends; returns 0.
///
/// # Safety
/// `scanner` is of `new`, `ends` and `text` are as long as `texts` says.
#[no_mangle]
pub unsafe extern "C" fn kinetoscope_scan_take_texts(
    scanner: *const Scanner,
    ends: *mut i64,
    text: *mut u8,
) -> i64 {
    guarded(|| {
        let texts = &(*scanner).texts;
        for (to, end) in slice_mut(ends, texts.len()).iter_mut().zip(texts.ends()) {
            *to = end;
        }
        slice_mut(text, texts.arena().len()).copy_from_slice(texts.arena());
        0
    })
}
