//! What stands between two values of an event: brackets, commas, keys, white space.
//!
//! Events of one kind differ in their values alone. So the way from value to value is learned: a tree whose branches
//! are the texts between values. To follow a branch is to compare a few words; only a new text is read byte by byte.
//! A place in the tree knows which keys have come, so keys that repeat are noticed when the branch is made.
//!
//! Many values are the same in most events (`"ph": "X"`, `"Trace iteration": 0`). One event of many is read step by step
//! to see which; a long branch then leads over them, and holds what they add to an event.

use super::bytes::{blanks, byte, quoted, stop_at, unescape, whole_word, word, Key};
use super::keys::{ColumnSet, Keys, Kind};
use super::repeats::{Held, Repeats, Step};
use super::Stop;

/// Whose value comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Phase,
    Category,
    Name,
    Pid,
    Tid,
    Ts,
    Dur,
    Id,
    /// An argument that goes to this column.
    Int(u8),
    Float(u8),
    Text(u8),
    Nobody,
    /// No value: the event ends.
    End,
}

/// The way from behind one value to another: to the next one or, if it is long, over values that it holds.
#[derive(Clone, Copy, Debug)]
pub struct Branch {
    pub target: Target,
    /// Where this leads to.
    pub node: u32,
    /// What it holds: from, and to behind, which of `Shapes::held`.
    held: (u32, u32),
    literal: Literal,
    /// The least byte that may follow: more white space than before is another text.
    floor: u8,
    /// The next branch from the same node, plus one.
    sibling: u32,
}

#[derive(Clone, Copy, Default)]
struct Node {
    in_args: bool,
    /// Nothing stands before: no comma is expected.
    fresh: bool,
    fields: u16,
    columns: ColumnSet,
    /// The first branch to a next value, plus one.
    first: u32,
    branches: u16,
    /// The first long branch, plus one: that of the longest text.
    first_long: u32,
    long_branches: u16,
}

const MAX_NODES: usize = 20_000;
const MAX_BRANCHES: u16 = 24;
const MAX_WORDS: usize = 1 << 17;
const MAX_HELD: usize = 1 << 16;
/// From a node, and in the text of one.
const MAX_LONG_BRANCHES: u16 = 8;
const MAX_LONG_BYTES: usize = 1024;
/// The first events are read step by step, then one of so many.
const STEPWISE_FIRST: u32 = 64;
const STEPWISE_EACH: u32 = 256;
/// Events after which everything is forgotten: other values repeat later in a file.
const MAX_EVENTS: u32 = 1 << 18;
const ARGS: u32 = 15;

/// Where every event begins.
pub const ROOT: u32 = 0;

pub struct Shapes {
    keys: Keys,
    key: Key,
    nodes: Vec<Node>,
    branches: Vec<Branch>,
    literals: Literals,
    /// What branches hold, with its distance from where the text of the branch begins.
    held: Vec<(u32, Held)>,
    repeats: Repeats,
    /// Events since everything was forgotten for its age, and the next one to be read step by step.
    events: u32,
    next_stepwise: u32,
    full: bool,
}

impl Shapes {
    pub fn new(keys: Keys, key: Key) -> Shapes {
        let mut shapes = Shapes {
            keys,
            key,
            nodes: Vec::new(),
            branches: Vec::new(),
            literals: Literals::default(),
            held: Vec::new(),
            repeats: Repeats::new(key),
            events: 0,
            next_stepwise: 0,
            full: false,
        };
        shapes.forget();
        shapes
    }

    /// Before an event: whether it is to be read step by step. Forgets everything when it has become too much or old.
    #[inline(always)]
    pub fn begin(&mut self) -> bool {
        if self.full {
            self.forget();
        }
        self.events += 1;
        self.events >= self.next_stepwise && self.begin_stepwise()
    }

    #[cold]
    fn begin_stepwise(&mut self) -> bool {
        if self.events > MAX_EVENTS {
            self.events = 0;
            self.forget();
        }
        let apart = if self.events < STEPWISE_FIRST {
            1
        } else {
            STEPWISE_EACH
        };
        self.next_stepwise = self.events + apart;
        true
    }

    #[cold]
    fn forget(&mut self) {
        self.full = false;
        self.nodes.clear();
        self.branches.clear();
        self.literals.clear();
        self.held.clear();
        self.repeats.forget();
        self.nodes.push(Node {
            fresh: true,
            ..Node::default()
        });
    }

    /// From `at`, behind a value or the opening bracket, to a later value; the number of the branch that leads there.
    #[inline(always)]
    pub fn next(&mut self, data: &[u8], at: usize, node: u32) -> Result<(usize, u32), Stop> {
        match self.find(self.nodes[node as usize].first_long, data, at) {
            Some(found) => Ok(found),
            None => self.next_step(data, at, node),
        }
    }

    /// As `next`, but to the very next value.
    #[inline(always)]
    pub fn next_step(&mut self, data: &[u8], at: usize, node: u32) -> Result<(usize, u32), Stop> {
        match self.find(self.nodes[node as usize].first, data, at) {
            Some(found) => Ok(found),
            None => self.learn(data, at, node),
        }
    }

    /// The branch whose text comes at `at`, of `first` and its siblings, and where that text ends.
    #[inline(always)]
    fn find(&self, first: u32, data: &[u8], at: usize) -> Option<(usize, u32)> {
        let words = first_words(data, at);
        let mut branch = first;
        while branch != 0 {
            let found = &self.branches[branch as usize - 1];
            let end = self.literals.behind(&found.literal, data, at, words);
            if end != 0 && byte(data, end) >= found.floor {
                return Some((end, branch - 1));
            }
            branch = found.sibling;
        }
        None
    }

    #[inline(always)]
    pub fn branch(&self, number: u32) -> &Branch {
        &self.branches[number as usize]
    }

    /// What a branch holds, with its distance from where the text of the branch begins.
    #[inline(always)]
    pub fn held(&self, branch: &Branch) -> &[(u32, Held)] {
        &self.held[branch.held.0 as usize..branch.held.1 as usize]
    }

    /// Counts the values of an event that was read step by step; long branches will lead over those that repeat.
    pub fn count(&mut self, data: &[u8], steps: &[Step]) {
        let mut first = 0;
        for (at, step) in steps.iter().enumerate() {
            let value = &data[step.at..step.end];
            if !value.is_empty() && self.repeats.count(step.branch, value) {
                continue;
            }
            if at > first {
                self.join(data, &steps[first..=at]);
            }
            first = at + 1;
        }
    }

    /// Makes a long branch of several steps, if there is none yet. The value of the last one is not held.
    fn join(&mut self, data: &[u8], steps: &[Step]) {
        let (first, last) = match steps {
            [first, .., last] => (first, last),
            _ => return,
        };
        let len = last.at - first.start;
        let node = &self.nodes[first.node as usize];
        if len > MAX_LONG_BYTES || node.long_branches >= MAX_LONG_BRANCHES {
            return;
        }
        // Longer texts come first: a shorter one may be how a longer one begins.
        let words = first_words(data, first.start);
        let (mut before, mut sibling) = (0, node.first_long);
        while sibling != 0 {
            let other = &self.branches[sibling as usize - 1];
            if (other.literal.len as usize) < len {
                break;
            }
            if self
                .literals
                .behind(&other.literal, data, first.start, words)
                == last.at
            {
                return;
            }
            (before, sibling) = (sibling, other.sibling);
        }
        let held = self.held.len() as u32;
        for step in steps {
            let (from, to) = self.branches[step.branch as usize].held;
            for number in from as usize..to as usize {
                let (distance, what) = self.held[number];
                self.held
                    .push(((step.start - first.start) as u32 + distance, what));
            }
            if let (Some(what), true) = (step.held, step.at < last.at) {
                self.held.push(((step.at - first.start) as u32, what));
            }
        }
        self.branches.push(Branch {
            held: (held, self.held.len() as u32),
            literal: self.literals.add(data, first.start, last.at),
            sibling,
            ..self.branches[last.branch as usize]
        });
        let number = self.branches.len() as u32;
        if before == 0 {
            self.nodes[first.node as usize].first_long = number;
        } else {
            self.branches[before as usize - 1].sibling = number;
        }
        self.nodes[first.node as usize].long_branches += 1;
        self.full |= self.literals.len() >= MAX_WORDS || self.held.len() >= MAX_HELD;
    }

    #[inline(never)]
    fn learn(&mut self, data: &[u8], start: usize, from: u32) -> Result<(usize, u32), Stop> {
        let mut node = self.nodes[from as usize];
        let (mut opens, mut closes) = (None, None);
        let mut at = start;
        let target = loop {
            at = blanks(data, at);
            match byte(data, at) {
                b'}' => {
                    at += 1;
                    if !node.in_args {
                        break Target::End;
                    }
                    node.in_args = false;
                    node.fresh = false;
                    closes = Some(((at - start) as u32, Held::Closes));
                    continue;
                }
                b',' if !node.fresh => at = blanks(data, at + 1),
                b'"' if node.fresh => {}
                _ => return Err(stop_at(data, at)),
            }
            if byte(data, at) != b'"' {
                return Err(stop_at(data, at));
            }
            let name = quoted(data, at + 1, self.key)?;
            at = blanks(data, name.end + 1);
            if byte(data, at) != b':' {
                return Err(stop_at(data, at));
            }
            at = blanks(data, at + 1);
            if at >= data.len() {
                return Err(Stop::More);
            }
            node.fresh = false;
            let text = &data[name.start..name.end];
            if node.in_args {
                break self.arg(text, name.hash, name.escaped, &mut node)?;
            }
            if name.escaped {
                return Err(Stop::Left);
            }
            if text == b"args" {
                node.once(ARGS)?;
                if byte(data, at) != b'{' {
                    return Err(Stop::Left);
                }
                opens = Some(((at - start) as u32, Held::Opens));
                node.in_args = true;
                node.fresh = true;
                at += 1;
                continue;
            }
            break field(text, &mut node)?;
        };
        let to = self.nodes.len() as u32;
        let held = self.held.len() as u32;
        self.held.extend(opens.into_iter().chain(closes));
        let literal = self.literals.add(data, start, at);
        let parent = &mut self.nodes[from as usize];
        let floor = if target == Target::End { 0 } else { b' ' + 1 };
        let branch = Branch {
            target,
            node: to,
            held: (held, self.held.len() as u32),
            literal,
            floor,
            sibling: parent.first,
        };
        parent.branches += 1;
        self.full |= parent.branches >= MAX_BRANCHES
            || self.nodes.len() >= MAX_NODES
            || self.literals.len() >= MAX_WORDS;
        self.branches.push(branch);
        self.nodes[from as usize].first = self.branches.len() as u32;
        self.nodes.push(Node {
            first: 0,
            branches: 0,
            first_long: 0,
            long_branches: 0,
            ..node
        });
        Ok((at, self.branches.len() as u32 - 1))
    }

    fn arg(&self, raw: &[u8], hash: u64, escaped: bool, node: &mut Node) -> Result<Target, Stop> {
        let found = if escaped {
            let mut text = Vec::new();
            unescape(raw, &mut text);
            self.keys.find(&text, self.key.hash(&text))
        } else {
            self.keys.find(raw, hash)
        };
        let place = match found {
            Some(place) => place,
            None => return Ok(Target::Nobody),
        };
        let bit: ColumnSet = 1 << place.column;
        if node.columns & bit != 0 {
            return Err(Stop::Left);
        }
        node.columns |= bit;
        Ok(match place.kind {
            Kind::Int => Target::Int(place.column),
            Kind::Float => Target::Float(place.column),
            Kind::Text => Target::Text(place.column),
        })
    }
}

fn field(name: &[u8], node: &mut Node) -> Result<Target, Stop> {
    let (bit, target) = match name {
        b"ph" => (0, Target::Phase),
        b"cat" => (1, Target::Category),
        b"name" => (2, Target::Name),
        b"pid" => (3, Target::Pid),
        b"tid" => (4, Target::Tid),
        b"ts" => (5, Target::Ts),
        b"dur" => (6, Target::Dur),
        b"id" => (7, Target::Id),
        _ => return Ok(Target::Nobody),
    };
    node.once(bit)?;
    Ok(target)
}

impl Node {
    /// Of equal keys the last counts: an event that repeats one is left.
    fn once(&mut self, field: u32) -> Result<(), Stop> {
        if self.fields >> field & 1 == 1 {
            return Err(Stop::Left);
        }
        self.fields |= 1 << field;
        Ok(())
    }
}

/// A piece of text. Its first 16 bytes are here, zeros behind its end; `rest` says where its other words are.
#[derive(Clone, Copy, Debug, Default)]
struct Literal {
    words: [u64; 2],
    masks: [u64; 2],
    rest: u32,
    len: u32,
}

/// What pieces of text have behind their first 16 bytes: the last word, then all whole ones.
#[derive(Default)]
struct Literals {
    words: Vec<u64>,
}

/// The 16 bytes at `at`; zeros behind the end.
#[inline(always)]
fn first_words(data: &[u8], at: usize) -> [u64; 2] {
    match data.get(at..at + 16) {
        Some(bytes) => [whole_word(&bytes[..8]), whole_word(&bytes[8..])],
        None => [word(data, at), word(data, at + 8)],
    }
}

impl Literals {
    /// Keeps the bytes from `start` to `end`, which are not none.
    fn add(&mut self, data: &[u8], start: usize, end: usize) -> Literal {
        let len = end - start;
        let mask = |bytes: usize| match bytes {
            0..=7 => !(u64::MAX << (8 * bytes)),
            _ => u64::MAX,
        };
        let masks = [mask(len), mask(len.saturating_sub(8))];
        let [first, second] = first_words(data, start);
        let rest = self.words.len() as u32;
        if len > 16 {
            let text = &data[start..end];
            self.words.push(whole_word(&text[len - 8..]));
            self.words
                .extend(text[16..].chunks_exact(8).map(whole_word));
        }
        Literal {
            words: [first & masks[0], second & masks[1]],
            masks,
            rest,
            len: len as u32,
        }
    }

    /// Behind `literal`, if it is what comes at `at`, where `first` is `first_words`; else 0.
    #[inline(always)]
    fn behind(&self, literal: &Literal, data: &[u8], at: usize, first: [u64; 2]) -> usize {
        let len = literal.len as usize;
        let [low, high] = literal.words;
        let other = (first[0] & literal.masks[0]) ^ low | (first[1] & literal.masks[1]) ^ high;
        if other != 0 {
            return 0;
        }
        if len > 16 {
            let text = match data.get(at..at + len) {
                Some(text) => text,
                None => return 0,
            };
            let rest = literal.rest as usize;
            let words = &self.words[rest..rest + len / 8 - 1];
            if whole_word(&text[len - 8..]) != words[0] {
                return 0;
            }
            for (bytes, &expected) in text[16..].chunks_exact(8).zip(&words[1..]) {
                if whole_word(bytes) != expected {
                    return 0;
                }
            }
        }
        at + len
    }

    fn len(&self) -> usize {
        self.words.len()
    }

    fn clear(&mut self) {
        self.words.clear();
    }
}

#[cfg(test)]
mod tests;
