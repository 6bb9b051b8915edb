//! Perfetto protobuf as the JSON text of the same trace, in two passes over the file.
//!
//! `tests/reference/perfetto` in Python writes the same text, byte by byte, for whatever both are given.

pub mod devices;
pub mod frames;
pub mod json_values;
pub mod messages;
pub mod names;
pub mod packets;
pub mod rows;
pub mod sequence;
pub mod slices;
pub mod survey;
pub mod transcoder;
pub mod wire;
pub mod writer;
