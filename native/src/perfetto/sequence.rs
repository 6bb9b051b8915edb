//! What a writer of a Perfetto file has said so far: interned texts, clocks, counters.

use std::borrow::Cow;
use std::collections::HashMap;

/// Interned texts by their numbers. Writers count from 1, so most are in a list.
pub struct Table<T> {
    dense: Vec<Option<T>>,
    sparse: HashMap<u64, T>,
}

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table {
            dense: Vec::new(),
            sparse: HashMap::new(),
        }
    }
}

impl<T> Table<T> {
    pub fn get(&self, iid: u64) -> Option<&T> {
        match self.dense.get(iid as usize) {
            Some(found) if iid < self.dense.len() as u64 => found.as_ref(),
            _ => self.sparse.get(&iid),
        }
    }

    pub fn set(&mut self, iid: u64, value: T) {
        let next = self.dense.len() as u64;
        if iid < next {
            self.dense[iid as usize] = Some(value);
        } else if iid <= next + 64 {
            // What is between may have come before as sparse.
            while (self.dense.len() as u64) < iid {
                let moved = self.sparse.remove(&(self.dense.len() as u64));
                self.dense.push(moved);
            }
            self.sparse.remove(&iid);
            self.dense.push(Some(value));
        } else {
            self.sparse.insert(iid, value);
        }
    }
}

#[derive(Clone, Copy)]
pub struct Clock {
    pub offset: i64,
    pub unit_ns: i64,
    pub incremental: bool,
    pub value: i64,
}

/// The counters of a device: quoted names by their ids.
pub struct CounterNames {
    pub names: Table<Vec<u8>>,
    /// Where their rows stand, as JSON up to the time.
    pub place: Vec<u8>,
}

impl CounterNames {
    pub fn new(gpu: u64, names: Table<Vec<u8>>) -> CounterNames {
        let place = format!(",\"pid\":\"GPU {} Counters\",\"ts\":", gpu).into_bytes();
        CounterNames { names, place }
    }
}

/// A stage or a lane of a device.
pub struct Spec {
    pub text: String,
    /// Of a lane in a file of torch's, "[000007] stream 7": its number, and where its label begins.
    lane: Option<(u64, usize)>,
}

impl Spec {
    pub fn new(text: String) -> Spec {
        let lane = lane_of(&text);
        Spec { text, lane }
    }
}

fn lane_of(text: &str) -> Option<(u64, usize)> {
    let (number, _) = text.strip_prefix('[')?.split_once("] ")?;
    let digits = number.bytes().all(|byte| byte.is_ascii_digit());
    if !digits || !(1..=9).contains(&number.len()) {
        return None;
    }
    Some((number.parse().ok()?, number.len() + "[] ".len()))
}

/// What a writer has said so far. Texts are quoted, but for specs and launch arguments.
#[derive(Default)]
pub struct Sequence {
    pub event_names: Table<Vec<u8>>,
    pub categories: Table<Vec<u8>>,
    pub arg_names: Table<Vec<u8>>,
    pub arg_texts: Table<Vec<u8>>,
    pub kernels: Table<Vec<u8>>,
    pub specs: Table<Spec>,
    pub launch_args: Table<String>,
    /// No other state of any sequence has this number.
    pub state: u64,
    pub counters: HashMap<u64, CounterNames>,
    pub own_counters: Option<CounterNames>,
    pub clocks: HashMap<u64, Clock>,
    pub track: u64,
    pub clock: Option<u64>,
}

impl Sequence {
    /// A lane of a device: number and label.
    pub fn lane(&self, iid: u64) -> (u64, Cow<'_, str>) {
        match self.specs.get(iid) {
            Some(Spec {
                text,
                lane: Some((number, label)),
            }) => (*number, Cow::Borrowed(&text[*label..])),
            _ => (iid, Cow::Owned(format!("lane {}", iid))),
        }
    }
}
