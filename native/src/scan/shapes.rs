//! What stands between two values of an event: brackets, commas, keys, white space.
//!
//! Events of one kind differ in their values alone. So the way from value to value is learned: a tree whose branches
//! are the texts between values. To follow a branch is to compare a few words; only a new text is read byte by byte.
//! A place in the tree knows which keys have come, so keys that repeat are noticed when the branch is made.

use super::bytes::{blanks, byte, quoted, stop_at, unescape, word, Key};
use super::keys::{ColumnSet, Keys, Place};
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
    Arg(Place),
    Nobody,
    /// No value: the event ends.
    End,
}

/// The way from behind one value to the next.
#[derive(Clone, Copy, Debug)]
pub struct Branch {
    pub target: Target,
    /// Where this leads to.
    pub node: u32,
    /// Distance to the opening and to behind the closing bracket of `args`, if they are passed; else 0.
    pub opens: u32,
    pub closes: u32,
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
    /// The first branch, plus one.
    first: u32,
    branches: u16,
}

const MAX_NODES: usize = 20_000;
const MAX_BRANCHES: u16 = 24;
const MAX_WORDS: usize = 1 << 17;
const ARGS: u32 = 15;

/// Where every event begins.
pub const ROOT: u32 = 0;

pub struct Shapes {
    keys: Keys,
    key: Key,
    nodes: Vec<Node>,
    branches: Vec<Branch>,
    literals: Literals,
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
            full: false,
        };
        shapes.forget();
        shapes
    }

    /// Before an event: forgets everything when it has become too much.
    #[inline(always)]
    pub fn begin(&mut self) {
        if self.full {
            self.forget();
        }
    }

    #[cold]
    fn forget(&mut self) {
        self.full = false;
        self.nodes.clear();
        self.branches.clear();
        self.literals.clear();
        self.nodes.push(Node {
            fresh: true,
            ..Node::default()
        });
    }

    /// From `at`, behind a value or the opening bracket, to the next value; the branch that leads there.
    #[inline(always)]
    pub fn next(&mut self, data: &[u8], at: usize, node: u32) -> Result<(usize, Branch), Stop> {
        let mut branch = self.nodes[node as usize].first;
        while branch != 0 {
            let found = &self.branches[branch as usize - 1];
            let end = self.literals.behind(found.literal, data, at);
            if end != 0 && byte(data, end) >= found.floor {
                return Ok((end, *found));
            }
            branch = found.sibling;
        }
        self.learn(data, at, node)
    }

    #[inline(never)]
    fn learn(&mut self, data: &[u8], start: usize, from: u32) -> Result<(usize, Branch), Stop> {
        let mut node = self.nodes[from as usize];
        let (mut opens, mut closes) = (0, 0);
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
                    closes = (at - start) as u32;
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
                opens = (at - start) as u32;
                node.in_args = true;
                node.fresh = true;
                at += 1;
                continue;
            }
            break field(text, &mut node)?;
        };
        let to = self.nodes.len() as u32;
        let literal = self.literals.add(data, start, at);
        let parent = &mut self.nodes[from as usize];
        let floor = if target == Target::End { 0 } else { b' ' + 1 };
        let branch = Branch {
            target,
            node: to,
            opens,
            closes,
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
            ..node
        });
        Ok((at, branch))
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
        Ok(Target::Arg(place))
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

/// Where a piece lies among the words of its `Literals`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Literal {
    first: u32,
    len: u32,
}

/// Keeps pieces of text; the last word of each is filled up with zeros.
#[derive(Default)]
pub struct Literals {
    words: Vec<u64>,
}

impl Literals {
    /// Keeps the bytes from `start` to `end`, which are not none.
    pub fn add(&mut self, data: &[u8], start: usize, end: usize) -> Literal {
        let first = self.words.len() as u32;
        let mut at = start;
        while at < end {
            let beyond = 8 * (at + 8).saturating_sub(end);
            self.words.push(word(data, at) & (u64::MAX >> beyond));
            at += 8;
        }
        Literal {
            first,
            len: (end - start) as u32,
        }
    }

    /// Behind `literal`, if it is what comes at `at`; else 0.
    #[inline(always)]
    pub fn behind(&self, literal: Literal, data: &[u8], at: usize) -> usize {
        let len = literal.len as usize;
        let first = literal.first as usize;
        let mut place = at;
        for &expected in &self.words[first..first + len / 8] {
            if word(data, place) != expected {
                return 0;
            }
            place += 8;
        }
        let rest = !(u64::MAX << (8 * (len % 8)));
        if rest != 0 && (word(data, place) ^ self.words[first + len / 8]) & rest != 0 {
            return 0;
        }
        at + len
    }

    pub fn len(&self) -> usize {
        self.words.len()
    }

    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    pub fn clear(&mut self) {
        self.words.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys::{Kind, Widths, MAX_COLUMNS};
    use super::*;

    fn shapes() -> Shapes {
        let key = Key(11);
        let widths = Widths {
            ints: 2,
            floats: 1,
            texts: 2,
        };
        Shapes::new(
            Keys::new(b"1\tcorrelation\n4\tgrid\n", widths, key).unwrap(),
            key,
        )
    }

    /// The targets of an event whose values are all 7.
    fn walk(shapes: &mut Shapes, text: &str) -> Result<Vec<Target>, Stop> {
        let data = text.as_bytes();
        let (mut at, mut node, mut targets) = (1, ROOT, Vec::new());
        loop {
            let (end, branch) = shapes.next(data, at, node)?;
            targets.push(branch.target);
            if branch.target == Target::End {
                assert_eq!(end, data.len(), "{text}");
                return Ok(targets);
            }
            assert_eq!(byte(data, end), b'7', "{text}");
            at = end + 1;
            node = branch.node;
        }
    }

    #[test]
    fn the_way_is_the_same_when_it_is_known() {
        let correlation = Target::Arg(Place {
            kind: Kind::Int,
            column: 1,
        });
        let mut shapes = shapes();
        for _ in 0..3 {
            for (text, targets) in [
                ("{}", vec![]),
                ("{ }", vec![]),
                (r#"{"ph":7}"#, vec![Target::Phase]),
                (
                    r#"{"ph":   7,"x": 7 }"#,
                    vec![Target::Phase, Target::Nobody],
                ),
                (
                    r#"{"ph": 7, "args": {}, "ts":7}"#,
                    vec![Target::Phase, Target::Ts],
                ),
                (
                    r#"{"args":{"correlation": 7,"name":7} }"#,
                    vec![correlation, Target::Nobody],
                ),
                (
                    r#"{"args":{"correlation": 7} , "name" : 7}"#,
                    vec![correlation, Target::Name],
                ),
                (r#"{"args":{"\u0063orrelation": 7}}"#, vec![correlation]),
            ] {
                let expected = [targets, vec![Target::End]].concat();
                assert_eq!(walk(&mut shapes, text), Ok(expected), "{text}");
            }
        }
        assert!(shapes.branches.len() < 30);
    }

    #[test]
    fn damage_and_repeated_keys_are_left() {
        let mut shapes = shapes();
        for _ in 0..2 {
            for text in [
                r#"{,"ph":7}"#,
                r#"{"ph":7,}"#,
                r#"{"ph":7 "ts":7}"#,
                r#"{"ph" 7}"#,
                "{ph:7}",
                r#"{"ph":7]"#,
                r#"{"ph":7,"ph":7}"#,
                r#"{"ph":7,"args":{},"args":{}}"#,
                r#"{"args":7}"#,
                r#"{"args":{,}}"#,
                r#"{"args":{"grid":7,"grid":7}}"#,
                r#"{"args":{"grid":7,}}"#,
                r#"{"\u0070h":7}"#,
                "{7}",
            ] {
                assert_eq!(
                    walk(&mut shapes, &format!("{text}   ")),
                    Err(Stop::Left),
                    "{text}"
                );
            }
            let whole = r#"{"ph":7, "args": {"grid": 7}}"#;
            for length in 1..whole.len() - 1 {
                if whole.as_bytes()[length - 1] != b'7' {
                    assert_eq!(
                        walk(&mut shapes, &whole[..length]),
                        Err(Stop::More),
                        "{length}"
                    );
                }
            }
        }
    }

    #[test]
    fn each_of_as_many_columns_as_fit_is_its_own() {
        let key = Key(11);
        let widths = Widths {
            ints: 1,
            floats: 0,
            texts: MAX_COLUMNS - 1,
        };
        let table: String = (0..MAX_COLUMNS)
            .map(|i| format!("{i}\tkey {i}\n"))
            .collect();
        let mut shapes = Shapes::new(Keys::new(table.as_bytes(), widths, key).unwrap(), key);
        let args: Vec<String> = (0..MAX_COLUMNS).map(|i| format!("\"key {i}\":7")).collect();
        let all = format!("{{\"args\":{{{}}}}}", args.join(","));
        assert_eq!(walk(&mut shapes, &all).unwrap().len(), MAX_COLUMNS + 1);
        for arg in &args {
            let twice = format!("{{\"args\":{{{arg},{arg}}}}}");
            assert_eq!(walk(&mut shapes, &twice), Err(Stop::Left), "{twice}");
        }
    }

    #[test]
    fn too_many_shapes_are_forgotten() {
        let mut shapes = shapes();
        for number in 0..100_000 {
            shapes.begin();
            assert!(walk(&mut shapes, &format!(r#"{{"key {number}":7}}"#)).is_ok());
        }
        assert!(shapes.nodes.len() < 100);
    }

    #[test]
    fn a_piece_is_found_where_it_is() {
        let data = b"before, \"args\": {\"External id\": 7";
        for end in 7..data.len() {
            let mut literals = Literals::default();
            literals.add(data, 0, 5);
            let literal = literals.add(data, 6, end);
            assert_eq!(literals.behind(literal, data, 6), end);
            assert_eq!(literals.behind(literal, data, 5), 0);
            assert_eq!(literals.behind(literal, &data[..end], 6), end);
            assert_eq!(literals.behind(literal, &data[..end - 1], 6), 0);
        }
    }
}
