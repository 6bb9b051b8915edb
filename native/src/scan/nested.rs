//! Nested values: whether they are strict JSON, where they end, and their text without white space.

use super::bytes::{blanks, byte, escape, quoted, stop_at, unescape, Key};
use super::number::number;
use super::{Stop, MAX_DEPTH};

/// Objects with more keys than this are left: whether one repeats is asked of every pair.
const MAX_KEYS: usize = 64;

/// Behind the value at `at`.
#[inline(always)]
pub fn value(data: &[u8], at: usize, key: Key) -> Result<usize, Stop> {
    match byte(data, at) {
        b'{' | b'[' => nested(data, at, key),
        _ => scalar(data, at, key),
    }
}

/// Behind the string, number or word at `at`.
#[inline(always)]
fn scalar(data: &[u8], at: usize, key: Key) -> Result<usize, Stop> {
    match byte(data, at) {
        b'"' => Ok(quoted(data, at + 1, key)?.end + 1),
        b'-' | b'0'..=b'9' => Ok(number(data, at)?.end),
        b't' => literal(data, at, b"true"),
        b'f' => literal(data, at, b"false"),
        b'n' => literal(data, at, b"null"),
        _ => Err(stop_at(data, at)),
    }
}

/// Behind the word `text` at `at`.
#[inline(always)]
pub fn literal(data: &[u8], at: usize, text: &[u8]) -> Result<usize, Stop> {
    let end = at + text.len();
    match data.get(at..end) {
        Some(found) if found == text => Ok(end),
        Some(_) => Err(Stop::Left),
        None => Err(Stop::More),
    }
}

/// Behind the array or object at `at`.
#[inline(never)]
pub fn nested(data: &[u8], mut at: usize, key: Key) -> Result<usize, Stop> {
    let mut objects = 0u64; // One bit per open bracket, the innermost lowest: it is an object.
    let mut depth = 0;
    loop {
        // At a value.
        let opened = byte(data, at);
        if opened == b'{' || opened == b'[' {
            let object = opened == b'{';
            at = blanks(data, at + 1);
            if byte(data, at) != if object { b'}' } else { b']' } {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(Stop::Left);
                }
                objects = objects << 1 | u64::from(object);
                if object {
                    at = name(data, at, key)?;
                }
                continue;
            }
            at += 1;
        } else {
            at = scalar(data, at, key)?;
        }
        // Behind a value.
        loop {
            if depth == 0 {
                return Ok(at);
            }
            at = blanks(data, at);
            let object = objects & 1 == 1;
            match byte(data, at) {
                b',' => {
                    at = blanks(data, at + 1);
                    if object {
                        at = name(data, at, key)?;
                    }
                    break;
                }
                b'}' if object => {}
                b']' if !object => {}
                _ => return Err(stop_at(data, at)),
            }
            at += 1;
            depth -= 1;
            objects >>= 1;
        }
    }
}

/// From the quote before a key to the value behind it.
#[inline(always)]
fn name(data: &[u8], at: usize, key: Key) -> Result<usize, Stop> {
    if byte(data, at) != b'"' {
        return Err(stop_at(data, at));
    }
    let at = blanks(data, quoted(data, at + 1, key)?.end + 1);
    if byte(data, at) != b':' {
        return Err(stop_at(data, at));
    }
    Ok(blanks(data, at + 1))
}

/// Appends the sound value at `at` without white space, as `json_text` of `values.py`; what is behind it.
///
/// Objects that repeat a key are left.
pub fn compact(data: &[u8], at: usize, out: &mut Vec<u8>) -> Result<usize, Stop> {
    match data[at] {
        b'"' => Ok(string(data, at, out)),
        b'{' => object(data, at, out),
        b'[' => {
            out.push(b'[');
            let mut at = blanks(data, at + 1);
            while data[at] != b']' {
                at = blanks(data, compact(data, at, out)?);
                if data[at] == b',' {
                    out.push(b',');
                    at = blanks(data, at + 1);
                }
            }
            out.push(b']');
            Ok(at + 1)
        }
        first => {
            let end = match first {
                b't' | b'n' => at + 4,
                b'f' => at + 5,
                _ => number(data, at)?.end,
            };
            out.extend_from_slice(&data[at..end]);
            Ok(end)
        }
    }
}

fn object(data: &[u8], at: usize, out: &mut Vec<u8>) -> Result<usize, Stop> {
    let mut keys: Vec<(usize, usize)> = Vec::new();
    out.push(b'{');
    let mut at = blanks(data, at + 1);
    while data[at] != b'}' {
        let start = out.len();
        at = blanks(data, string(data, at, out));
        let end = out.len();
        if keys.len() >= MAX_KEYS
            || keys
                .iter()
                .any(|&(from, to)| out[from..to] == out[start..end])
        {
            return Err(Stop::Left);
        }
        keys.push((start, end));
        out.push(b':');
        at = blanks(data, compact(data, blanks(data, at + 1), out)?);
        if data[at] == b',' {
            out.push(b',');
            at = blanks(data, at + 1);
        }
    }
    out.push(b'}');
    Ok(at + 1)
}

/// Appends the sound string whose opening quote is at `at`.
fn string(data: &[u8], at: usize, out: &mut Vec<u8>) -> usize {
    let start = at + 1;
    let mut end = start;
    let mut escaped = false;
    while data[end] != b'"' {
        escaped |= data[end] == b'\\';
        end += 1 + usize::from(data[end] == b'\\');
    }
    if escaped {
        let mut text = Vec::with_capacity(end - start);
        unescape(&data[start..end], &mut text);
        escape(&text, out);
    } else {
        out.extend_from_slice(&data[at..=end]);
    }
    end + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(text: &str) -> Result<usize, Stop> {
        value(text.as_bytes(), 0, Key(1))
    }

    #[test]
    fn sound_values_end_where_they_end() {
        for text in [
            "true",
            "false",
            "null",
            "-1.5e3",
            r#""a""#,
            "[]",
            "{}",
            "[ ]",
            "{\n}",
            "[[],[ [ ] ,{}]]",
            r#"{"a": [1, 2.5, {"b" : null}], "c":"]}"}"#,
            "[\n  1,\n  \"x\"\n]",
        ] {
            assert_eq!(end(&format!("{text} ,")), Ok(text.len()), "{text}");
        }
    }

    #[test]
    fn damage_is_left() {
        for text in [
            "tru ",
            "nul}",
            "[1,]",
            "[,]",
            "{,}",
            r#"{"a"}"#,
            r#"{"a":}"#,
            r#"{"a":1,}"#,
            "{a:1}",
            "[1 2]",
            "[1}",
            r#"{"a":1]"#,
            "[01]",
            "]",
            ":",
            "NaN",
            "[NaN]",
            r#"{"a":1 "b":2}"#,
            "{1:2}",
            "[\x0b]",
        ] {
            assert_eq!(end(&format!("{text}      ")), Err(Stop::Left), "{text}");
        }
    }

    #[test]
    fn a_value_cut_off_needs_more() {
        let text = r#"{"a": [1, 2.5, {"b" : null}], "c":"]}"}"#;
        for length in 0..text.len() {
            assert_eq!(end(&text[..length]), Err(Stop::More), "{length}");
        }
    }

    #[test]
    fn deep_values_are_left() {
        let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert_eq!(
            end(&deep(MAX_DEPTH as usize + 1)),
            Ok(2 * MAX_DEPTH as usize + 2)
        );
        assert_eq!(end(&deep(MAX_DEPTH as usize + 2)), Err(Stop::Left));
    }

    fn text_of(json: &str) -> Result<String, Stop> {
        let mut out = Vec::new();
        let data = format!("{json} ");
        assert_eq!(compact(data.as_bytes(), 0, &mut out)?, json.len());
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn white_space_goes_and_everything_else_stays() {
        assert_eq!(text_of("[ [1, 2],\n [] ]"), Ok("[[1,2],[]]".into()));
        assert_eq!(
            text_of(r#"{"a": "é b", "b" : [null, true, 1.50, -0]}"#),
            Ok(r#"{"a":"é b","b":[null,true,1.50,-0]}"#.into())
        );
        assert_eq!(text_of("{ }"), Ok("{}".into()));
    }

    #[test]
    fn strings_are_written_anew() {
        assert_eq!(
            text_of(r#"["\u00e9\/", "\"\\\u0001"]"#),
            Ok(r#"["é/","\"\\\u0001"]"#.into())
        );
    }

    #[test]
    fn repeated_keys_are_left() {
        assert_eq!(text_of(r#"{"a": 1, "\u0061": 2}"#), Err(Stop::Left));
        assert_eq!(
            text_of(r#"{"a": {"a": 1}, "b": {"a": 1}}"#),
            Ok(r#"{"a":{"a":1},"b":{"a":1}}"#.into())
        );
    }
}
