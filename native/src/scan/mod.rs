//! The text of `traceEvents` as columns: whole events that are strict JSON, many times faster than the reference.
//!
//! The reference in Python (`tb_plugin/trace/scan/reference.py`) says what every event means. This module reads the events that
//! leave nothing to say: strict JSON, with values of the usual types. It stops in front of any other event, of which it
//! has then taken nothing, and the reference reads that one. So what it reads means the same by construction, and
//! everything that is damaged or odd is decided in one place.
//!
//! `bytes` white space and strings, `number` numbers and times, `nested` values within values,
//! `keys` which argument goes to which column, `shapes` what stands between values, `repeats` which values repeat, `values`
//! the others, `event` one event, `scanner` runs of events, `texts` texts as codes, `columns` what has been read,
//! `pieces` the text in memory, `blocks` the way through it, on several threads, `guesses` where these begin.

pub mod blocks;
pub mod bytes;
pub mod columns;
pub mod event;
pub mod ffi;
pub mod guesses;
pub mod keys;
pub mod nested;
pub mod number;
pub mod pieces;
pub mod repeats;
pub mod scanner;
pub mod shapes;
pub mod texts;
pub mod values;

/// Why an event was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The text in memory ends before the event does.
    More,
    /// The reference must read it.
    Left,
}

/// Levels of nesting in an event; the reference says what becomes of deeper ones.
pub const MAX_DEPTH: u32 = 60;
