//! What every C function of this library shares: pointers become slices here, and no panic leaves.
//!
//! The modules `*_ffi` hold the functions themselves, one file per subject, and nothing but the
//! translation. Numbers are 64 bits wide.

#![allow(unsafe_code)]

use std::panic::{catch_unwind, AssertUnwindSafe};

/// Grows with every change of a signature or of a meaning; Python refuses a library of another
/// number.
pub const INTERFACE: u32 = 2;

/// What a function returns when it panicked: the caller falls back to the reference.
pub const PANICKED: i64 = -1;

#[no_mangle]
pub extern "C" fn kinetoscope_interface() -> u32 {
    INTERFACE
}

/// Runs `body`, and answers `PANICKED` instead of unwinding into C.
pub fn guarded(body: impl FnOnce() -> i64) -> i64 {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(PANICKED)
}

/// The `len` values at `data`.
///
/// # Safety
/// `data` points to `len` initialised values that nobody changes while the slice lives, or `len` is
/// 0.
pub unsafe fn slice<'a, T>(data: *const T, len: usize) -> &'a [T] {
    if len == 0 {
        &[]
    } else {
        std::slice::from_raw_parts(data, len)
    }
}

/// The `len` values at `data`, to be written.
///
/// # Safety
/// As `slice`, and nobody else reads or writes them while the slice lives.
pub unsafe fn slice_mut<'a, T>(data: *mut T, len: usize) -> &'a mut [T] {
    if len == 0 {
        &mut []
    } else {
        std::slice::from_raw_parts_mut(data, len)
    }
}

#[cfg(test)]
mod tests {
    use super::{guarded, PANICKED};

    #[test]
    fn a_panic_becomes_a_number() {
        assert_eq!(guarded(|| panic!("on purpose")), PANICKED);
        assert_eq!(guarded(|| 7), 7);
    }
}
