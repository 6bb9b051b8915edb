//! One event of strict JSON, read but not yet taken.

use super::bytes::{blanks, byte, quoted, stop_at, Key, Quoted};
use super::keys::{Keys, Kind, Place, Widths};
use super::number::number;
use super::skip::{literal, nested, value};
use super::unescape::unescape;
use super::Stop;

/// Times that an event does not have, as `raw.py` defines them.
pub const MISSING: i64 = i64::MIN;
pub const NO_DUR: i64 = -1;

/// A text that an event has, by its bytes in the file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Text {
    pub start: usize,
    pub end: usize,
    pub hash: u64,
    pub form: Form,
}

/// What the bytes of a text are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// The text itself; also that of an event without one.
    #[default]
    Plain,
    /// The inside of a string with escapes.
    Escaped,
    /// An array or object.
    Nested,
    /// The args of a counter: an object that hardly comes twice.
    Args,
}

/// The fields of an event. Columns are as `keys` numbers them, each at most once.
#[derive(Default)]
pub struct Event {
    pub phase: u8,
    pub category: Text,
    pub name: Text,
    pub pid: Text,
    pub tid: Text,
    pub ts: i64,
    pub dur: i64,
    pub ints: Vec<(u8, i64)>,
    pub floats: Vec<(u8, f64)>,
    pub texts: Vec<(u8, Text)>,
    /// One bit per field and per column that the text names.
    seen_fields: u16,
    seen_columns: u64,
    args: Option<(usize, usize)>,
}

/// What is needed to read events.
pub struct Reader {
    pub keys: Keys,
    pub widths: Widths,
    pub key: Key,
}

impl Reader {
    /// Reads the event whose `{` is at `at` into `event`; what is behind it.
    #[inline(always)]
    pub fn event(&self, data: &[u8], at: usize, event: &mut Event) -> Result<usize, Stop> {
        event.clear();
        let mut at = blanks(data, at + 1);
        if byte(data, at) == b'}' {
            return Ok(at + 1);
        }
        loop {
            let (name, place) = self.name(data, at)?;
            at = blanks(data, self.field(data, name, place, event)?);
            match byte(data, at) {
                b',' => at = blanks(data, at + 1),
                b'}' => break,
                _ => return Err(stop_at(data, at)),
            }
        }
        if event.phase == b'C' {
            if let Some((start, end)) = event.args {
                let text = Text {
                    start,
                    end,
                    hash: 0,
                    form: Form::Args,
                };
                event.texts.push((self.widths.counter_args(), text));
            }
        }
        Ok(at + 1)
    }

    /// The key whose quote is at `at`, and where its value begins.
    #[inline(always)]
    fn name(&self, data: &[u8], at: usize) -> Result<(Quoted, usize), Stop> {
        if byte(data, at) != b'"' {
            return Err(stop_at(data, at));
        }
        let name = quoted(data, at + 1, self.key)?;
        let at = blanks(data, name.end + 1);
        if byte(data, at) != b':' {
            return Err(stop_at(data, at));
        }
        Ok((name, blanks(data, at + 1)))
    }

    /// Behind the value at `at`.
    #[inline(always)]
    fn field(
        &self,
        data: &[u8],
        name: Quoted,
        at: usize,
        event: &mut Event,
    ) -> Result<usize, Stop> {
        if name.escaped {
            return Err(Stop::Left);
        }
        match &data[name.start..name.end] {
            b"ph" => {
                event.once(0)?;
                self.phase(data, at, event)
            }
            b"cat" => {
                event.once(1)?;
                self.string(data, at, &mut event.category)
            }
            b"name" => {
                event.once(2)?;
                self.string(data, at, &mut event.name)
            }
            b"pid" => {
                event.once(3)?;
                self.string_or_int(data, at, &mut event.pid)
            }
            b"tid" => {
                event.once(4)?;
                self.string_or_int(data, at, &mut event.tid)
            }
            b"ts" => {
                event.once(5)?;
                let (end, ns) = self.time(data, at)?;
                event.ts = ns;
                Ok(end)
            }
            b"dur" => {
                event.once(6)?;
                let (end, ns) = self.time(data, at)?;
                event.dur = if ns == NO_DUR { NO_DUR - 1 } else { ns };
                Ok(end)
            }
            b"id" => {
                event.once(7)?;
                self.id(data, at, event)
            }
            b"args" => {
                event.once(8)?;
                let end = self.args(data, at, event)?;
                event.args = Some((at, end));
                Ok(end)
            }
            _ => value(data, at, self.key),
        }
    }

    fn phase(&self, data: &[u8], at: usize, event: &mut Event) -> Result<usize, Stop> {
        let mut text = Text::default();
        let end = self.string(data, at, &mut text)?;
        event.phase = match &data[text.start..text.end] {
            [] => 0,
            [one] if text.form == Form::Plain => *one,
            _ => return Err(Stop::Left),
        };
        Ok(end)
    }

    #[inline(always)]
    fn string(&self, data: &[u8], at: usize, text: &mut Text) -> Result<usize, Stop> {
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

    #[inline(always)]
    fn string_or_int(&self, data: &[u8], at: usize, text: &mut Text) -> Result<usize, Stop> {
        if byte(data, at) == b'"' {
            return self.string(data, at, text);
        }
        let found = number(data, at)?;
        if !found.is_whole() || found.whole_len > 300 || (found.negative && found.whole == 0) {
            return Err(Stop::Left);
        }
        let hash = self.key.hash(&data[at..found.end]);
        *text = Text {
            start: at,
            end: found.end,
            hash,
            form: Form::Plain,
        };
        Ok(found.end)
    }

    /// A time: a number, or a string that holds one.
    #[inline(always)]
    fn time(&self, data: &[u8], at: usize) -> Result<(usize, i64), Stop> {
        let quoted = byte(data, at) == b'"';
        let found = number(data, at + usize::from(quoted))?;
        let ns = found.nanoseconds(data).ok_or(Stop::Left)?;
        if !quoted {
            return Ok((found.end, ns));
        }
        if byte(data, found.end) != b'"' {
            return Err(stop_at(data, found.end));
        }
        Ok((found.end + 1, ns))
    }

    fn id(&self, data: &[u8], at: usize, event: &mut Event) -> Result<usize, Stop> {
        let mut text = Text::default();
        let end = self.string_or_int(data, at, &mut text)?;
        if text.form == Form::Escaped {
            return Err(Stop::Left);
        }
        if is_canonical(&data[text.start..text.end]) {
            let id = number(data, text.start)?.int().ok_or(Stop::Left)?;
            event.ints.push((self.widths.id_int(), id));
        } else {
            event.texts.push((self.widths.id_text(), text));
        }
        Ok(end)
    }

    #[inline(always)]
    fn args(&self, data: &[u8], at: usize, event: &mut Event) -> Result<usize, Stop> {
        if byte(data, at) != b'{' {
            return Err(stop_at(data, at));
        }
        let mut at = blanks(data, at + 1);
        if byte(data, at) == b'}' {
            return Ok(at + 1);
        }
        loop {
            let (name, place) = self.name(data, at)?;
            at = blanks(data, self.arg(data, name, place, event)?);
            match byte(data, at) {
                b',' => at = blanks(data, at + 1),
                b'}' => return Ok(at + 1),
                _ => return Err(stop_at(data, at)),
            }
        }
    }

    #[inline(always)]
    fn arg(&self, data: &[u8], name: Quoted, at: usize, event: &mut Event) -> Result<usize, Stop> {
        let found = if name.escaped {
            self.escaped_key(&data[name.start..name.end])
        } else {
            self.keys.find(&data[name.start..name.end], name.hash)
        };
        let Some(Place { kind, column }) = found else {
            return value(data, at, self.key);
        };
        if event.seen_columns >> column & 1 == 1 {
            return Err(Stop::Left);
        }
        event.seen_columns |= 1 << column;
        if byte(data, at) == b'n' {
            return literal(data, at, b"null");
        }
        match kind {
            Kind::Int => {
                let (end, int) = self.int(data, at)?;
                event.ints.push((column, int));
                Ok(end)
            }
            Kind::Float => {
                let (end, real) = self.real(data, at)?;
                event.floats.push((column, real));
                Ok(end)
            }
            Kind::Text => {
                let mut text = Text::default();
                let end = self.text(data, at, &mut text)?;
                event.texts.push((column, text));
                Ok(end)
            }
        }
    }

    #[cold]
    fn escaped_key(&self, raw: &[u8]) -> Option<Place> {
        let mut text = Vec::new();
        unescape(raw, &mut text);
        self.keys.find(&text, self.key.hash(&text))
    }

    /// An integer, or what means one: 7.0, true, "7", "0x1f".
    #[inline(always)]
    fn int(&self, data: &[u8], at: usize) -> Result<(usize, i64), Stop> {
        match byte(data, at) {
            b'-' | b'0'..=b'9' => {
                let found = number(data, at)?;
                let int = found
                    .int()
                    .or_else(|| found.thousandth(data))
                    .ok_or(Stop::Left)?;
                Ok((found.end, int))
            }
            b't' => Ok((literal(data, at, b"true")?, 1)),
            b'f' => Ok((literal(data, at, b"false")?, 0)),
            b'"' => self.int_in_string(data, at),
            _ => Err(stop_at(data, at)),
        }
    }

    fn int_in_string(&self, data: &[u8], at: usize) -> Result<(usize, i64), Stop> {
        let Quoted { start, end, .. } = quoted(data, at + 1, self.key)?;
        let text = &data[start..end];
        let int = match text {
            [b'0', b'x' | b'X', digits @ ..] if (1..=15).contains(&digits.len()) => digits
                .iter()
                .try_fold(0, |value, &digit| {
                    hex(digit).map(|digit| value << 4 | digit)
                })
                .ok_or(Stop::Left)?,
            _ if is_canonical(text) => number(data, start)?.int().ok_or(Stop::Left)?,
            _ => return Err(Stop::Left),
        };
        Ok((end + 1, int))
    }

    fn real(&self, data: &[u8], at: usize) -> Result<(usize, f64), Stop> {
        match byte(data, at) {
            b'-' | b'0'..=b'9' => {
                let found = number(data, at)?;
                Ok((found.end, found.real(data).ok_or(Stop::Left)?))
            }
            _ => Err(stop_at(data, at)),
        }
    }

    /// A string as it is, everything else as JSON without white space.
    #[inline(always)]
    fn text(&self, data: &[u8], at: usize, text: &mut Text) -> Result<usize, Stop> {
        let (end, form) = match byte(data, at) {
            b'"' => return self.string(data, at, text),
            b'[' | b'{' => (nested(data, at, self.key)?, Form::Nested),
            _ => (value(data, at, self.key)?, Form::Plain),
        };
        *text = Text {
            start: at,
            end,
            hash: self.key.hash(&data[at..end]),
            form,
        };
        Ok(end)
    }
}

fn hex(digit: u8) -> Option<i64> {
    char::from(digit).to_digit(16).map(i64::from)
}

/// Whether it is an integer as JSON writes it.
fn is_canonical(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    !digits.is_empty()
        && digits.iter().all(u8::is_ascii_digit)
        && (digits[0] != b'0' || text.len() == 1)
}

impl Event {
    #[inline(always)]
    fn clear(&mut self) {
        self.phase = 0;
        self.category = Text::default();
        self.name = Text::default();
        self.pid = Text::default();
        self.tid = Text::default();
        self.ts = MISSING;
        self.dur = NO_DUR;
        self.ints.clear();
        self.floats.clear();
        self.texts.clear();
        self.seen_fields = 0;
        self.seen_columns = 0;
        self.args = None;
    }

    /// Of equal keys the last counts: an event that repeats one is left.
    #[inline(always)]
    fn once(&mut self, field: u32) -> Result<(), Stop> {
        if self.seen_fields >> field & 1 == 1 {
            return Err(Stop::Left);
        }
        self.seen_fields |= 1 << field;
        Ok(())
    }
}
