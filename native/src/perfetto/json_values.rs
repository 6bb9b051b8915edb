//! Values of a Perfetto file as JSON text.

use std::io::Write;

use super::sequence::{Sequence, Table};
use super::wire::{double_of, each_field, BadPacket, Field, Wire};

/// Of lists and objects in an argument.
pub const MOST_DEPTH: usize = 32;

/// Appends `text` as a string of JSON, without its quotes.
pub fn escape(out: &mut Vec<u8>, text: &str) {
    let mut rest = text.as_bytes();
    while let Some(at) = rest
        .iter()
        .position(|&byte| byte < 32 || byte == b'"' || byte == b'\\')
    {
        out.extend_from_slice(&rest[..at]);
        match rest[at] {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            byte => put(out, format_args!("\\u{:04x}", byte)),
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

/// Appends bytes as a string of JSON; those that are no UTF-8 become U+FFFD.
pub fn quote_bytes(out: &mut Vec<u8>, text: &[u8]) {
    match std::str::from_utf8(text) {
        Ok(text) => quote(out, text),
        Err(_) => quote(out, &String::from_utf8_lossy(text)),
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

const PAIRS: &[u8; 200] = b"00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

/// Appends an integer.
pub fn int(out: &mut Vec<u8>, value: u64) {
    let mut digits = [0u8; 20];
    let (mut at, mut left) = (20, value);
    while left >= 10 {
        at -= 2;
        let pair = 2 * (left % 100) as usize;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
        left /= 100;
    }
    if left > 0 || value == 0 {
        at -= 1;
        digits[at] = b'0' + left as u8;
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

/// The last value of each kind that an argument may have.
#[derive(Default)]
struct Values<'a> {
    name: Option<&'a [u8]>,
    iid: Option<u64>,
    texts: [Option<&'a [u8]>; 2],
    real: Option<f64>,
    signed: Option<u64>,
    whole: Option<u64>,
    truth: Option<u64>,
    pointer: Option<u64>,
    text_iid: Option<u64>,
    members: bool,
    items: bool,
}

impl<'a> Values<'a> {
    fn take(&mut self, one: &Field, data: &'a [u8]) {
        match (one.number, one.wire) {
            (10, Wire::Bytes) => self.name = Some(one.bytes(data)),
            (1, Wire::Varint) => self.iid = Some(one.value),
            (6, Wire::Bytes) => self.texts[0] = Some(one.bytes(data)),
            (9, Wire::Bytes) => self.texts[1] = Some(one.bytes(data)),
            (5, Wire::Fixed64) => self.real = Some(double_of(one.bytes(data))),
            (4, Wire::Varint) => self.signed = Some(one.value),
            (3, Wire::Varint) => self.whole = Some(one.value),
            (2, Wire::Varint) => self.truth = Some(one.value),
            (7, Wire::Varint) => self.pointer = Some(one.value),
            (17, Wire::Varint) => self.text_iid = Some(one.value),
            (11, Wire::Bytes) => self.members = true,
            (12, Wire::Bytes) => self.items = true,
            _ => {}
        }
    }
}

/// What arguments were written as: most come again, and many are lists of lists.
pub struct Written(Vec<WrittenArgument>);

#[derive(Clone, Default)]
struct WrittenArgument {
    state: u64,
    bytes: Vec<u8>,
    text: Vec<u8>,
}

const KEPT: usize = 4096;
const WORTH_KEEPING: std::ops::Range<usize> = 12..1024;
const MOST_TEXT_KEPT: usize = 4096;

impl Default for Written {
    fn default() -> Written {
        Written(vec![WrittenArgument::default(); KEPT])
    }
}

impl Written {
    /// Appends what was appended for the same bytes in the same state, or what `write` appends. It says whether
    /// that may be kept.
    #[inline(always)]
    pub fn put(
        &mut self,
        out: &mut Vec<u8>,
        data: &[u8],
        state: u64,
        write: impl FnOnce(&mut Vec<u8>) -> Result<bool, BadPacket>,
    ) -> Result<(), BadPacket> {
        if !WORTH_KEEPING.contains(&data.len()) {
            return write(out).map(|_| ());
        }
        let known = &mut self.0[place_of(data)];
        if known.state == state && known.bytes == data {
            out.extend_from_slice(&known.text);
            return Ok(());
        }
        let before = out.len();
        if write(out)? && out.len() - before <= MOST_TEXT_KEPT {
            known.state = state;
            known.bytes.clear();
            known.bytes.extend_from_slice(data);
            known.text.clear();
            known.text.extend_from_slice(&out[before..]);
        }
        Ok(())
    }
}

/// A number below `KEPT` for at least eight bytes.
#[inline]
fn place_of(data: &[u8]) -> usize {
    let word = |at: usize| {
        let mut eight = [0; 8];
        eight.copy_from_slice(&data[at..at + 8]);
        u64::from_le_bytes(eight)
    };
    let mix =
        |hash: u64, word: u64| (hash.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut hash = data.len() as u64;
    for at in (0..data.len() - 8).step_by(8) {
        hash = mix(hash, word(at));
    }
    hash = mix(hash, word(data.len() - 8)); // some bytes twice
    (hash >> 52) as usize
}

/// Appends name and value of an argument, or its value alone.
pub fn argument(
    out: &mut Vec<u8>,
    data: &[u8],
    sequence: &Sequence,
    on_lost: OnLost,
    depth: usize,
    named: bool,
) -> Result<(), BadPacket> {
    if depth > MOST_DEPTH {
        return Err(BadPacket);
    }
    let mut values = Values::default();
    each_field(data, |one| values.take(one, data))?;
    let before = out.len();
    if let Some(name) = values.name {
        quote_bytes(out, name);
    } else if let Some(iid) = values.iid {
        sequence.arg_names.put(out, iid, on_lost);
    } else {
        out.extend_from_slice(b"\"\"");
    }
    out.push(b':');
    if !named {
        out.truncate(before);
    }
    if !values.members && !values.items {
        scalar(out, &values, sequence, on_lost);
        return Ok(());
    }
    let (number, open, close) = if values.members {
        (11, b'{', b'}')
    } else {
        (12, b'[', b']')
    };
    out.push(open);
    let first = out.len();
    let mut done = Ok(());
    each_field(data, |one| {
        if done.is_ok() && one.number == number && one.wire == Wire::Bytes {
            if out.len() > first {
                out.push(b',');
            }
            let inner = one.bytes(data);
            done = argument(out, inner, sequence, on_lost, depth + 1, number == 11);
        }
    })?;
    out.push(close);
    done
}

fn scalar(out: &mut Vec<u8>, values: &Values, sequence: &Sequence, on_lost: OnLost) {
    if let Some(text) = values.texts[0].or(values.texts[1]) {
        quote_bytes(out, text);
    } else if let Some(value) = values.real {
        decimal(out, value);
    } else if let Some(value) = values.signed {
        signed(out, value as i64);
    } else if let Some(value) = values.whole {
        int(out, value);
    } else if let Some(value) = values.truth {
        out.extend_from_slice(if value > 0 { b"true" } else { b"false" });
    } else if let Some(value) = values.pointer {
        put(out, format_args!("\"{:#x}\"", value));
    } else if let Some(iid) = values.text_iid {
        sequence.arg_texts.put(out, iid, on_lost);
    } else {
        out.extend_from_slice(b"[]");
    }
}

impl Table<Vec<u8>> {
    /// Appends the text, or # and its number.
    pub fn put(&self, out: &mut Vec<u8>, iid: u64, on_lost: OnLost) {
        match self.get(iid) {
            Some(text) => out.extend_from_slice(text),
            None => {
                on_lost(iid);
                put(out, format_args!("\"#{}\"", iid));
            }
        }
    }
}
