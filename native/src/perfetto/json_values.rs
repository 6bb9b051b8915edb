//! Values of a Perfetto file as JSON text.

use std::io::Write;

use super::packets::Sequence;
use super::wire::{BadPacket, Message};

/// Of lists and objects in an argument.
pub const MOST_DEPTH: usize = 32;

/// Appends `text` as a string of JSON, without its quotes.
pub fn escape(out: &mut Vec<u8>, text: &str) {
    for &byte in text.as_bytes() {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0..=31 => put(out, format_args!("\\u{:04x}", byte)),
            _ => out.push(byte),
        }
    }
}

/// Appends `text` as a string of JSON.
pub fn quote(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    escape(out, text);
    out.push(b'"');
}

pub fn quoted(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    quote(&mut out, text);
    out
}

/// Appends formatted text.
pub fn put(out: &mut Vec<u8>, text: std::fmt::Arguments) {
    // A vector takes all that is written.
    let _ = out.write_fmt(text);
}

/// Appends an integer.
pub fn int(out: &mut Vec<u8>, value: u64) {
    let mut digits = [0u8; 20];
    let (mut at, mut left) = (20, value);
    loop {
        at -= 1;
        digits[at] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

pub fn signed(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    int(out, value.unsigned_abs());
}

/// Appends nanoseconds as microseconds with all digits.
pub fn us(out: &mut Vec<u8>, ns: i64) {
    if ns < 0 {
        out.push(b'-');
    }
    let ns = ns.unsigned_abs();
    int(out, ns / 1000);
    let rest = (ns % 1000) as u16;
    out.extend_from_slice(&[
        b'.',
        b'0' + (rest / 100) as u8,
        b'0' + (rest / 10 % 10) as u8,
        b'0' + (rest % 10) as u8,
    ]);
}

/// Of as many digits, no two texts read as one number.
const SAFE_DIGITS: usize = 15;

/// Appends the shortest text that reads as this number, of several the least; null where it is none.
pub fn decimal(out: &mut Vec<u8>, value: f64) {
    if !value.is_finite() {
        out.extend_from_slice(b"null");
        return;
    }
    let mut text = format!("{:?}", value).into_bytes();
    let digits = text
        .iter()
        .position(|&byte| byte == b'e')
        .unwrap_or(text.len());
    // Languages differ in which of two texts they choose that are equally near.
    while digits > SAFE_DIGITS && !text[..digits].ends_with(b".0") && text[digits - 1] != b'0' {
        text[digits - 1] -= 1;
        let less = std::str::from_utf8(&text).map_or(Ok(f64::NAN), str::parse);
        if less != Ok(value) {
            text[digits - 1] += 1;
            break;
        }
    }
    out.extend_from_slice(&text);
}

/// Called with the number of a name that the file does not explain.
pub type OnLost<'a> = &'a mut dyn FnMut(u64);

/// Appends name and value of an argument, or its value alone.
pub fn argument(
    out: &mut Vec<u8>,
    message: &Message,
    sequence: &Sequence,
    on_lost: OnLost,
    depth: usize,
    named: bool,
) -> Result<(), BadPacket> {
    if depth > MOST_DEPTH {
        return Err(BadPacket);
    }
    let before = out.len();
    if message.has(10) {
        quote(out, &message.text(10));
    } else if let Some(iid) = message.int(1) {
        sequence.arg_names.put(out, iid, on_lost);
    } else {
        out.extend_from_slice(b"\"\"");
    }
    out.push(b':');
    if !named {
        out.truncate(before);
    }
    for (number, open, close) in [(11, b'{', b'}'), (12, b'[', b']')] {
        if !message.has(number) {
            continue;
        }
        out.push(open);
        for (index, one) in message.messages(number).enumerate() {
            if index > 0 {
                out.push(b',');
            }
            argument(out, &one?, sequence, on_lost, depth + 1, number == 11)?;
        }
        out.push(close);
        return Ok(());
    }
    scalar(out, message, sequence, on_lost);
    Ok(())
}

fn scalar(out: &mut Vec<u8>, message: &Message, sequence: &Sequence, on_lost: OnLost) {
    if let Some(number) = [6, 9].into_iter().find(|&number| message.has(number)) {
        quote(out, &message.text(number));
    } else if let Some(value) = message.double(5) {
        decimal(out, value);
    } else if let Some(value) = message.int(4) {
        signed(out, value as i64);
    } else if let Some(value) = message.int(3) {
        int(out, value);
    } else if let Some(value) = message.int(2) {
        out.extend_from_slice(if value > 0 { b"true" } else { b"false" });
    } else if let Some(value) = message.int(7) {
        put(out, format_args!("\"{:#x}\"", value));
    } else if let Some(iid) = message.int(17) {
        sequence.arg_texts.put(out, iid, on_lost);
    } else {
        out.extend_from_slice(b"[]");
    }
}
