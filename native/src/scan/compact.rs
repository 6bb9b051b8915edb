//! A nested value as JSON without white space: `json_text` of `values.py`.

use super::bytes::{blanks, escape, unescape};
use super::number::number;
use super::Stop;

/// Objects with more keys than this are left: whether one repeats is asked of every pair.
const MAX_KEYS: usize = 64;

/// Appends the sound value at `at`; what is behind it.
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

    fn text(json: &str) -> Result<String, Stop> {
        let mut out = Vec::new();
        let data = format!("{json} ");
        assert_eq!(compact(data.as_bytes(), 0, &mut out)?, json.len());
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn white_space_goes_and_everything_else_stays() {
        assert_eq!(text("[ [1, 2],\n [] ]"), Ok("[[1,2],[]]".into()));
        assert_eq!(
            text(r#"{"a": "é b", "b" : [null, true, 1.50, -0]}"#),
            Ok(r#"{"a":"é b","b":[null,true,1.50,-0]}"#.into())
        );
        assert_eq!(text("{ }"), Ok("{}".into()));
    }

    #[test]
    fn strings_are_written_anew() {
        assert_eq!(
            text(r#"["\u00e9\/", "\"\\\u0001"]"#),
            Ok(r#"["é/","\"\\\u0001"]"#.into())
        );
    }

    #[test]
    fn repeated_keys_are_left() {
        assert_eq!(text(r#"{"a": 1, "\u0061": 2}"#), Err(Stop::Left));
        assert_eq!(
            text(r#"{"a": {"a": 1}, "b": {"a": 1}}"#),
            Ok(r#"{"a":{"a":1},"b":{"a":1}}"#.into())
        );
    }
}
