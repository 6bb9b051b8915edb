//! The values of an event: texts by their bytes, numbers as numbers.
//!
//! Each function reads the value at `at` into its last argument and returns what is behind it.

use super::bytes::{byte, equal, quoted, stop_at, whole_word, word, Key, Quoted};
use super::nested::{literal, nested, value};
use super::number::{number, short_int};
use super::texts::{Form, Meanings, Text};
use super::Stop;

/// A longer number is no integer to the reference (`values.py`).
const MAX_CHARS: usize = 40;

pub struct Values {
    pub key: Key,
    /// The pid and the tid read last, if they are short numbers: digits, how many, hash.
    lanes: [(u64, usize, u64); 2],
}

impl Values {
    pub fn new(key: Key) -> Values {
        // No word of one byte is that large.
        Values {
            key,
            lanes: [(0x100, 1, 0); 2],
        }
    }

    /// A string of one character or none.
    #[inline(always)]
    pub fn phase(&self, data: &[u8], at: usize, phase: &mut u8) -> Result<usize, Stop> {
        let [open, one, close, ..] = word(data, at).to_le_bytes();
        if open == b'"' && close == b'"' && one.is_ascii_alphabetic() {
            *phase = one;
            return Ok(at + 3);
        }
        let mut text = Text::default();
        let end = self.string(data, at, &mut text)?;
        *phase = match &data[text.start..text.end] {
            [] => 0,
            [one] if text.form == Form::Plain => *one,
            _ => return Err(Stop::Left),
        };
        Ok(end)
    }

    #[inline(always)]
    pub fn string(&self, data: &[u8], at: usize, text: &mut Text) -> Result<usize, Stop> {
        if byte(data, at) != b'"' {
            return Err(stop_at(data, at));
        }
        let Quoted {
            start,
            end,
            hash,
            escaped,
        } = quoted(data, at + 1, self.key)?;
        let form = if escaped { Form::Escaped } else { Form::Plain };
        *text = Text {
            start,
            end,
            hash,
            form,
        };
        Ok(end + 1)
    }

    /// The text of a pid or tid, which is often that of the event before.
    #[inline(always)]
    pub fn lane(
        &mut self,
        data: &[u8],
        at: usize,
        lane: usize,
        text: &mut Text,
    ) -> Result<usize, Stop> {
        let (digits, len, hash) = self.lanes[lane];
        let end = at + len;
        let same = word(data, at) & !(u64::MAX << (8 * len)) == digits;
        if same && matches!(byte(data, end), b',' | b'}' | b' ' | b'\n') {
            *text = Text {
                start: at,
                end,
                hash,
                form: Form::Plain,
            };
            return Ok(end);
        }
        let end = self.string_or_int(data, at, text)?;
        let len = end - at;
        if len < 8 && text.start == at {
            self.lanes[lane] = (word(data, at) & !(u64::MAX << (8 * len)), len, text.hash);
        }
        Ok(end)
    }

    /// The text of a pid or tid: 7 and "7" are one.
    #[inline(always)]
    pub fn string_or_int(&self, data: &[u8], at: usize, text: &mut Text) -> Result<usize, Stop> {
        if byte(data, at) == b'"' {
            return self.string(data, at, text);
        }
        let found = number(data, at)?;
        if !found.is_whole() || found.whole_len > 300 || (found.negative && found.whole == 0) {
            return Err(Stop::Left);
        }
        let hash = self.key.hash_of(data, at, found.end);
        *text = Text {
            start: at,
            end: found.end,
            hash,
            form: Form::Plain,
        };
        Ok(found.end)
    }

    /// A time in ns: a number, or a string that holds one.
    #[inline(always)]
    pub fn time(&self, data: &[u8], at: usize, ns: &mut i64) -> Result<usize, Stop> {
        let quoted = byte(data, at) == b'"';
        let found = number(data, at + usize::from(quoted))?;
        *ns = found.nanoseconds(data).ok_or(Stop::Left)?;
        if !quoted {
            return Ok(found.end);
        }
        if byte(data, found.end) != b'"' {
            return Err(stop_at(data, found.end));
        }
        Ok(found.end + 1)
    }

    /// An integer, or what means one: 7.0, true, "7", "0x1f".
    #[inline(always)]
    pub fn int(&self, data: &[u8], at: usize, int: &mut i64) -> Result<usize, Stop> {
        if let Some((end, value)) = short_int(data, at) {
            *int = value;
            return Ok(end);
        }
        if matches!(byte(data, at), b'-' | b'0'..=b'9') {
            let found = number(data, at)?;
            *int = found
                .int()
                .or_else(|| (found.end - at <= MAX_CHARS).then(|| found.thousandth(data))?)
                .ok_or(Stop::Left)?;
            return Ok(found.end);
        }
        self.odd_int(data, at, int)
    }

    fn odd_int(&self, data: &[u8], at: usize, int: &mut i64) -> Result<usize, Stop> {
        match byte(data, at) {
            b'"' => {
                let Quoted { start, end, .. } = quoted(data, at + 1, self.key)?;
                *int = int_of(&data[start..end]).ok_or(Stop::Left)?;
                Ok(end + 1)
            }
            b't' => {
                *int = 1;
                literal(data, at, b"true")
            }
            b'f' => {
                *int = 0;
                literal(data, at, b"false")
            }
            _ => Err(stop_at(data, at)),
        }
    }

    /// A finite number.
    pub fn real(&self, data: &[u8], at: usize, real: &mut f64) -> Result<usize, Stop> {
        if !matches!(byte(data, at), b'-' | b'0'..=b'9') {
            return Err(stop_at(data, at));
        }
        let found = number(data, at)?;
        *real = found.real(data).ok_or(Stop::Left)?;
        Ok(found.end)
    }

    /// A string as it is, everything else as JSON without white space.
    #[inline(always)]
    pub fn text(
        &self,
        data: &[u8],
        at: usize,
        meanings: &Meanings,
        text: &mut Text,
    ) -> Result<usize, Stop> {
        let (end, form) = match byte(data, at) {
            b'"' => return self.string(data, at, text),
            b'[' | b'{' => {
                if let Some(known) = self.known_array(data, at, meanings) {
                    *text = known;
                    return Ok(known.end);
                }
                (nested(data, at, self.key)?, Form::Nested)
            }
            _ => (value(data, at, self.key)?, Form::Plain),
        };
        *text = Text {
            start: at,
            end,
            hash: self.key.hash_of(data, at, end),
            form,
        };
        Ok(end)
    }

    /// The value at `at`, if it is an array that was read before: then it is sound, and its code is known.
    ///
    /// Where it ends may be guessed: no array is how a longer one begins, so equal bytes are the same array.
    #[inline(always)]
    fn known_array(&self, data: &[u8], at: usize, meanings: &Meanings) -> Option<Text> {
        let end = at + likely_len(data.get(at..at + MAX_LIKELY + 8)?)?;
        let hash = self.key.hash_of(data, at, end);
        let code = meanings.find(&data[at..end], hash)?;
        let text = Text {
            start: at,
            end,
            ..Text::default()
        };
        Some(text.with_code(code))
    }
}

/// Longer arrays are read whole each time.
const MAX_LIKELY: usize = 128;

/// The bytes up to the first `]` behind which a key or the end of an object seems to come.
#[inline(always)]
fn likely_len(text: &[u8]) -> Option<usize> {
    for (number, bytes) in text[..MAX_LIKELY].chunks_exact(8).enumerate() {
        let mut ends = equal(whole_word(bytes), b']');
        while ends != 0 {
            let len = 8 * number + (ends.trailing_zeros() / 8) as usize + 1;
            let likely = match text[len] {
                b',' => matches!(text[len + 1..len + 3], [b'"', _] | [b' ', b'"']),
                b']' | b'"' => false,
                _ => true,
            };
            if likely {
                return Some(len);
            }
            ends &= ends - 1;
        }
    }
    None
}

/// The integer that a string means; None when that needs a closer look.
pub fn int_of(text: &[u8]) -> Option<i64> {
    match text {
        [b'0', b'x' | b'X', digits @ ..] if (1..=15).contains(&digits.len()) => {
            digits.iter().try_fold(0, |value, &digit| {
                let digit = char::from(digit).to_digit(16)?;
                Some(value << 4 | i64::from(digit))
            })
        }
        _ if is_canonical(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        _ => None,
    }
}

/// Whether it is an integer as JSON writes it.
pub fn is_canonical(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    !digits.is_empty()
        && digits.iter().all(u8::is_ascii_digit)
        && (digits[0] != b'0' || text.len() == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_is_read_the_same_when_it_comes_again() {
        let mut values = Values::new(Key(3));
        let mut read = |text: &str| {
            let mut found = Text::default();
            let end = values.lane(text.as_bytes(), 0, 0, &mut found)?;
            assert_eq!(
                found.hash,
                Key(3).hash(&text.as_bytes()[found.start..found.end])
            );
            Ok((text[found.start..found.end].to_string(), end))
        };
        for _ in 0..2 {
            for text in ["\0,", ",", " ", "7.5,", "7e3,", "-0,", "07,"] {
                assert_eq!(read(text), Err(Stop::Left), "{text}");
            }
            assert_eq!(read("7"), Err(Stop::More));
            for (text, inside) in [
                ("7,", "7"),
                ("77}", "77"),
                ("\"7\" ", "7"),
                ("7\n", "7"),
                ("-12345678901,", "-12345678901"),
            ] {
                assert_eq!(
                    read(text).map(|found| found.0),
                    Ok(inside.to_string()),
                    "{text}"
                );
            }
        }
    }

    #[test]
    fn an_array_probably_ends_before_a_key() {
        for (array, behind) in [
            ("[[2, 3], []]", r#", "Input type""#),
            ("[[2, 3], []]", r#","Input type""#),
            ("[1]", "\n  }"),
            ("[]", "}"),
            (r#"["a", "[]", ""]"#, " }"),
        ] {
            let text = array.to_string() + behind + &" ".repeat(MAX_LIKELY);
            assert_eq!(likely_len(text.as_bytes()), Some(array.len()), "{text}");
        }
        assert_eq!(likely_len(" ".repeat(MAX_LIKELY + 8).as_bytes()), None);
    }

    #[test]
    fn times_are_numbers_or_strings_of_numbers() {
        let values = Values::new(Key(3));
        let read = |text: &str| {
            let mut ns = 0;
            values
                .time(text.as_bytes(), 0, &mut ns)
                .map(|end| (ns, end))
        };
        assert_eq!(read("1.5,"), Ok((1500, 3)));
        assert_eq!(read("\"1.5\","), Ok((1500, 5)));
        for text in [
            "\"soon\"",
            "\"1.5 \"",
            "\"\"",
            "null ",
            "true ",
            "[1] ",
            "\"1.5\\u0030\"",
        ] {
            assert_eq!(read(text), Err(Stop::Left), "{text}");
        }
    }

    #[test]
    fn phases_have_one_character() {
        let values = Values::new(Key(3));
        let read = |text: &str| {
            let mut phase = 9;
            values
                .phase(text.as_bytes(), 0, &mut phase)
                .map(|end| (phase, end))
        };
        assert_eq!(read("\"X\","), Ok((b'X', 3)));
        assert_eq!(read("\"\","), Ok((0, 2)));
        assert_eq!(read("\"(\","), Ok((b'(', 3)));
        for text in ["\"XY\"", "\"é\"", "\"\\\"\" ", "\"\\u0058\"", "1 "] {
            assert_eq!(read(text), Err(Stop::Left), "{text}");
        }
    }
}
