//! The scanner for C. It lives from `new` to `free`; one thread at a time may use it.
//! In all functions `scanner` is of `new`.

#![allow(unsafe_code)]

use std::hash::{BuildHasher, Hasher};
use std::ptr::null_mut;

use super::blocks::{read, Block, Limits};
use super::bytes::Key;
use super::columns::{Column, Extent};
use super::keys::{Kind, Widths};
use super::pieces::Pieces;
use super::scanner::{End, Scanner};
use crate::ffi::{exported, guarded, slice, slice_mut};

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

exported! {
    /// Takes the events of a text in `count` pieces from `start` on in blocks of `block_bytes`, none of which begins from `stop` on, with up to
    /// `threads` threads; `blocks` gets of each where it begins, where its last event ends and how many rows it has,
    /// and `found` how many there are; there is room for `most`. On several threads this one calls `ahead` meanwhile, if
    /// there is such a function: it gets a piece of the text behind these, and returns how many more are wanted.
    ///
    /// Returns 1 if the reference must read the next member, 0 if the text ends.
    kinetoscope_scan_run(
        scanner: raw(*mut Scanner),
        pieces: read(*const u8; count),
        lens: read(i64; count),
        count: number,
        start: number,
        stop: number,
        block_bytes: number,
        max_bytes: number,
        threads: number,
        ahead: raw(Option<extern "C" fn() -> i64>),
        blocks: write(i64; 3 * most),
        most: number,
        found: write(i64; 1),
    ) {
        let limits = Limits { block_bytes, max_bytes, stop, threads };
        let text = Pieces::new(
            pieces.iter().zip(lens).map(|(&data, &len)| slice(data, len as usize)).collect(),
        );
        let mut ahead = || ahead.map_or(0, |ahead| ahead().max(0) as usize);
        let (taken, why) = read(&mut *scanner, &text, start, limits, &mut ahead);
        for (to, block) in blocks.chunks_exact_mut(3).zip(&taken) {
            let Block { bytes, rows } = block;
            to.copy_from_slice(&[bytes.start as i64, bytes.end as i64, *rows as i64]);
        }
        assert!(taken.len() <= most);
        found[0] = taken.len() as i64;
        i64::from(why == End::Left)
    }

    /// The code of a text.
    kinetoscope_scan_code(scanner: raw(*mut Scanner), text: read(u8; len), len: number) {
        i64::from((*scanner).texts.code(text))
    }

    /// The next run makes room for so many events in all, with values as often as so far, while other threads go on
    /// reading; returns 0.
    kinetoscope_scan_expect(scanner: raw(*mut Scanner), rows: number) {
        (*scanner).expected = Some(rows);
        0
    }

    /// Whether some event has a phase.
    kinetoscope_scan_phased(scanner: raw(*const Scanner)) {
        i64::from((*scanner).columns.phased)
    }

    /// Appends events that another reader has read; returns 0. Their sparse values are added with `put`.
    kinetoscope_scan_add(
        scanner: raw(*mut Scanner),
        count: number,
        phase: read(u8; count),
        codes: read(*const u32; 4),
        ts: read(i64; count),
        dur: read(i64; count),
    ) {
        let columns = &mut (*scanner).columns;
        for &phase in phase {
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
        for (column, &codes) in coded.into_iter().zip(codes) {
            slice(codes, count).iter().for_each(|&code| column.push(code));
        }
        ts.iter().for_each(|&ns| dense.ts.push(ns));
        dur.iter().for_each(|&ns| dense.dur.push(ns));
        0
    }

    /// Appends values of a sparse column: int64, double or uint32, as its kind is; returns 0.
    kinetoscope_scan_put(
        scanner: raw(*mut Scanner),
        column: number,
        count: number,
        rows: read(u32; count),
        value: raw(*const u8),
    ) {
        let scanner = &mut *scanner;
        let to = column as u8;
        match scanner.widths.kind(column) {
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
    }
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

exported! {
    /// How many texts there are; `bytes` gets how many bytes they have together.
    kinetoscope_scan_texts(
        scanner: raw(*const Scanner),
        bytes: raw(*mut i64),
    ) {
        let texts = &(*scanner).texts;
        *bytes = texts.arena().len() as i64;
        texts.len() as i64
    }

    /// Copies out all texts, one behind the other, and where each ends; returns 0.
    kinetoscope_scan_take_texts(
        scanner: raw(*const Scanner),
        ends: raw(*mut i64),
        text: raw(*mut u8),
    ) {
        let texts = &(*scanner).texts;
        for (to, end) in slice_mut(ends, texts.len()).iter_mut().zip(texts.ends()) {
            *to = end;
        }
        slice_mut(text, texts.arena().len()).copy_from_slice(texts.arena());
        0
    }
}
