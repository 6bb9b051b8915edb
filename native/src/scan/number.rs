//! Numbers as JSON writes them, and the integers and doubles that they are.

use super::bytes::{byte, stop_at, word};
use super::Stop;

const ZEROS: u64 = 0x3030_3030_3030_3030;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// A number in the text: `-` whole `.` fraction, up to an exponent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Number {
    pub start: usize,
    pub end: usize,
    pub negative: bool,
    /// The digits before the point, modulo 2^64, and how many there are.
    pub whole: u64,
    pub whole_len: usize,
    /// The digits behind the point, modulo 2^64, and how many there are.
    pub fraction: u64,
    pub fraction_len: usize,
    pub exponent: bool,
}

/// How many of the eight bytes are digits before the first other byte.
#[inline(always)]
fn digits_in(word: u64) -> u32 {
    let digit = word ^ ZEROS;
    let other = ((digit & !HIGH).wrapping_add(0x7676_7676_7676_7676) | digit) & HIGH;
    other.trailing_zeros() / 8
}

/// The number that eight digits are.
#[inline(always)]
fn eight(digits: u64) -> u64 {
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff
}

pub const POWERS: [u64; 20] = {
    let mut powers = [1; 20];
    let mut at = 1;
    while at < 20 {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

/// The digits at `at`: behind them, and their value modulo 2^64.
#[inline(always)]
pub fn digits(data: &[u8], mut at: usize) -> (usize, u64) {
    let mut value = 0u64;
    loop {
        let word = word(data, at);
        let count = digits_in(word);
        at += count as usize;
        if count == 8 {
            value = value
                .wrapping_mul(100_000_000)
                .wrapping_add(eight(word ^ ZEROS));
            continue;
        }
        if count > 0 {
            // Zeros in front of them make them eight.
            let few = eight((word ^ ZEROS) << (64 - 8 * count));
            value = value.wrapping_mul(POWERS[count as usize]).wrapping_add(few);
        }
        return (at, value);
    }
}

/// The number at `start`, which is followed by something that may follow a number.
#[inline(always)]
pub fn number(data: &[u8], start: usize) -> Result<Number, Stop> {
    let negative = byte(data, start) == b'-';
    let first = start + usize::from(negative);
    let (mut at, whole) = digits(data, first);
    let whole_len = at - first;
    if whole_len == 0 || (whole_len > 1 && data[first] == b'0') {
        return Err(stop_at(data, at));
    }
    let mut number = Number {
        start,
        negative,
        whole,
        whole_len,
        ..Number::default()
    };
    if byte(data, at) == b'.' {
        let (end, fraction) = digits(data, at + 1);
        number.fraction = fraction;
        number.fraction_len = end - at - 1;
        if number.fraction_len == 0 {
            return Err(stop_at(data, end));
        }
        at = end;
    }
    if byte(data, at) | 32 == b'e' {
        number.exponent = true;
        at += 1;
        at += usize::from(matches!(byte(data, at), b'+' | b'-'));
        let (end, _) = digits(data, at);
        if end == at {
            return Err(stop_at(data, end));
        }
        at = end;
    }
    number.end = at;
    // Digits may go on behind what is in memory.
    if at < data.len() {
        Ok(number)
    } else {
        Err(Stop::More)
    }
}

impl Number {
    /// Without fraction and exponent.
    #[inline(always)]
    pub fn is_whole(&self) -> bool {
        self.fraction_len == 0 && !self.exponent
    }

    /// The integer that it is written as; None when that needs a closer look.
    #[inline(always)]
    pub fn int(&self) -> Option<i64> {
        if !self.is_whole() || self.whole_len > 19 {
            return None;
        }
        let value = i64::try_from(self.whole).ok()?;
        Some(if self.negative { -value } else { value })
    }

    /// The nearest double, which is never −0; None when it is not finite.
    pub fn real(&self, data: &[u8]) -> Option<f64> {
        if self.whole_len + self.fraction_len <= 15 && !self.exponent {
            // Both are exact as doubles, so that their quotient is rounded once.
            let power = POWERS[self.fraction_len];
            let value = (self.whole * power + self.fraction) as f64 / power as f64;
            return Some(if self.negative { 0.0 - value } else { value });
        }
        let text = std::str::from_utf8(&data[self.start..self.end]).ok()?;
        let value: f64 = text.parse().ok()?;
        value.is_finite().then_some(value + 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Number, Stop> {
        number(format!("{text},").as_bytes(), 0).map(|found| {
            assert_eq!(found.end, text.len(), "{text}");
            found
        })
    }

    #[test]
    fn integers() {
        for value in [
            0,
            7,
            -1,
            12,
            12345678,
            123456789,
            -999999999999999999,
            1704161511422904204,
            i64::MAX,
        ] {
            assert_eq!(read(&value.to_string()).unwrap().int(), Some(value));
        }
        assert_eq!(read("-0").unwrap().int(), Some(0));
        for text in [
            "9223372036854775808",
            "1.0",
            "1e3",
            "99999999999999999999999",
        ] {
            assert_eq!(read(text).unwrap().int(), None);
        }
    }

    #[test]
    fn parts_of_a_time() {
        let found = read("4370504323436.782").unwrap();
        assert_eq!((found.whole, found.whole_len), (4370504323436, 13));
        assert_eq!((found.fraction, found.fraction_len), (782, 3));
    }

    #[test]
    fn doubles_are_the_nearest() {
        for text in [
            "0",
            "1.5",
            "0.1",
            "170.6469999999972",
            "1e-5",
            "123456789.123456",
            "1E300",
        ] {
            let value: f64 = text.parse().unwrap();
            let text_end = format!("{text},");
            assert_eq!(
                read(text)
                    .unwrap()
                    .real(text_end.as_bytes())
                    .map(f64::to_bits),
                Some(value.to_bits())
            );
        }
        assert_eq!(
            read("-0.0").unwrap().real(b"-0.0,").map(f64::to_bits),
            Some(0)
        );
        assert_eq!(read("1e999").unwrap().real(b"1e999,"), None);
    }

    #[test]
    fn what_json_does_not_have_is_left() {
        for text in [
            "01", "-", "+1", ".5", "1.", "1.e5", "1e", "1e+", "-01", "NaN", "-x",
        ] {
            assert_eq!(read(text).err(), Some(Stop::Left), "{text}");
        }
    }

    #[test]
    fn a_number_at_the_end_may_go_on() {
        for text in ["1", "-", "12345678", "1.", "1.5", "1e", "1e5"] {
            assert_eq!(number(text.as_bytes(), 0).err(), Some(Stop::More), "{text}");
        }
    }
}
