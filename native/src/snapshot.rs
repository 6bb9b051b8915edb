//! Memory snapshots of torch: the pickle is run as a stream, and its records become columns.
//!
//! `trace/pickles/unpickle.py` says what a pickle is, `tests/reference/snapshots.py` what a record becomes. This reader takes
//! files as torch writes them. Where one is cut off or damaged it stops at the instruction that cannot be run and keeps what
//! stands before it; Python says what is wrong there. At anything else (an old protocol, odd types, a limit) it gives up, and
//! the file is refused. So it needs no words for what is wrong with a file.

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

    fn container(&mut self, items: Vec<Value>) -> u32 {
        let made = Container {
            items,
            depth: 1,
            size: 1,
            ..Container::default()
        };
        match self.unused.pop() {
            Some(number) => {
                self.containers[number as usize] = made;
                number
            }
            None => {
                self.containers.push(made);
                self.containers.len() as u32 - 1
            }
        }
    }

    fn push_container(&mut self, kind: impl Fn(u32) -> Value) {
        let number = self.container(Vec::new());
        self.stack.push(kind(number));
    }

    fn push_tuple(&mut self, items: Vec<Value>) -> Taken<()> {
        let value = self.tuple(items)?;
        self.stack.push(value);
        Ok(())
    }

    /// A tuple; of plain values each is kept once.
    fn tuple(&mut self, items: Vec<Value>) -> Taken<Value> {
        let is_plain = items.iter().all(|item| {
            matches!(
                item,
                Value::None | Value::Bool(_) | Value::Int(_) | Value::Text(_)
            )
        });
        if is_plain {
            if let Some(&known) = self.tuples.get(items.as_slice()) {
                return Ok(Value::Tuple(known));
            }
        }
        let items = self.folded(items)?;
        let number = self.container(items.clone());
        self.weigh(number as usize, &items)?;
        if is_plain {
            self.tuples.insert(items.into_boxed_slice(), number);
        }
        Ok(Value::Tuple(number))
    }

    fn remember(&mut self, index: usize) -> Taken<()> {
        self.own(1)?;
        let value = *self.stack.last().ok_or(Left)?;
        match index.cmp(&self.memo.len()) {
            std::cmp::Ordering::Less => self.memo[index] = value,
            std::cmp::Ordering::Equal => self.memo.push(value),
            std::cmp::Ordering::Greater => return Err(Left),
        }
        if let Value::List(one) | Value::Dict(one) = value {
            let found = &mut self.containers[one as usize];
            // A second number would name the container after it became a row.
            found.is_shared |= found.slot.is_some();
            found.slot = Some(index);
        }
        Ok(())
    }

    fn append(&mut self, one: usize, items: Vec<Value>) -> Taken<()> {
        self.is_open(one)?;
        let items = self.folded(items)?;
        self.is_open(one)?;
        self.weigh(one, &items)?;
        self.containers[one].items.extend(items);
        Ok(())
    }

    /// Adds values to the depth and the size of a container.
    fn weigh(&mut self, one: usize, items: &[Value]) -> Taken<()> {
        let (mut deepest, mut size) = (0, items.len());
        for item in items {
            if let Value::Tuple(inner) | Value::List(inner) | Value::Dict(inner) = item {
                let found = &self.containers[*inner as usize];
                deepest = deepest.max(found.depth);
                size = size.saturating_add(found.size);
            }
        }
        let target = &mut self.containers[one];
        target.depth = target.depth.max(deepest + 1);
        target.size = target.size.saturating_add(size);
        if deepest >= DEPTH || target.size > KEPT {
            return Err(Left);
        }
        Ok(())
    }

    /// Checks that a container was not put into another: then it is complete, and nothing holds itself.
    fn is_open(&self, one: usize) -> Taken<()> {
        let found = &self.containers[one];
        if found.is_plain || found.small.is_some() {
            return Err(Left);
        }
        Ok(())
    }

    /// Puts keys and values in turn into a dict.
    fn put_pairs(&mut self, one: usize, mut items: Vec<Value>) -> Taken<()> {
        self.is_open(one)?;
        let values = items.iter().skip(1).step_by(2).copied().collect();
        let values = self.folded(values)?;
        self.weigh(one, &values)?;
        for (place, value) in values.into_iter().enumerate() {
            items[2 * place + 1] = value;
        }
        self.is_open(one)?;
        self.kept += items.len() / 2;
        for pair in items.chunks_exact(2) {
            // Keys of other types are for the reference, which may refuse them.
            if !matches!(pair[0], Value::Text(_)) {
                return Err(Left);
            }
            let known = &mut self.containers[one].items;
            let mut before = None;
            if known.len() < 128 {
                before = known.chunks_exact_mut(2).find(|old| old[0] == pair[0]);
            }
            match before {
                Some(old) => old[1] = pair[1],
                None => known.extend_from_slice(pair),
            }
        }
        Ok(())
    }

    // --- what is open at the end of a damaged file, as the reference closes it ---

    fn close(&mut self) -> Taken<()> {
        let top = self.top();
        let cut = vec![
            self.taken as i64,
            self.stop as i64,
            i64::from(!self.marks.is_empty()),
        ];
        while !self.marks.is_empty() {
            self.close_marked()?;
        }
        let mut chain = std::mem::take(&mut self.stack);
        self.close_chain(&mut chain)?;
        self.stack = chain;
        if self.kept > KEPT || self.stack.is_empty() {
            return Err(Left);
        }
        self.finish()?;
        self.columns.push(Column::Wide(cut));
        self.columns
            .push(Column::Bytes(std::mem::take(&mut self.rest)));
        self.columns.push(Column::Bytes(top));
        Ok(())
    }

    /// Up to two texts on top of the stack, as a pickle: they may name code.
    fn top(&self) -> Vec<u8> {
        let least = self.floor(0).max(self.stack.len().saturating_sub(2));
        let mut made = vec![0x80, 4, b'('];
        for &value in &self.stack[least..] {
            let value = match value {
                Value::Text(_) => value,
                _ => Value::None,
            };
            // A text cannot be written wrongly.
            let _ = self.write(value, &mut made, 0);
        }
        made.extend(b"t.");
        made
    }

    fn close_marked(&mut self) -> Taken<()> {
        let mut items = self.marked()?;
        let target = match self.stack.len() > self.floor(0) {
            true => self.stack.last().copied(),
            false => None,
        };
        match target {
            Some(Value::List(one)) => self.append(one as usize, items),
            Some(target @ Value::Dict(one)) => {
                let last = (0..items.len())
                    .step_by(2)
                    .rev()
                    .find(|&at| matches!(items[at], Value::Text(_)))
                    .unwrap_or(0);
                let mut chain = items.split_off(last);
                self.put_pairs(one as usize, items)?;
                chain.insert(0, target);
                self.close_chain(&mut chain)
            }
            _ => Ok(()),
        }
    }

    /// Puts what stands above a container into it.
    fn close_chain(&mut self, chain: &mut Vec<Value>) -> Taken<()> {
        while chain.len() > 1 {
            let value = chain.pop().ok_or(Left)?;
            let below = chain.len() - 1;
            if let Value::List(one) = chain[below] {
                self.append(one as usize, vec![value])?;
            } else if below > 0 {
                if let Value::Dict(one) = chain[below - 1] {
                    let key = chain.pop().ok_or(Left)?;
                    self.put_pairs(one as usize, vec![key, value])?;
                }
            }
        }
        Ok(())
    }

    /// The items as they go into a container: each dict and list has had its chance to become a row.
    fn folded(&mut self, mut items: Vec<Value>) -> Taken<Vec<Value>> {
        self.kept += items.len();
        for item in &mut items {
            let number = match *item {
                Value::Dict(one) | Value::List(one) => one,
                _ => continue,
            };
            if self.containers[number as usize].is_plain {
                continue;
            }
            if let Some(small) = self.containers[number as usize].small {
                *item = small;
                continue;
            }
            let small = match *item {
                Value::Dict(_) => self.record(number)?,
                _ => self.call_stack(number),
            };
            let found = &mut self.containers[number as usize];
            let small = match small {
                None => {
                    found.is_plain = true;
                    continue;
                }
                Some(small) => small,
            };
            self.kept = self.kept.saturating_sub(found.items.len() + 1);
            if let Some(slot) = found.slot {
                self.memo[slot] = small;
            }
            found.small = Some(small);
            // A frame that is twice in its first stack is met again.
            if !found.is_shared {
                *found = Container::default();
                self.unused.push(number);
            }
            *item = small;
        }
        Ok(items)
    }

    fn call_stack(&mut self, number: u32) -> Option<Value> {
        let items = &self.containers[number as usize].items;
        let mut frames = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Value::Frame(frame) => frames.push(*frame),
                _ => return None,
            }
        }
        if frames.is_empty() {
            return Some(self.nothing);
        }
        if let Some(&known) = self.stacks.get(frames.as_slice()) {
            return Some(Value::Stack(known));
        }
        let code = self.stacks.len() as u32;
        self.stack_frames
            .extend(frames.iter().map(|&one| one as i32));
        self.stack_starts.push(self.stack_frames.len() as i64);
        self.stacks.insert(frames.into_boxed_slice(), code);
        Some(Value::Stack(code))
    }

    /// The row of a dict that is a record.
    fn record(&mut self, number: u32) -> Taken<Option<Value>> {
        let items = std::mem::take(&mut self.containers[number as usize].items);
        let made = {
            let get = |key: u32| value_of(&items, key);
            let keys = &self.keys;
            let size = get(keys.size);
            if let (Some(action), Some(size)) = (get(keys.action), size) {
                Some(self.event(action, size, &get)?)
            } else if let (Some(filename), Some(name)) = (get(keys.filename), get(keys.name)) {
                match (name, filename) {
                    (Value::Text(name), Value::Text(filename)) => {
                        let line = int(get(keys.line), 0)?;
                        let code = self.frames.code((name, filename, line));
                        Some(Value::Frame(code as u32))
                    }
                    _ => return Err(Left),
                }
            } else if let (Some(state), Some(size)) = (get(keys.state), size) {
                Some(self.block(state, size, &get)?)
            } else {
                None
            }
        };
        self.containers[number as usize].items = items;
        Ok(made)
    }

    fn event(
        &mut self,
        action: Value,
        size: Value,
        get: &dyn Fn(u32) -> Option<Value>,
    ) -> Taken<Value> {
        let keys = &self.keys;
        let action = match action {
            Value::Text(text) => self.actions.code(text),
            _ => return Err(Left),
        };
        let address = int(get(keys.addr).or_else(|| get(keys.device_free)), MISSING)?;
        let size = int(Some(size), MISSING)?;
        let stream = int(get(keys.stream), 0)?;
        let time = int(get(keys.time_us), MISSING)?;
        let stack = stack_of(get(keys.frames));
        let pool = get(keys.pool_id).or_else(|| get(keys.segment_pool_id));
        let (context, metadata) = (get(keys.compile_context), get(keys.user_metadata));
        let pool = self.pool(pool)?;
        let (context, metadata) = (self.note(context)?, self.note(metadata)?);
        let events = &mut self.events;
        events.action.push(action);
        events.address.push(address);
        events.size.push(size);
        events.stream.push(stream);
        events.time.push(time);
        events.stack.push(stack);
        events.pool.push(pool);
        events.context.push(context);
        events.metadata.push(metadata);
        Ok(Value::Event(events.size.len() as u32 - 1))
    }

    fn note(&mut self, text: Option<Value>) -> Taken<i32> {
        let text = match text {
            None => self.keys.empty,
            Some(Value::None) => self.keys.none,
            Some(Value::Text(text)) => text,
            _ => return Err(Left),
        };
        Ok(self.notes.code(text))
    }

    fn pool(&mut self, pool: Option<Value>) -> Taken<i32> {
        if let Some(Value::Tuple(one) | Value::List(one)) = pool {
            let items = &self.containers[one as usize].items;
            if let [first, second] = items[..] {
                let both = (int(Some(first), 0)?, int(Some(second), 0)?);
                return Ok(self.pools.code(both));
            }
        }
        Ok(MISSING as i32)
    }

    fn block(
        &mut self,
        state: Value,
        size: Value,
        get: &dyn Fn(u32) -> Option<Value>,
    ) -> Taken<Value> {
        let keys = &self.keys;
        // Torch 2.0 kept the request and the frames of a block in its history.
        let first = match get(keys.history) {
            Some(Value::List(all)) => self.containers[all as usize].items.first(),
            _ => None,
        };
        let before = |key: u32| match first {
            Some(&Value::Dict(one)) => value_of(&self.containers[one as usize].items, key),
            _ => None,
        };
        let state = match state {
            Value::Text(text) if text == keys.awaiting => keys.pending,
            Value::Text(text) => text,
            _ => return Err(Left),
        };
        let address = int(get(keys.address), MISSING)?;
        let requested = get(keys.requested_size).or_else(|| before(keys.real_size));
        let requested = int(requested, MISSING)?;
        let size = int(Some(size), MISSING)?;
        let stack = stack_of(get(keys.frames).or_else(|| before(keys.frames)));
        let state = self.states.code(state);
        let blocks = &mut self.blocks;
        blocks.address.push(address);
        blocks.size.push(size);
        blocks.requested.push(requested);
        blocks.state.push(state);
        blocks.stack.push(stack);
        Ok(Value::Block(blocks.size.len() as u32 - 1))
    }

    fn stop(&mut self) -> Taken<()> {
        if !self.marks.is_empty() || self.stack.len() != 1 {
            return Err(Stop::Here);
        }
        self.finish()?;
        self.state = State::Done;
        Ok(())
    }

    /// Makes the columns of what is there.
    fn finish(&mut self) -> Taken<()> {
        let mut root = vec![0x80, 4];
        self.memo = Vec::new();
        self.write(self.stack[0], &mut root, 0)?;
        root.push(b'.');
        let events = std::mem::take(&mut self.events);
        let blocks = std::mem::take(&mut self.blocks);
        let order = &self.frames.order;
        let frames: [Vec<i32>; 2] = [
            order.iter().map(|&(name, _, _)| name as i32).collect(),
            order.iter().map(|&(_, file, _)| file as i32).collect(),
        ];
        let lines = order.iter().map(|&(_, _, line)| line).collect();
        let [names, files] = frames;
        let codes = |found: &Codes<u32>| found.order.iter().map(|&text| text as i32).collect();
        let pools = &self.pools.order;
        self.columns = vec![
            Column::Codes(events.action),
            Column::Wide(events.address),
            Column::Wide(events.size),
            Column::Wide(events.stream),
            Column::Wide(events.time),
            Column::Codes(events.stack),
            Column::Codes(events.pool),
            Column::Codes(events.context),
            Column::Codes(events.metadata),
            Column::Wide(blocks.address),
            Column::Wide(blocks.size),
            Column::Wide(blocks.requested),
            Column::Codes(blocks.state),
            Column::Codes(blocks.stack),
            Column::Codes(names),
            Column::Codes(files),
            Column::Wide(lines),
            Column::Wide(std::mem::take(&mut self.stack_starts)),
            Column::Codes(std::mem::take(&mut self.stack_frames)),
            Column::Codes(codes(&self.actions)),
            Column::Codes(codes(&self.states)),
            Column::Codes(codes(&self.notes)),
            Column::Wide(pools.iter().flat_map(|&(a, b)| [a, b]).collect()),
            Column::Wide(std::mem::take(&mut self.texts.ends)),
            Column::Bytes(std::mem::take(&mut self.texts.bytes)),
            Column::Bytes(root),
        ];
        self.containers = Vec::new();
        Ok(())
    }

    /// Takes a column out, by its place in the list above.
    pub fn take(&mut self, number: usize) -> Option<Column> {
        let column = self.columns.get_mut(number)?;
        Some(std::mem::replace(column, Column::Bytes(Vec::new())))
    }

    /// Bytes of a column.
    pub fn size(&self, number: usize) -> usize {
        self.columns.get(number).map_or(0, Column::size)
    }

    /// The value as a pickle without numbers; a row is a tuple: bytes that say of what, the first row, the one behind the
    /// last. Rows of a list that follow each other are one tuple.
    fn write(&self, value: Value, to: &mut Vec<u8>, depth: usize) -> Taken<()> {
        // A value may be named many times, each time by two others.
        if depth > DEPTH || to.len() > ROOT + ROOT_RATIO * self.taken {
            return Err(Left);
        }
        match value {
            Value::None => to.push(b'N'),
            Value::Bool(is_true) => to.push(if is_true { 0x88 } else { 0x89 }),
            Value::Int(number) => {
                to.extend([0x8a, 8]);
                to.extend(number.to_le_bytes());
            }
            // Any number that no column holds.
            Value::Big => to.extend([0x8a, 9, 0, 0, 0, 0, 0, 0, 0, 0x80, 0]),
            Value::Float(bits) => {
                to.push(b'G');
                to.extend(bits.to_be_bytes());
            }
            Value::Text(code) => {
                let end = self.texts.ends[code as usize] as usize;
                let start = match code {
                    0 => 0,
                    _ => self.texts.ends[code as usize - 1] as usize,
                };
                to.push(b'X');
                to.extend(((end - start) as u32).to_le_bytes());
                to.extend(&self.texts.bytes[start..end]);
            }
            Value::Tuple(one) | Value::List(one) | Value::Dict(one) => {
                let items = &self.containers[one as usize].items;
                let (open, close): (&[u8], u8) = match value {
                    Value::Tuple(_) => (b"(", b't'),
                    Value::List(_) => (b"](", b'e'),
                    _ => (b"}(", b'u'),
                };
                to.extend(open);
                let mut at = 0;
                while at < items.len() {
                    let many = if matches!(value, Value::List(_)) {
                        run_of(&items[at..])
                    } else {
                        1
                    };
                    self.write_rows(items[at], many as u32, to, depth)?;
                    at += many;
                }
                to.push(close);
            }
            _ => self.write_rows(value, 1, to, depth)?,
        }
        Ok(())
    }

    fn write_rows(&self, value: Value, many: u32, to: &mut Vec<u8>, depth: usize) -> Taken<()> {
        let (kind, first): (u8, u32) = match value {
            Value::Event(row) => (b'e', row),
            Value::Block(row) => (b'b', row),
            Value::Frame(row) => (b'f', row),
            Value::Stack(row) => (b's', row),
            _ => return self.write(value, to, depth + 1),
        };
        to.extend([b'C', 1, kind]);
        for row in [first, first + many] {
            to.extend([0x8a, 8]);
            to.extend(i64::from(row).to_le_bytes());
        }
        to.push(0x87);
        Ok(())
    }
}

/// How many of the first items are rows that follow each other.
fn run_of(items: &[Value]) -> usize {
    let following = |many: u32| match items[0] {
        Value::Event(row) => Some(Value::Event(row + many)),
        Value::Block(row) => Some(Value::Block(row + many)),
        _ => None,
    };
    let mut many = 1;
    while many < items.len() && Some(items[many]) == following(many as u32) {
        many += 1;
    }
    many
}

/// A whole number that int64 holds, else what stands for a missing one.
fn int(value: Option<Value>, missing: i64) -> Taken<i64> {
    match value {
        Some(Value::Int(number)) if number != i64::MIN => Ok(number),
        Some(Value::Bool(_)) => Err(Left),
        _ => Ok(missing),
    }
}

/// The value of a key in the items of a dict.
fn value_of(items: &[Value], key: u32) -> Option<Value> {
    let mut pairs = items.chunks_exact(2);
    pairs
        .find(|pair| pair[0] == Value::Text(key))
        .map(|pair| pair[1])
}

fn stack_of(value: Option<Value>) -> i32 {
    match value {
        Some(Value::Stack(row)) => row as i32,
        _ => MISSING as i32,
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
mod tests {
    use super::{Reader, State};

    const EVENT: &[u8] =
        b"}\x94(X\x06\x00\x00\x00actionX\x05\x00\x00\x00allocX\x04\x00\x00\x00sizeK\x07u";

    fn whole() -> Vec<u8> {
        let mut data = b"\x80\x04}(X\x0d\x00\x00\x00device_traces](](".to_vec();
        data.extend(EVENT);
        data.extend(EVENT);
        data.extend(b"eeu.");
        data
    }

    #[test]
    fn events_are_rows_however_the_bytes_come() {
        let data = whole();
        for step in [1, 3, data.len()] {
            let mut reader = Reader::new();
            let mut state = State::Reading;
            for piece in data.chunks(step) {
                state = reader.feed(piece);
            }
            assert_eq!(state, State::Done);
            assert_eq!(reader.size(2), 16);
        }
    }

    #[test]
    fn names_of_code_are_stopped_at_and_old_instructions_left() {
        let mut reader = Reader::new();
        assert_eq!(reader.feed(b"\x80\x04cos\nsystem\n"), State::Cut);
        assert_eq!(reader.feed(b"."), State::Cut);
        let mut reader = Reader::new();
        assert_eq!(reader.feed(b"\x80\x04I1\n."), State::Left);
        assert_eq!(reader.end(), State::Left);
    }

    #[test]
    fn what_stands_before_a_cut_is_there() {
        let data = whole();
        for (end, events) in [(data.len() - 1, 2), (data.len() - 8, 1), (60, 0)] {
            let mut reader = Reader::new();
            assert_eq!(reader.feed(&data[..end]), State::Reading);
            assert!(reader.take(0).is_none());
            assert_eq!(reader.end(), State::Cut);
            assert_eq!(reader.size(2), 8 * events);
        }
    }
}
