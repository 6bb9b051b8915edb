//! `deflate` for C: a walker is a number that was given by `new`, until `free`.

#![allow(unsafe_code)]

use crate::deflate::Walker;
use crate::ffi::{guarded, slice, slice_mut};

/// What `feed` returns where it is no deflate stream.
const INVALID: i64 = -2;

#[no_mangle]
pub extern "C" fn kinetoscope_deflate_new(span: i64) -> i64 {
    guarded(|| Box::into_raw(Box::new(Walker::new(span as u64))) as i64)
}

/// # Safety
/// `walker` is one, and no other thread uses it.
#[no_mangle]
pub unsafe extern "C" fn kinetoscope_deflate_member(walker: i64, bit: i64, text: i64) -> i64 {
    guarded(|| {
        (*(walker as *mut Walker)).member(bit as u64, text as u64);
        0
    })
}

/// Returns how many boundaries were written, `INVALID`, or `PANICKED`. Those for which there is no
/// room are left out.
///
/// # Safety
/// As above; `data` leads to `size` bytes, `bits` and `texts` to `room` numbers each.
#[no_mangle]
pub unsafe extern "C" fn kinetoscope_deflate_feed(
    walker: i64,
    data: *const u8,
    size: i64,
    bits: *mut i64,
    texts: *mut i64,
    room: i64,
) -> i64 {
    guarded(|| {
        let bits = slice_mut(bits, room as usize);
        let texts = slice_mut(texts, room as usize);
        let mut count = 0;
        let fed = (*(walker as *mut Walker)).feed(slice(data, size as usize), |boundary| {
            if count < bits.len() {
                bits[count] = boundary.bit as i64;
                texts[count] = boundary.text as i64;
                count += 1;
            }
        });
        fed.map_or(INVALID, |()| count as i64)
    })
}

/// # Safety
/// As above; it is one no more.
#[no_mangle]
pub unsafe extern "C" fn kinetoscope_deflate_free(walker: i64) -> i64 {
    guarded(|| {
        drop(Box::from_raw(walker as *mut Walker));
        0
    })
}
