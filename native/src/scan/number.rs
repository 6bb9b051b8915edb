//! Numbers as JSON writes them, and the integers, doubles and nanoseconds that they are.
//!
//! Times are microseconds as text, of which the nanoseconds are exact; `timestamps.py` says what each text means.

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

/// Behind the integer at `at`, and its value, if it is one of at most seven digits.
#[inline(always)]
pub fn short_int(data: &[u8], at: usize) -> Option<(usize, i64)> {
    let word = word(data, at);
    let count = digits_in(word);
    if count == 0 || count == 8 {
        return None;
    }
    let next = (word >> (8 * count)) as u8;
    if !matches!(next, b',' | b'}' | b'\n') || (count > 1 && word as u8 == b'0') {
        return None;
    }
    let value = eight((word ^ ZEROS) << (64 - 8 * count));
    Some((at + count as usize, value as i64))
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

/// Largest number of whole microseconds whose nanoseconds fit, with any fraction.
const MAX_WHOLE: u64 = 9_223_372_036_854_774;

impl Number {
    /// The nanoseconds of this many µs, half to even; None when that needs a closer look.
    #[inline(always)]
    pub fn nanoseconds(&self, data: &[u8]) -> Option<i64> {
        if self.whole_len > 18 || self.whole > MAX_WHOLE || self.exponent {
            return self.odd_nanoseconds(data);
        }
        let fraction = match self.fraction_len {
            0..=3 => self.fraction * POWERS[3 - self.fraction_len],
            4..=19 => rounded(self.fraction, POWERS[self.fraction_len - 3]),
            _ => return self.odd_nanoseconds(data),
        };
        let ns = (self.whole * 1000 + fraction) as i64;
        Some(if self.negative { -ns } else { ns })
    }

    /// The integer that a number like 7.0 means; None when it means none.
    #[cold]
    #[inline(never)]
    pub fn thousandth(&self, data: &[u8]) -> Option<i64> {
        self.nanoseconds(data)
            .filter(|ns| ns % 1000 == 0)
            .map(|ns| ns / 1000)
    }

    /// With an exponent, or very many digits.
    #[cold]
    #[inline(never)]
    fn odd_nanoseconds(&self, data: &[u8]) -> Option<i64> {
        let text = &data[self.start..self.end];
        if text.len() > 300 {
            return None;
        }
        let mantissa = text.iter().take_while(|&&byte| byte | 32 != b'e').count();
        let all: Vec<u8> = text[..mantissa]
            .iter()
            .filter(|byte| byte.is_ascii_digit())
            .copied()
            .collect();
        let exponent = exponent(&text[mantissa..])?;
        let zeros = all.iter().take_while(|&&digit| digit == b'0').count();
        if zeros == all.len() {
            return if exponent == 0 { Some(0) } else { None };
        }
        // Where the point of the nanoseconds stands among the digits that count.
        let point = self.whole_len as i64 + exponent + 3 - zeros as i64;
        if point > 19 {
            return None;
        }
        let kept = &all[zeros..];
        let (mut ns, mut rest) = (0u128, &[][..]);
        if point < 0 {
            return Some(0);
        }
        for place in 0..point as usize {
            ns = ns * 10 + u128::from(kept.get(place).map_or(0, |digit| digit - b'0'));
        }
        if (point as usize) < kept.len() {
            rest = &kept[point as usize..];
        }
        let above_half = match rest.first() {
            Some(b'5') => rest[1..].iter().any(|&digit| digit != b'0') || ns % 2 == 1,
            Some(first) => *first > b'5',
            None => false,
        };
        let ns = i64::try_from(ns + u128::from(above_half)).ok()?;
        Some(if self.negative { -ns } else { ns })
    }
}

/// `value / unit`, half to even.
#[inline(always)]
fn rounded(value: u64, unit: u64) -> u64 {
    let (whole, rest) = (value / unit, value % unit);
    let half = unit / 2;
    whole + u64::from(rest > half || (rest == half && whole % 2 == 1))
}

/// `e+5` → 5, nothing → 0; None when it is longer than anybody writes.
fn exponent(text: &[u8]) -> Option<i64> {
    let sign = usize::from(matches!(byte(text, 1), b'+' | b'-'));
    let (end, value) = digits(text, 1 + sign);
    match end.saturating_sub(1 + sign) {
        _ if text.is_empty() => Some(0),
        1..=6 => Some(if byte(text, 1) == b'-' {
            -(value as i64)
        } else {
            value as i64
        }),
        _ => None,
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

    fn ns(text: &str) -> Option<i64> {
        let text = format!("{text},");
        number(text.as_bytes(), 0)
            .unwrap()
            .nanoseconds(text.as_bytes())
    }

    #[test]
    fn the_decimal_text_is_the_truth() {
        for (text, expected) in [
            ("4370504323436.782", 4370504323436782),
            ("1712195495505582.988", 1712195495505582988),
            ("0.981", 981),
            ("170.6469999999972", 170647),
            ("0.0005", 0),
            ("0.0015", 2),
            ("0.0025", 2),
            ("0.00250000000000000000000000001", 3),
            ("0.0024999999999999999999999999", 2),
            ("1e3", 1_000_000),
            ("1.5E-3", 2),
            ("2.5e-3", 2),
            ("1e-05", 0),
            ("5e-4", 0),
            ("5.1e-4", 1),
            ("6e-4", 1),
            ("1e-400", 0),
            ("123e+2", 12_300_000),
            ("0.00012e4", 1200),
            ("-3.25", -3250),
            ("-0.0", 0),
            ("9223372036854775.807", i64::MAX),
            ("9223372036854775", 9_223_372_036_854_775_000),
            ("-9223372036854775.807", -i64::MAX),
        ] {
            assert_eq!(ns(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_left() {
        for text in [
            "9223372036854775.808",
            "1e400",
            "9223372036854775.8075",
            "99999999999999999999",
            "0e9",
        ] {
            assert_eq!(ns(text), None, "{text}");
        }
    }
}
