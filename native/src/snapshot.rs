//! Memory snapshots of torch: the pickle is run as a stream, and its records become columns.
//!
//! `trace/pickles/unpickle.py` says what a pickle is, `tests/reference/snapshots.py` what a record becomes. This reader takes
//! files as torch writes them. Where one is cut off or damaged it stops at the instruction that cannot be run and keeps what
//! stands before it; Python says what is wrong there. At anything else (an old protocol, odd types, a limit) it gives up, and
//! the file is refused. So it needs no words for what is wrong with a file.

mod containers;
mod output;
mod records;

use std::collections::HashMap;

/// What a pickle may cost; beyond it Python says what is wrong.
const DEPTH: usize = 200;
const PENDING: usize = 200_000;
const KEPT: usize = 4_000_000;
const TEXT: usize = 64 << 20;
const NUMBER: usize = 40;
/// Bytes of the outermost value, and how many more for each byte of the file: what is named many times is written each time.
const ROOT: usize = 1 << 20;
const ROOT_RATIO: usize = 8;
const MISSING: i64 = -1;

/// Why the reader stops. But for `Left` nothing of the instruction was done yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// The file is none that this reader takes.
    Left = 0,
    /// Python says why the instruction cannot be run.
    Here = 1,
    /// The values that the instruction needs are not there.
    Lacks = 2,
    /// Pairs for a dict that is none.
    NoDict = 3,
    /// Values for a list that is none.
    NoList = 4,
    /// A key without a value.
    NoValue = 5,
}

use Stop::Left;

type Taken<T> = Result<T, Stop>;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Value {
    None,
    Bool(bool),
    Int(i64),
    Big,
    Float(u64),
    Text(u32),
    Tuple(u32),
    List(u32),
    Dict(u32),
    Frame(u32),
    Stack(u32),
    Event(u32),
    Block(u32),
}

/// A dict (keys and values in turn), a list, or a tuple.
#[derive(Default)]
struct Container {
    items: Vec<Value>,
    /// Its number in the memo.
    slot: Option<usize>,
    /// It was offered to be folded, and stays.
    is_plain: bool,
    /// It was recalled before it became a row, so it may be met again.
    is_shared: bool,
    /// What it became.
    small: Option<Value>,
    /// Containers within each other, itself among them.
    depth: usize,
    /// Values in it, itself among them; those of a shared one each time.
    size: usize,
}

#[derive(Default)]
struct Texts {
    codes: HashMap<Box<[u8]>, u32>,
    ends: Vec<i64>,
    bytes: Vec<u8>,
}

impl Texts {
    fn code(&mut self, text: &[u8]) -> u32 {
        if let Some(&code) = self.codes.get(text) {
            return code;
        }
        let code = self.codes.len() as u32;
        self.codes.insert(text.into(), code);
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len() as i64);
        code
    }
}

/// Values by code, in the order in which they first appear.
struct Codes<K> {
    codes: HashMap<K, i32>,
    order: Vec<K>,
}

impl<K: Copy + Eq + std::hash::Hash> Codes<K> {
    fn new() -> Self {
        Codes {
            codes: HashMap::new(),
            order: Vec::new(),
        }
    }

    fn code(&mut self, key: K) -> i32 {
        let next = self.order.len() as i32;
        *self.codes.entry(key).or_insert_with(|| {
            self.order.push(key);
            next
        })
    }
}

/// A column on its way out.
pub enum Column {
    Wide(Vec<i64>),
    Codes(Vec<i32>),
    Bytes(Vec<u8>),
}

impl Column {
    /// Bytes that it takes.
    pub fn size(&self) -> usize {
        match self {
            Column::Wide(values) => 8 * values.len(),
            Column::Codes(values) => 4 * values.len(),
            Column::Bytes(values) => values.len(),
        }
    }

    /// Copies it out in the order of bytes of this machine.
    pub fn copy_to(&self, to: &mut [u8]) {
        match self {
            Column::Wide(values) => {
                for (to, value) in to.chunks_exact_mut(8).zip(values) {
                    to.copy_from_slice(&value.to_ne_bytes());
                }
            }
            Column::Codes(values) => {
                for (to, value) in to.chunks_exact_mut(4).zip(values) {
                    to.copy_from_slice(&value.to_ne_bytes());
                }
            }
            Column::Bytes(values) => to.copy_from_slice(values),
        }
    }
}

#[derive(Default)]
struct EventColumns {
    action: Vec<i32>,
    address: Vec<i64>,
    size: Vec<i64>,
    stream: Vec<i64>,
    time: Vec<i64>,
    stack: Vec<i32>,
    pool: Vec<i32>,
    context: Vec<i32>,
    metadata: Vec<i32>,
}

#[derive(Default)]
struct BlockColumns {
    address: Vec<i64>,
    size: Vec<i64>,
    requested: Vec<i64>,
    state: Vec<i32>,
    stack: Vec<i32>,
}

/// Names of the keys of records, as codes of texts.
struct Keys {
    action: u32,
    size: u32,
    filename: u32,
    name: u32,
    line: u32,
    state: u32,
    addr: u32,
    device_free: u32,
    stream: u32,
    time_us: u32,
    frames: u32,
    pool_id: u32,
    segment_pool_id: u32,
    compile_context: u32,
    user_metadata: u32,
    address: u32,
    requested_size: u32,
    real_size: u32,
    history: u32,
    awaiting: u32,
    pending: u32,
    empty: u32,
    none: u32,
}

impl Keys {
    fn new(texts: &mut Texts) -> Self {
        let mut code = |text: &str| texts.code(text.as_bytes());
        Keys {
            action: code("action"),
            size: code("size"),
            filename: code("filename"),
            name: code("name"),
            line: code("line"),
            state: code("state"),
            addr: code("addr"),
            device_free: code("device_free"),
            stream: code("stream"),
            time_us: code("time_us"),
            frames: code("frames"),
            pool_id: code("pool_id"),
            segment_pool_id: code("segment_pool_id"),
            compile_context: code("compile_context"),
            user_metadata: code("user_metadata"),
            address: code("address"),
            requested_size: code("requested_size"),
            real_size: code("real_size"),
            history: code("history"),
            awaiting: code("active_awaiting_free"),
            pending: code("active_pending_free"),
            empty: code(""),
            none: code("None"),
        }
    }
}

/// Where the reader is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    Reading,
    Done,
    Left,
    /// Stopped at an instruction that cannot be run.
    Cut,
}

pub struct Reader {
    state: State,
    /// Why it was cut.
    stop: Stop,
    /// Bytes that were run.
    taken: usize,
    rest: Vec<u8>,
    stack: Vec<Value>,
    marks: Vec<usize>,
    memo: Vec<Value>,
    containers: Vec<Container>,
    unused: Vec<u32>,
    kept: usize,
    tuples: HashMap<Box<[Value]>, u32>,
    nothing: Value,
    texts: Texts,
    keys: Keys,
    frames: Codes<(u32, u32, i64)>,
    stacks: HashMap<Box<[u32]>, u32>,
    stack_starts: Vec<i64>,
    stack_frames: Vec<i32>,
    actions: Codes<u32>,
    states: Codes<u32>,
    notes: Codes<u32>,
    pools: Codes<(i64, i64)>,
    events: EventColumns,
    blocks: BlockColumns,
    columns: Vec<Column>,
}

impl Default for Reader {
    fn default() -> Self {
        Reader::new()
    }
}

impl Reader {
    pub fn new() -> Self {
        let mut texts = Texts::default();
        let keys = Keys::new(&mut texts);
        let mut made = Reader {
            state: State::Reading,
            stop: Stop::Here,
            taken: 0,
            rest: Vec::new(),
            stack: Vec::new(),
            marks: Vec::new(),
            memo: Vec::new(),
            containers: Vec::new(),
            unused: Vec::new(),
            kept: 0,
            tuples: HashMap::new(),
            nothing: Value::None,
            texts,
            keys,
            frames: Codes::new(),
            stacks: HashMap::new(),
            stack_starts: vec![0],
            stack_frames: Vec::new(),
            actions: Codes::new(),
            states: Codes::new(),
            notes: Codes::new(),
            pools: Codes::new(),
            events: EventColumns::default(),
            blocks: BlockColumns::default(),
            columns: Vec::new(),
        };
        let number = made.container(Vec::new());
        made.tuples.insert(Box::default(), number);
        made.nothing = Value::Tuple(number);
        made
    }

    /// Takes the next bytes of the pickle.
    pub fn feed(&mut self, data: &[u8]) -> State {
        if self.state == State::Reading {
            let mut all = std::mem::take(&mut self.rest);
            all.extend_from_slice(data);
            let mut at = 0;
            if let Err(stop) = self.run(&all, &mut at) {
                self.stop = stop;
                self.state = match stop {
                    Left => State::Left,
                    _ => State::Cut,
                };
            }
            all.drain(..at);
            self.rest = all;
            self.taken += at;
        }
        self.state
    }

    /// Closes what is open, as there is no more that can be run: what was complete is there.
    pub fn end(&mut self) -> State {
        if matches!(self.state, State::Reading | State::Cut) {
            self.state = match self.close() {
                Ok(()) => State::Cut,
                Err(_) => State::Left,
            };
        }
        self.state
    }

    /// Runs whole instructions; ``at`` is where the next one begins.
    fn run(&mut self, data: &[u8], at: &mut usize) -> Taken<()> {
        while self.state == State::Reading {
            if self.stack.len() > PENDING || self.kept.max(self.containers.len()) > KEPT {
                return Err(Left);
            }
            match self.instruction(&data[*at..])? {
                0 => break,
                taken => *at += taken,
            }
        }
        Ok(())
    }

    /// Runs the first instruction of some bytes: how many it has, 0 if it is not there wholly.
    fn instruction(&mut self, data: &[u8]) -> Taken<usize> {
        let code = match data.first() {
            None => return Ok(0),
            Some(&code) => code,
        };
        let argument = match code {
            0x80 | b'K' | b'q' | b'h' => 1,
            b'M' => 2,
            b'J' | b'r' | b'j' => 4,
            b'G' | 0x95 => 8,
            0x8a | 0x8c => 1,
            b'X' => 4,
            0x8d => 8,
            _ => 0,
        };
        if data.len() < 1 + argument {
            return Ok(0);
        }
        let number = data[1..=argument]
            .iter()
            .take(8)
            .rev()
            .fold(0u64, |sum, &byte| sum << 8 | u64::from(byte));
        let body = match code {
            0x8a | 0x8c | b'X' | 0x8d => {
                let length = usize::try_from(number).map_err(|_| Stop::Here)?;
                if length > if code == 0x8a { NUMBER } else { TEXT } {
                    return Err(Stop::Here);
                }
                if data.len() < 1 + argument + length {
                    return Ok(0);
                }
                &data[1 + argument..1 + argument + length]
            }
            _ => &[],
        };
        self.execute(code, number, body, &data[1..])?;
        Ok(1 + argument + body.len())
    }

    fn execute(&mut self, code: u8, number: u64, body: &[u8], raw: &[u8]) -> Taken<()> {
        match code {
            0x80 if number > 5 => return Err(Stop::Here),
            0x80 | 0x95 => {}
            b'.' => return self.stop(),
            b'(' => {
                if self.marks.len() >= DEPTH {
                    return Err(Left);
                }
                self.marks.push(self.stack.len());
            }
            b'0' => {
                self.own(1).map_err(|_| Left)?;
                self.stack.pop();
            }
            b'}' => self.push_container(Value::Dict),
            b']' => self.push_container(Value::List),
            b')' => self.stack.push(self.nothing),
            b'u' => {
                let one = self.dict_at(self.below_mark()?)?;
                let items = self.marked()?;
                self.put_pairs(one, items)?;
            }
            b's' => {
                self.own(3)?;
                let one = self.dict_at(self.stack.len() - 3)?;
                let items = self.stack.split_off(self.stack.len() - 2);
                self.put_pairs(one, items)?;
            }
            b'e' => {
                let one = self.list_at(self.below_mark()?)?;
                let items = self.marked()?;
                self.append(one, items)?;
            }
            b'a' => {
                self.own(2)?;
                let one = self.list_at(self.stack.len() - 2)?;
                let items = self.stack.split_off(self.stack.len() - 1);
                self.append(one, items)?;
            }
            b't' => {
                let items = self.marked()?;
                self.push_tuple(items)?;
            }
            0x85..=0x87 => {
                let count = usize::from(code - 0x84);
                self.own(count)?;
                let items = self.stack.split_off(self.stack.len() - count);
                self.push_tuple(items)?;
            }
            0x94 => self.remember(self.memo.len())?,
            b'q' | b'r' => self.remember(number as usize)?,
            b'h' | b'j' => {
                let value = *self.memo.get(number as usize).ok_or(Stop::Lacks)?;
                if let Value::List(one) | Value::Dict(one) = value {
                    let found = &mut self.containers[one as usize];
                    found.is_shared |= !found.is_plain;
                }
                self.stack.push(value);
            }
            b'N' => self.stack.push(Value::None),
            0x88 | 0x89 => self.stack.push(Value::Bool(code == 0x88)),
            b'K' | b'M' => self.stack.push(Value::Int(number as i64)),
            b'J' => self.stack.push(Value::Int(i64::from(number as u32 as i32))),
            b'G' => {
                let bytes = <[u8; 8]>::try_from(&raw[..8]).map_err(|_| Left)?;
                self.stack.push(Value::Float(u64::from_be_bytes(bytes)));
            }
            0x8a => self.stack.push(long(body)?),
            0x8c | b'X' | 0x8d => {
                let text = match std::str::from_utf8(body) {
                    Ok(_) => self.texts.code(body),
                    // The reference takes single surrogates as they are.
                    Err(_) if body.windows(2).any(|two| two[0] == 0xed && two[1] >= 0xa0) => {
                        return Err(Left)
                    }
                    Err(_) => self.texts.code(String::from_utf8_lossy(body).as_bytes()),
                };
                self.stack.push(Value::Text(text));
            }
            // Instructions that the reference runs, and torch does not write.
            b'1' | b'2' | b'd' | b'l' | b'p' | b'g' | 0x8b | b'I' | b'L' | b'F' | b'U' | b'T' => {
                return Err(Left)
            }
            b'C' | b'B' | 0x8e | 0x96 | b'V' | b'S' => return Err(Left),
            _ => return Err(Stop::Here),
        }
        Ok(())
    }

    /// Checks that so many values stand above the last mark.
    fn own(&self, count: usize) -> Taken<()> {
        if self.stack.len() < self.floor(0) + count {
            return Err(Stop::Lacks);
        }
        Ok(())
    }

    /// Where the values above the last mark begin, or those above one further down.
    fn floor(&self, marks: usize) -> usize {
        self.marks.iter().rev().nth(marks).copied().unwrap_or(0)
    }

    fn marked(&mut self) -> Taken<Vec<Value>> {
        let mark = self.marks.pop().ok_or(Stop::Lacks)?;
        Ok(self.stack.split_off(mark))
    }

    /// The place of the value below the last mark.
    fn below_mark(&self) -> Taken<usize> {
        match self.marks.last() {
            Some(&mark) if mark > self.floor(1) => Ok(mark - 1),
            _ => Err(Stop::Lacks),
        }
    }

    fn dict_at(&self, place: usize) -> Taken<usize> {
        match self.stack[place] {
            Value::Dict(_) if (self.stack.len() - place) % 2 == 0 => Err(Stop::NoValue),
            Value::Dict(one) => Ok(one as usize),
            _ => Err(Stop::NoDict),
        }
    }

    fn list_at(&self, place: usize) -> Taken<usize> {
        match self.stack[place] {
            Value::List(one) => Ok(one as usize),
            _ => Err(Stop::NoList),
        }
    }

    fn stop(&mut self) -> Taken<()> {
        if !self.marks.is_empty() || self.stack.len() != 1 {
            return Err(Stop::Here);
        }
        self.finish()?;
        self.state = State::Done;
        Ok(())
    }
}

fn long(body: &[u8]) -> Taken<Value> {
    let negative = body.last().map_or(false, |&last| last >= 0x80);
    let fill = if negative { 0xff } else { 0 };
    if body.len() > 8 && body[8..].iter().any(|&byte| byte != fill) {
        return Ok(Value::Big);
    }
    let mut bytes = [fill; 8];
    for (to, &byte) in bytes.iter_mut().zip(body) {
        *to = byte;
    }
    let number = i64::from_le_bytes(bytes);
    if body.len() > 8 && (number < 0) != negative {
        return Ok(Value::Big);
    }
    Ok(Value::Int(number))
}

#[cfg(test)]
mod tests;
