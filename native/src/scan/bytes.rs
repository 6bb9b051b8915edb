//! Words of eight bytes, white space, and strings.

use super::Stop;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The eight bytes at `at`, the first one lowest; zeros behind the end.
#[inline(always)]
pub fn word(data: &[u8], at: usize) -> u64 {
    match data.get(at..at + 8) {
        Some(bytes) => whole_word(bytes),
        None => last_word(data, at),
    }
}

/// The word that eight bytes are.
#[inline(always)]
pub fn whole_word(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}

/// The two words that sixteen bytes are.
#[inline(always)]
pub fn two_words(bytes: &[u8]) -> [u64; 2] {
    [whole_word(&bytes[..8]), whole_word(&bytes[8..16])]
}

#[cold]
fn last_word(data: &[u8], at: usize) -> u64 {
    let rest = data.get(at..).unwrap_or_default();
    let mut bytes = [0; 8];
    bytes[..rest.len()].copy_from_slice(rest);
    u64::from_le_bytes(bytes)
}

/// The byte at `at`; 0, which JSON has nowhere, behind the end.
#[inline(always)]
pub fn byte(data: &[u8], at: usize) -> u8 {
    data.get(at).copied().unwrap_or(0)
}

/// What to answer when the text cannot go on as it does at `at`.
#[cold]
pub fn stop_at(data: &[u8], at: usize) -> Stop {
    if at >= data.len() {
        Stop::More
    } else {
        Stop::Left
    }
}

/// Behind the white space at `at`.
#[inline(always)]
pub fn blanks(data: &[u8], at: usize) -> usize {
    if byte(data, at) > b' ' {
        return at;
    }
    many_blanks(data, at)
}

fn many_blanks(data: &[u8], mut at: usize) -> usize {
    const SPACES: u64 = ONES * b' ' as u64;
    loop {
        // Indentation is spaces: a line break, then whole words of them.
        if matches!(byte(data, at), b'\n' | b'\r' | b'\t') {
            at += 1;
        }
        let spaces = ((word(data, at) ^ SPACES).trailing_zeros() / 8) as usize;
        at += spaces;
        if spaces < 8 && !matches!(byte(data, at), b'\n' | b'\r' | b'\t') {
            return at;
        }
    }
}

/// The lowest high bit set is that of the first byte that is `byte`; higher ones may be wrong.
#[inline(always)]
pub fn equal(word: u64, byte: u8) -> u64 {
    let other = word ^ (ONES * byte as u64);
    other.wrapping_sub(ONES) & !other & HIGH
}

/// The lowest high bit set is that of the first quote, backslash or control character.
#[inline(always)]
fn specials(word: u64) -> u64 {
    let control = word.wrapping_sub(ONES * b' ' as u64) & !word & HIGH;
    equal(word, b'"') | equal(word, b'\\') | control
}

/// Whether there is a quote, backslash or control character; without branches, as vector instructions do it.
#[inline(always)]
fn any_special(bytes: &[u8; 16]) -> bool {
    let mut any = 0;
    for &byte in bytes {
        any |= u8::from((byte == b'"') | (byte == b'\\') | (byte < b' '));
    }
    any != 0
}

/// What lies between two quotes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quoted {
    pub start: usize,
    pub end: usize,
    pub hash: u64,
    pub escaped: bool,
}

/// Hashes bytes; the key keeps a hostile file from choosing texts that collide.
#[derive(Clone, Copy)]
pub struct Key(pub u64);

const MULTIPLE: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline(always)]
fn folded(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}

impl Key {
    #[inline(always)]
    fn start(self) -> u64 {
        self.0
    }

    #[inline(always)]
    fn next(self, hash: u64, [first, second]: [u64; 2]) -> u64 {
        let multiple = MULTIPLE ^ (self.0 | 1).rotate_left(32);
        folded(hash ^ first, multiple ^ second)
    }

    #[inline(always)]
    fn finish(self, hash: u64, word: u64, len: usize) -> u64 {
        folded(hash ^ word, self.0 ^ (len as u64).wrapping_mul(MULTIPLE))
    }

    /// The hash of the bytes from `start` to `end`, as `quoted` computes it on its way.
    #[inline(always)]
    pub fn hash_of(self, data: &[u8], start: usize, end: usize) -> u64 {
        let text = &data[start..end];
        let mut hash = self.start();
        let mut blocks = text.chunks_exact(16);
        for block in &mut blocks {
            hash = self.next(hash, two_words(block));
        }
        for bytes in blocks.remainder().chunks_exact(8) {
            hash = self.next(hash, [whole_word(bytes), 0]);
        }
        let over = text.len() % 8;
        let rest = word(data, end - over) & !(u64::MAX << (8 * over));
        self.finish(hash, rest, text.len())
    }

    /// The hash of a text.
    pub fn hash(self, text: &[u8]) -> u64 {
        self.hash_of(text, 0, text.len())
    }
}

/// The string whose opening quote is just before `start`.
#[inline(always)]
pub fn quoted(data: &[u8], start: usize, key: Key) -> Result<Quoted, Stop> {
    let mut at = start;
    let mut hash = key.start();
    let mut beyond_ascii = 0;
    for block in data.get(start..).unwrap_or_default().chunks_exact(16) {
        if any_special(block.try_into().expect("sixteen bytes")) {
            break;
        }
        let words = two_words(block);
        hash = key.next(hash, words);
        beyond_ascii |= (words[0] | words[1]) & HIGH;
        at += 16;
    }
    let (last, special) = loop {
        let word = word(data, at);
        let special = specials(word);
        if special != 0 {
            break (word, special);
        }
        hash = key.next(hash, [word, 0]);
        beyond_ascii |= word & HIGH;
        at += 8;
    };
    let bits = special.trailing_zeros() & !7;
    let rest = last & !(u64::MAX << bits);
    beyond_ascii |= rest & HIGH;
    at += (bits / 8) as usize;
    if byte(data, at) != b'"' {
        return odd(data, start, at, key);
    }
    if beyond_ascii != 0 {
        check_utf8(&data[start..at])?;
    }
    Ok(Quoted {
        start,
        end: at,
        hash: key.finish(hash, rest, at - start),
        escaped: false,
    })
}

#[cold]
#[inline(never)]
fn check_utf8(text: &[u8]) -> Result<(), Stop> {
    std::str::from_utf8(text)
        .map(|_| ())
        .map_err(|_| Stop::Left)
}

/// A string with something special before its end, the first of it at `at`.
#[inline(never)]
fn odd(data: &[u8], start: usize, mut at: usize, key: Key) -> Result<Quoted, Stop> {
    loop {
        match byte(data, at) {
            b'"' => break,
            b'\\' => at = past_escape(data, at + 1)?,
            _ => return Err(stop_at(data, at)),
        }
        loop {
            let special = specials(word(data, at));
            if special != 0 {
                at += (special.trailing_zeros() / 8) as usize;
                break;
            }
            at += 8;
        }
    }
    let text = &data[start..at];
    if !text.is_ascii() {
        check_utf8(text)?;
    }
    Ok(Quoted {
        start,
        end: at,
        hash: key.hash_of(data, start, at),
        escaped: true,
    })
}

/// Behind the escape whose backslash is just before `at`. Halves of surrogate pairs are left.
fn past_escape(data: &[u8], at: usize) -> Result<usize, Stop> {
    match byte(data, at) {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(at + 1),
        b'u' => match hex4(data, at + 1)? {
            0xd800..=0xdbff => {
                let low = at + 5;
                for (offset, expected) in [b'\\', b'u'].into_iter().enumerate() {
                    if byte(data, low + offset) != expected {
                        return Err(stop_at(data, low + offset));
                    }
                }
                match hex4(data, low + 2)? {
                    0xdc00..=0xdfff => Ok(low + 6),
                    _ => Err(Stop::Left),
                }
            }
            0xdc00..=0xdfff => Err(Stop::Left),
            _ => Ok(at + 5),
        },
        _ => Err(stop_at(data, at)),
    }
}

/// The four hexadecimal digits at `at`.
pub fn hex4(data: &[u8], at: usize) -> Result<u32, Stop> {
    let mut value = 0;
    for place in at..at + 4 {
        let digit = match byte(data, place) {
            digit @ b'0'..=b'9' => digit - b'0',
            digit @ b'a'..=b'f' => digit - b'a' + 10,
            digit @ b'A'..=b'F' => digit - b'A' + 10,
            _ => return Err(stop_at(data, place)),
        };
        value = value << 4 | u32::from(digit);
    }
    Ok(value)
}

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

    const KEY: Key = Key(7);

    fn read(text: &str) -> Result<&str, Stop> {
        quoted(text.as_bytes(), 0, KEY).map(|found| {
            assert_eq!(
                found.hash,
                KEY.hash(&text.as_bytes()[found.start..found.end])
            );
            &text[found.start..found.end]
        })
    }

    #[test]
    fn a_string_ends_at_its_quote() {
        for name in [
            "",
            "a",
            "aten::mm",
            "sieben!",
            "more than eight bytes",
            "é and ü and 漢字",
            "\u{7f}",
        ] {
            assert_eq!(read(&format!("{name}\" , {{")), Ok(name));
        }
        assert_eq!(read(r#"a \"b\" \\" "#), Ok(r#"a \"b\" \\"#));
        assert_eq!(read(r#"\ud83d\ude00 \u00e9" "#), Ok(r"\ud83d\ude00 \u00e9"));
    }

    #[test]
    fn a_string_of_any_length_ends_at_the_first_byte_that_is_no_part_of_it() {
        for end in 0..70 {
            for byte in [b'"', b'\\', b'\n', 0, 31] {
                let mut text = vec![b'!'; 100];
                text[end] = byte;
                let found = quoted(&text, 0, KEY);
                if byte == b'"' {
                    let found = found.unwrap();
                    assert_eq!((found.start, found.end, found.escaped), (0, end, false));
                    assert_eq!(found.hash, KEY.hash(&text[..end]));
                    assert_eq!(quoted(&text[..end], 0, KEY).err(), Some(Stop::More));
                } else {
                    assert_eq!(found.err(), Some(Stop::Left), "{byte} at {end}");
                }
            }
        }
    }

    #[test]
    fn texts_that_differ_anywhere_have_other_hashes() {
        let text: Vec<u8> = (0..70).collect();
        for len in 0..text.len() {
            let hash = KEY.hash(&text[..len]);
            assert_ne!(hash, KEY.hash(&text[..len + 1]));
            for at in 0..len {
                let mut other = text[..len].to_vec();
                other[at] ^= 0x80;
                assert_ne!(hash, KEY.hash(&other), "{at} of {len}");
            }
        }
    }

    #[test]
    fn what_is_no_strict_string_is_left() {
        for text in [
            "a\nb\"",
            "long enough \t for words\"",
            r#"\x""#,
            r#"\u12g4""#,
            r#"\ud83d""#,
            r#"\ude00""#,
        ] {
            assert_eq!(read(text), Err(Stop::Left), "{text}");
        }
        assert_eq!(quoted(b"k\xffrnel\"", 0, KEY).err(), Some(Stop::Left));
        assert_eq!(quoted(b"\xed\xa0\x80\"", 0, KEY).err(), Some(Stop::Left));
    }

    #[test]
    fn a_string_cut_off_needs_more() {
        for text in [
            "",
            "a",
            "12345678",
            "a \\",
            r"\u00e",
            r"\ud83d\",
            r"\ud83d\ude",
        ] {
            assert_eq!(read(text), Err(Stop::More), "{text}");
        }
    }

    #[test]
    fn white_space_of_any_length() {
        for blank in [
            "",
            " ",
            "\n",
            "\n    ",
            "\r\n\t\t",
            "         \n         \n",
            "\n\n\n ",
        ] {
            let text = format!("{blank}x");
            assert_eq!(blanks(text.as_bytes(), 0), blank.len(), "{blank:?}");
            assert_eq!(blanks(blank.as_bytes(), 0), blank.len(), "{blank:?}");
        }
        assert_eq!(blanks(b" \x0bx", 0), 1);
    }

    fn unescaped(raw: &str) -> String {
        let mut out = Vec::new();
        unescape(raw.as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn escapes_are_characters() {
        assert_eq!(
            unescaped(r#"a\"b\\c\/d\n\u0041\u00e9\ud83d\ude00z"#),
            "a\"b\\c/d\nAé😀z"
        );
        assert_eq!(unescaped("plain é"), "plain é");
        assert_eq!(unescaped(r"\\u0041"), r"\u0041");
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
