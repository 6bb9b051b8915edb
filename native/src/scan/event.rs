//! One event of strict JSON, read but not yet taken.

use super::bytes::byte;
use super::keys::{Kind, Place, Widths};
use super::nested::{literal, value};
use super::number::number;
use super::shapes::{Shapes, Target, ROOT};
use super::values::{int_of, is_canonical, Values};
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
    /// From the opening bracket of `args` to behind the closing one; nothing where there are none.
    args: (usize, usize),
}

/// Fields of a kind that there is room for at first, more than most events have. So the fields of two events that two
/// threads read are far from each other in memory, however they are allocated.
const ROOM: usize = 64;

impl Event {
    pub fn new() -> Event {
        Event {
            ints: Vec::with_capacity(ROOM),
            floats: Vec::with_capacity(ROOM),
            texts: Vec::with_capacity(ROOM),
            ..Event::default()
        }
    }
}

/// What is needed to read events.
pub struct Reader {
    pub shapes: Shapes,
    pub values: Values,
    pub widths: Widths,
}

impl Reader {
    /// Reads the event whose `{` is at `start` into `event`; what is behind it.
    #[inline(always)]
    pub fn event(&mut self, data: &[u8], start: usize, event: &mut Event) -> Result<usize, Stop> {
        event.clear();
        self.shapes.begin();
        let mut behind = start + 1;
        let mut node = ROOT;
        loop {
            let (at, branch) = self.shapes.next(data, behind, node)?;
            if branch.opens != 0 {
                event.args.0 = behind + branch.opens as usize;
            }
            if branch.closes != 0 {
                event.args.1 = behind + branch.closes as usize;
            }
            node = branch.node;
            let values = &mut self.values;
            behind = match branch.target {
                Target::Phase => values.phase(data, at, &mut event.phase)?,
                Target::Category => values.string(data, at, &mut event.category)?,
                Target::Name => values.string(data, at, &mut event.name)?,
                Target::Pid => values.lane(data, at, 0, &mut event.pid)?,
                Target::Tid => values.lane(data, at, 1, &mut event.tid)?,
                Target::Ts => values.time(data, at, &mut event.ts)?,
                Target::Dur => {
                    let end = values.time(data, at, &mut event.dur)?;
                    event.dur -= i64::from(event.dur == NO_DUR);
                    end
                }
                Target::Id => self.id(data, at, event)?,
                Target::Arg(place) => self.arg(data, at, place, event)?,
                Target::Nobody => value(data, at, values.key)?,
                Target::End => {
                    event.finish(self.widths);
                    return Ok(at);
                }
            };
        }
    }

    /// A number, or a text that is none; a text that may be one in disguise is left.
    fn id(&self, data: &[u8], at: usize, event: &mut Event) -> Result<usize, Stop> {
        if byte(data, at) != b'"' {
            let found = number(data, at)?;
            let negative_zero = found.negative && found.whole == 0;
            let id = found.int().filter(|_| !negative_zero).ok_or(Stop::Left)?;
            event.ints.push((self.widths.id_int(), id));
            return Ok(found.end);
        }
        let mut text = Text::default();
        let end = self.values.string(data, at, &mut text)?;
        let inside = &data[text.start..text.end];
        if text.form == Form::Escaped {
            return Err(Stop::Left);
        }
        if is_canonical(inside) {
            let id = int_of(inside).ok_or(Stop::Left)?;
            event.ints.push((self.widths.id_int(), id));
        } else {
            event.texts.push((self.widths.id_text(), text));
        }
        Ok(end)
    }

    #[inline(always)]
    fn arg(&self, data: &[u8], at: usize, place: Place, event: &mut Event) -> Result<usize, Stop> {
        if byte(data, at) == b'n' {
            return literal(data, at, b"null");
        }
        match place.kind {
            Kind::Int => {
                let mut int = 0;
                let end = self.values.int(data, at, &mut int)?;
                event.ints.push((place.column, int));
                Ok(end)
            }
            Kind::Float => {
                let mut real = 0.0;
                let end = self.values.real(data, at, &mut real)?;
                event.floats.push((place.column, real));
                Ok(end)
            }
            Kind::Text => {
                let mut text = Text::default();
                let end = self.values.text(data, at, &mut text)?;
                event.texts.push((place.column, text));
                Ok(end)
            }
        }
    }
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
        self.args = (0, 0);
    }

    /// Behind the last value.
    #[inline(always)]
    fn finish(&mut self, widths: Widths) {
        let (start, end) = self.args;
        if self.phase == b'C' && end != 0 {
            let text = Text {
                start,
                end,
                hash: 0,
                form: Form::Args,
            };
            self.texts.push((widths.counter_args(), text));
        }
    }
}
