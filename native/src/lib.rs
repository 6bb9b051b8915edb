//! The loops of kinetoscope that are worth a machine language.
//!
//! Every module is safe Rust on slices and has its reference in Python; `ffi.rs` and `scan/ffi.rs` alone
//! speak C, and let no panic out.

#![deny(unsafe_code)]

pub mod deflate;
pub mod ffi;
pub mod frames;
pub mod groups;
pub mod holders;
pub mod intervals;
pub mod lanes;
pub mod links;
pub mod nest;
pub mod order;
pub mod paths;
pub mod perfetto;
pub mod pyramid;
pub mod rows;
pub mod scan;
pub mod search;
pub mod snapshot;
