//! The loops of kinetoscope that are worth a machine language.
//!
//! Every module is safe Rust on slices and has its reference in Python; `ffi.rs` and `*_ffi.rs` alone
//! speak C, and let no panic out.

#![deny(unsafe_code)]

pub mod by_name;
pub mod by_name_ffi;
pub mod deflate;
pub mod deflate_codes;
pub mod deflate_ffi;
pub mod ffi;
pub mod groups;
pub mod groups_ffi;
pub mod lanes;
pub mod lanes_ffi;
pub mod nest;
pub mod nest_ffi;
pub mod paths;
pub mod paths_ffi;
pub mod pyramid;
pub mod pyramid_ffi;
pub mod rows;
pub mod rows_ffi;
pub mod scan;
pub mod scan_ffi;
pub mod tree;
pub mod tree_ffi;
