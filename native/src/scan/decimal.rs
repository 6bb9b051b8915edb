//! Microseconds as text → int64 nanoseconds, exactly; `timestamps.py` says what each text means.

use super::bytes::byte;
use super::number::{digits, Number, POWERS};

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
    use super::super::number::number;

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
