//! The functions for C: pointers become slices here, and no panic leaves.
//!
//! This file and `scan/ffi.rs` hold nothing but the translation, and all unsafe code. Numbers are 64
//! bits wide.

#![allow(unsafe_code)]
#![allow(clippy::too_many_arguments)]

use std::panic::{catch_unwind, AssertUnwindSafe};

/// Grows with every change of a signature or of a meaning; Python refuses a library of another
/// number.
pub const INTERFACE: u32 = 19;

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

/// A function for C. Its parameters are `read(type; length)` and `write(type; length)`, pointers that
/// the body has as slices of so many values; `number`, which the body has as usize; and `raw(type)`,
/// handed on as it comes. The body makes the i64 that is returned; `PANICKED` where it panics.
macro_rules! exported {
    ($(
        $(#[$doc:meta])*
        $function:ident($($name:ident: $kind:ident $(($($of:tt)+))?),* $(,)?) $body:block
    )*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// Each pointer leads to as many values as the function says.
        #[no_mangle]
        pub unsafe extern "C" fn $function(
            $($name: exported!(@type $kind $(($($of)+))?)),*
        ) -> i64 {
            $crate::ffi::guarded(|| {
                $(#[allow(unused_variables)] // of a length, once it is known
                let $name = exported!(@value $name $kind $(($($of)+))?);)*
                $body
            })
        }
    )*};
    (@type number) => { i64 };
    (@type raw($type:ty)) => { $type };
    (@type read($type:ty; $len:expr)) => { *const $type };
    (@type write($type:ty; $len:expr)) => { *mut $type };
    (@value $name:ident number) => { $name as usize };
    (@value $name:ident raw($type:ty)) => { $name };
    (@value $name:ident read($type:ty; $len:expr)) => {
        $crate::ffi::slice($name, ($len) as usize)
    };
    (@value $name:ident write($type:ty; $len:expr)) => {
        $crate::ffi::slice_mut($name, ($len) as usize)
    };
}
pub(crate) use exported;

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
            1 => {
                type $row = u8;
                typed!($width, |$value| $body)
            }
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

mod files;
mod groups;
mod links;
mod rows;
mod times;
mod trees;

#[cfg(test)]
mod tests {
    use super::{guarded, PANICKED};

    #[test]
    fn a_panic_becomes_a_number() {
        assert_eq!(guarded(|| panic!("on purpose")), PANICKED);
        assert_eq!(guarded(|| 7), 7);
    }
}
