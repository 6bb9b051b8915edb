//! The characters that a JSON string stands for, and back.

use super::bytes::hex4;

/// Appends what the inside of a sound JSON string stands for.
pub fn unescape(raw: &[u8], out: &mut Vec<u8>) {
    let mut at = 0;
    while let Some(length) = raw[at..].iter().position(|&byte| byte == b'\\') {
        out.extend_from_slice(&raw[at..at + length]);
        at += length + 2;
        match raw[at - 1] {
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'u' => {
                let mut code = unit(raw, at);
                at += 4;
                if (0xd800..0xdc00).contains(&code) {
                    code = 0x10000 + ((code - 0xd800) << 10) + (unit(raw, at + 2) - 0xdc00);
                    at += 6;
                }
                let char = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
            }
            itself => out.push(itself),
        }
    }
    out.extend_from_slice(&raw[at..]);
}

fn unit(raw: &[u8], at: usize) -> u32 {
    hex4(raw, at).unwrap_or(0)
}

/// Appends `text` as a JSON string, as `json.dumps(text, ensure_ascii=False)` writes it.
pub fn escape(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for &byte in text {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            8 => out.extend_from_slice(b"\\b"),
            12 => out.extend_from_slice(b"\\f"),
            0..=31 => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(raw: &str) -> String {
        let mut out = Vec::new();
        unescape(raw.as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn escapes_are_characters() {
        assert_eq!(
            read(r#"a\"b\\c\/d\n\u0041\u00e9\ud83d\ude00z"#),
            "a\"b\\c/d\nAé😀z"
        );
        assert_eq!(read("plain é"), "plain é");
        assert_eq!(read(r"\\u0041"), r"\u0041");
    }

    #[test]
    fn characters_are_escaped_only_where_json_must() {
        let mut out = Vec::new();
        escape("é/\"\\\n\u{1}\u{7f}".as_bytes(), &mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\"é/\\\"\\\\\\n\\u0001\u{7f}\""
        );
    }
}
