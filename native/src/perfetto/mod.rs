//! Perfetto protobuf as the JSON text of the same trace, in two passes over the file.
//!
//! The reference is `trace/perfetto` in Python: each file here has the name of its module there, and both
//! write the same text, byte by byte, for whatever they are given.

pub mod devices;
pub mod json_values;
pub mod messages;
pub mod packets;
pub mod slices;
pub mod survey;
pub mod transcoder;
pub mod wire;
pub mod writer;
