//! One event of strict JSON, read but not yet taken.

use super::bytes::{byte, Key};
use super::keys::{Keys, Widths};
use super::nested::{literal, value};
use super::number::number;
use super::repeats::{Held, Step};
use super::shapes::{Shapes, Target, ROOT};
use super::texts::{Form, Meanings, Text, Texts};
use super::values::{int_of, is_canonical, Values};
use super::Stop;

/// Times that an event does not have, as `raw.py` defines them.
pub const MISSING: i64 = i64::MIN;
pub const NO_DUR: i64 = -1;

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

/// What texts of the file are known to mean.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    pub texts: &'a Texts,
    pub meanings: &'a Meanings,
}

impl Known<'_> {
    /// `text` by its code, if that is known. Its places count from `at`.
    fn by_code(self, text: Text, data: &[u8], at: usize) -> Text {
        let raw = &data[at + text.start..at + text.end];
        let code = match text.form {
            Form::Plain => self.texts.find(raw, text.hash),
            Form::Nested => self.meanings.find(raw, text.hash),
            _ => None,
        };
        code.map_or(text, |code| text.with_code(code))
    }
}

/// What is needed to read events.
pub struct Reader {
    shapes: Shapes,
    values: Values,
    widths: Widths,
    steps: Vec<Step>,
}

impl Reader {
    pub fn new(keys: Keys, widths: Widths, key: Key) -> Reader {
        Reader {
            shapes: Shapes::new(keys, key),
            values: Values::new(key),
            widths,
            steps: Vec::new(),
        }
    }

    /// Reads the event whose `{` is at `start` into `event`; what is behind it.
    #[inline(always)]
    pub fn event(
        &mut self,
        data: &[u8],
        start: usize,
        known: Known,
        event: &mut Event,
    ) -> Result<usize, Stop> {
        event.clear();
        if self.shapes.begin() {
            return self.step_by_step(data, start, known, event);
        }
        let mut behind = start + 1;
        let mut node = ROOT;
        loop {
            let (at, number) = self.shapes.next(data, behind, node)?;
            let target = self.follow(number, behind, &mut node, event);
            if target == Target::End {
                event.finish(self.widths);
                return Ok(at);
            }
            behind = self.value(data, at, target, known, event)?;
        }
    }

    /// As `event`; counts the values, so that long branches will lead over those that repeat.
    #[inline(never)]
    fn step_by_step(
        &mut self,
        data: &[u8],
        start: usize,
        known: Known,
        event: &mut Event,
    ) -> Result<usize, Stop> {
        self.steps.clear();
        let mut behind = start + 1;
        let mut node = ROOT;
        loop {
            let (at, number) = self.shapes.next_step(data, behind, node)?;
            let from = node;
            let target = self.follow(number, behind, &mut node, event);
            let before = event.sizes();
            let end = self.value(data, at, target, known, event)?;
            self.steps.push(Step {
                node: from,
                branch: number,
                start: behind,
                at,
                end,
                held: event.added(target, before, data, at, known),
            });
            if target == Target::End {
                self.shapes.count(data, &self.steps);
                event.finish(self.widths);
                return Ok(end);
            }
            behind = end;
        }
    }

    /// Goes along a branch whose text begins at `start`, and adds what it holds; whose value comes behind it.
    #[inline(always)]
    fn follow(&self, number: u32, start: usize, node: &mut u32, event: &mut Event) -> Target {
        let branch = self.shapes.branch(number);
        for &(distance, held) in self.shapes.held(branch) {
            event.put(held, start + distance as usize);
        }
        *node = branch.node;
        branch.target
    }

    /// Reads the value at `at` into `event`; what is behind it.
    #[inline(always)]
    fn value(
        &mut self,
        data: &[u8],
        at: usize,
        target: Target,
        known: Known,
        event: &mut Event,
    ) -> Result<usize, Stop> {
        let values = &mut self.values;
        match target {
            Target::Phase => values.phase(data, at, &mut event.phase),
            Target::Category => values.string(data, at, &mut event.category),
            Target::Name => values.string(data, at, &mut event.name),
            Target::Pid => values.lane(data, at, 0, &mut event.pid),
            Target::Tid => values.lane(data, at, 1, &mut event.tid),
            Target::Ts => values.time(data, at, &mut event.ts),
            Target::Dur => {
                let end = values.time(data, at, &mut event.dur)?;
                event.dur -= i64::from(event.dur == NO_DUR);
                Ok(end)
            }
            Target::Id => self.id(data, at, event),
            Target::Int(_) | Target::Float(_) | Target::Text(_) if byte(data, at) == b'n' => {
                literal(data, at, b"null")
            }
            Target::Int(column) => {
                let mut int = 0;
                let end = values.int(data, at, &mut int)?;
                event.ints.push((column, int));
                Ok(end)
            }
            Target::Float(column) => {
                let mut real = 0.0;
                let end = values.real(data, at, &mut real)?;
                event.floats.push((column, real));
                Ok(end)
            }
            Target::Text(column) => {
                let mut text = Text::default();
                let end = values.text(data, at, known.meanings, &mut text)?;
                event.texts.push((column, text));
                Ok(end)
            }
            Target::Nobody => value(data, at, values.key),
            Target::End => Ok(at),
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

    /// Adds what a branch holds, by where that begins.
    #[inline(always)]
    fn put(&mut self, held: Held, at: usize) {
        match held {
            Held::Phase(phase) => self.phase = phase,
            Held::Category(text) => self.category = text.moved(at),
            Held::Name(text) => self.name = text.moved(at),
            Held::Pid(text) => self.pid = text.moved(at),
            Held::Tid(text) => self.tid = text.moved(at),
            Held::Ts(ns) => self.ts = ns,
            Held::Dur(ns) => self.dur = ns,
            Held::Int(column, value) => self.ints.push((column, value)),
            Held::Float(column, value) => self.floats.push((column, value)),
            Held::Text(column, text) => self.texts.push((column, text.moved(at))),
            Held::Opens => self.args.0 = at,
            Held::Closes => self.args.1 = at,
        }
    }

    /// How many integers, floats and texts there are.
    fn sizes(&self) -> [usize; 3] {
        [self.ints.len(), self.floats.len(), self.texts.len()]
    }

    /// What the value at `at` has added, where `before` were the sizes before it.
    fn added(
        &self,
        target: Target,
        before: [usize; 3],
        data: &[u8],
        at: usize,
        known: Known,
    ) -> Option<Held> {
        let held = |text: Text| known.by_code(text.counted_from(at), data, at);
        match target {
            Target::Phase => Some(Held::Phase(self.phase)),
            Target::Category => Some(Held::Category(held(self.category))),
            Target::Name => Some(Held::Name(held(self.name))),
            Target::Pid => Some(Held::Pid(held(self.pid))),
            Target::Tid => Some(Held::Tid(held(self.tid))),
            Target::Ts => Some(Held::Ts(self.ts)),
            Target::Dur => Some(Held::Dur(self.dur)),
            _ => {
                let int = self.ints.get(before[0]);
                let float = self.floats.get(before[1]);
                let text = self.texts.get(before[2]);
                int.map(|&(column, value)| Held::Int(column, value))
                    .or_else(|| float.map(|&(column, value)| Held::Float(column, value)))
                    .or_else(|| text.map(|&(column, text)| Held::Text(column, held(text))))
            }
        }
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
