//! The loops of kinetoscope that are worth a machine language.
//!
//! Every module is safe Rust on slices and has its reference in Python; `ffi.rs` alone speaks C, and lets no panic out.

#![deny(unsafe_code)]

pub mod ffi;
pub mod lanes;
pub mod lanes_ffi;
pub mod scan;
pub mod scan_ffi;
