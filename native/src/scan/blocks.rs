//! Blocks of events, on several threads where they are asked for; the columns are the same for any number.
//!
//! A block holds the events that begin in so many bytes. The next one begins with the event behind it, so where blocks
//! begin is known one after the other. To read them side by side, the places are guessed: events of one recorder
//! begin alike. Each thread but the first reads its blocks into a scanner of its own, and what it read is appended
//! where the one before it ended at the place that was guessed; else it is forgotten, and read again behind that.

use std::ops::Range;
use std::thread;

use super::bytes::{blanks, byte};
use super::columns::Columns;
use super::scanner::{End, Scanner};

/// What is asked for.
#[derive(Clone, Copy)]
pub struct Limits {
    pub block_bytes: usize,
    /// Larger events are left.
    pub max_bytes: usize,
    /// No block begins from here on.
    pub stop: usize,
    pub threads: usize,
}

/// The bytes from the first event of a block to behind its last one, and how many events those are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    pub bytes: Range<usize>,
    pub rows: usize,
}

/// A scanner for one thread, whose events are appended to another's.
pub struct Helper {
    scanner: Scanner,
    /// The code that the other has for each text.
    codes: Vec<u32>,
}

/// How often guesses were wrong of late, and how long it is not guessed therefore.
#[derive(Default)]
pub struct Trust {
    pause: u32,
    left: u32,
}

const MAX_PAUSE: u32 = 64;
/// So far behind the least place of a block its first event is looked for.
const REACH: usize = 64 << 10;
/// Texts beyond this are forgotten by a helper; they are the other scanner's.
const MAX_TEXT: usize = 16 << 20;

/// Appends the blocks of `data` from `start` on to the columns of `scanner`, which is behind `[` or `,`.
///
/// Returns them, and why they ended.
pub fn read(scanner: &mut Scanner, data: &[u8], start: usize, limits: Limits) -> (Vec<Block>, End) {
    let starts = if limits.threads > 1 && scanner.trust.may_guess() {
        guesses(data, blanks(data, start), limits)
    } else {
        Vec::new()
    };
    let threads = limits.threads.min(starts.len() + 1);
    if threads < 2 {
        let done = run(scanner, data, start, limits);
        return (done.blocks, done.why);
    }
    side_by_side(
        scanner,
        data,
        &parts(start, &starts, limits.stop, threads),
        limits,
    )
}

/// What became of some blocks.
struct Done {
    blocks: Vec<Block>,
    /// Where the next one begins.
    next: usize,
    why: End,
}

/// Blocks one after the other.
fn run(scanner: &mut Scanner, data: &[u8], start: usize, limits: Limits) -> Done {
    let mut blocks = Vec::new();
    let mut at = start;
    loop {
        let before = scanner.columns.rows();
        let stop = at.saturating_add(limits.block_bytes);
        let (behind, why) = scanner.run(data, at, stop, limits.max_bytes);
        let rows = scanner.columns.rows() - before;
        if rows > 0 {
            let bytes = at..behind;
            blocks.push(Block { bytes, rows });
            at = blanks(data, behind);
            if byte(data, at) == b',' {
                at = blanks(data, at + 1);
            }
        }
        if rows == 0 || why == End::Left || at >= limits.stop {
            let next = at;
            return Done { blocks, next, why };
        }
    }
}

/// Reads each part on a thread of its own, the first one on this.
fn side_by_side(
    scanner: &mut Scanner,
    data: &[u8],
    parts: &[Range<usize>],
    limits: Limits,
) -> (Vec<Block>, End) {
    let mut helpers = std::mem::take(&mut scanner.helpers);
    while helpers.len() < parts.len() - 1 {
        match scanner.twin() {
            Some(scanner) => helpers.push(Helper::new(scanner)),
            None => break,
        }
    }
    let of = |part: &Range<usize>| Limits {
        stop: part.end,
        ..limits
    };
    let (first, others) = thread::scope(|scope| {
        let begun: Vec<_> = helpers
            .iter_mut()
            .zip(&parts[1..])
            .map(|(helper, part)| {
                let reading = move || run(&mut helper.scanner, data, part.start, of(part));
                thread::Builder::new().spawn_scoped(scope, reading)
            })
            .collect();
        let first = run(scanner, data, parts[0].start, of(&parts[0]));
        // A thread that did not begin, or that failed, is as one whose place was not reached.
        let others: Vec<Option<Done>> = begun
            .into_iter()
            .map(|handle| handle.ok().and_then(|handle| handle.join().ok()))
            .collect();
        (first, others)
    });
    let Done {
        mut blocks,
        mut next,
        mut why,
    } = first;
    let mut whole = true;
    for ((helper, part), done) in helpers.iter_mut().zip(&parts[1..]).zip(others) {
        whole = whole && why == End::Text && next == part.start;
        match done {
            Some(done) if whole && !done.blocks.is_empty() => {
                helper.append_to(scanner);
                blocks.extend(done.blocks);
                next = done.next;
                why = done.why;
            }
            _ => {
                whole = false;
                helper.forget(scanner);
            }
        }
    }
    scanner.trust.note(whole);
    scanner.helpers = helpers;
    (blocks, why)
}

/// Where blocks behind the one at `start` probably begin.
fn guesses(data: &[u8], start: usize, limits: Limits) -> Vec<usize> {
    let mut found = Vec::new();
    let head = match head(data, start) {
        Some(head) => head,
        None => return found,
    };
    let mut at = start;
    while let Some(next) = event_behind(data, at.saturating_add(limits.block_bytes), head) {
        if next >= limits.stop {
            break;
        }
        found.push(next);
        at = next;
    }
    found
}

/// How the event at `at` begins: its bracket and first key.
fn head(data: &[u8], at: usize) -> Option<&[u8]> {
    let key = blanks(data, at + 1);
    if byte(data, at) != b'{' || byte(data, key) != b'"' {
        return None;
    }
    let rest = &data[key + 1..data.len().min(key + 64)];
    let len = rest.iter().position(|&byte| byte == b'"')?;
    Some(&data[at..key + 1 + len + 1])
}

/// The first place from `from` on where an event seems to begin.
fn event_behind(data: &[u8], from: usize, head: &[u8]) -> Option<usize> {
    let end = data.len().min(from.saturating_add(REACH));
    let mut at = from;
    while at < end {
        at += data[at..end].iter().position(|&byte| byte == b'{')?;
        if data[at..].starts_with(head) && before(data, at) == b',' {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// The last byte before `at` that is no white space.
fn before(data: &[u8], at: usize) -> u8 {
    let blank = |byte: &&u8| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    data[..at].iter().rev().find(blank).copied().unwrap_or(0)
}

/// The bytes from `start` to `stop` cut at some of `starts`, into as many parts of about as many blocks.
fn parts(start: usize, starts: &[usize], stop: usize, count: usize) -> Vec<Range<usize>> {
    let blocks = starts.len() + 1;
    let place = |block: usize| match block {
        0 => start,
        _ if block == blocks => stop,
        _ => starts[block - 1],
    };
    (0..count)
        .map(|part| place(part * blocks / count)..place((part + 1) * blocks / count))
        .collect()
}

impl Helper {
    fn new(scanner: Scanner) -> Helper {
        Helper {
            scanner,
            codes: Vec::new(),
        }
    }

    /// Moves the events to the end of `other`. Codes are given as if it had read them itself: a text that is new to
    /// this scanner came in the order of its first use, and every other one was moved before.
    fn append_to(&mut self, other: &mut Scanner) {
        let texts = &self.scanner.texts;
        for code in self.codes.len()..texts.len() {
            let text = texts.get(code as u32);
            self.codes.push(other.texts.code(text));
        }
        let widths = self.scanner.widths;
        let columns = std::mem::replace(&mut self.scanner.columns, Columns::new(widths));
        self.scanner.columns = other.columns.append(columns, &self.codes);
        if self.scanner.texts.arena().len() > MAX_TEXT {
            self.forget(other);
        }
    }

    /// Forgets the events, and the texts, whose order is that of events that may be read by another.
    fn forget(&mut self, other: &Scanner) {
        if let Some(scanner) = other.twin() {
            *self = Helper::new(scanner);
        }
    }
}

impl Trust {
    fn may_guess(&mut self) -> bool {
        let may = self.left == 0;
        self.left = self.left.saturating_sub(1);
        may
    }

    fn note(&mut self, right: bool) {
        self.pause = if right {
            0
        } else {
            MAX_PAUSE.min(2 * self.pause + 1)
        };
        self.left = self.pause;
    }
}

#[cfg(test)]
mod tests {
    use super::super::bytes::Key;
    use super::super::columns::{Ints, Values};
    use super::super::keys::Widths;
    use super::*;

    const WIDTHS: Widths = Widths {
        ints: 2,
        floats: 1,
        texts: 3,
    };

    fn scanner() -> Scanner {
        let table = b"1\tExternal id\n2\tblocks per SM\n4\tInput Dims\n";
        Scanner::new(table, WIDTHS, Key(9)).unwrap()
    }

    fn text(events: impl Iterator<Item = String>) -> String {
        events.collect::<Vec<_>>().join(", ") + "]"
    }

    fn event(number: usize) -> String {
        format!(
            r#"{{"ph": "X", "name": "op {}", "ts": {number}, "args": {{"Input Dims": [{}, 2], "External id": {number}}}}}"#,
            number % 13,
            number % 7,
        )
    }

    fn limits(data: &str, threads: usize) -> Limits {
        Limits {
            block_bytes: 200,
            max_bytes: 1000,
            stop: data.len(),
            threads,
        }
    }

    /// The columns and texts of a scanner.
    fn all(scanner: &mut Scanner) -> Vec<String> {
        let texts = (0..scanner.texts.len() as u32)
            .map(|code| String::from_utf8_lossy(scanner.texts.get(code)).into_owned());
        let mut all: Vec<String> = texts.collect();
        let dense = &scanner.columns.dense;
        all.push(format!("{:?} {:?} {:?}", dense.phase, dense.name, dense.ts));
        for sparse in &scanner.columns.sparse {
            all.push(match &sparse.value {
                Values::Int(Ints::Narrow(values)) => format!("{:?} {values:?}", sparse.row),
                Values::Int(Ints::Wide(values)) => format!("{:?} {values:?}", sparse.row),
                Values::Float(values) => format!("{:?} {values:?}", sparse.row),
                Values::Text(values) => format!("{:?} {values:?}", sparse.row),
            });
        }
        all
    }

    #[test]
    fn every_number_of_threads_reads_the_same() {
        let odd = [
            r#"{"name": "first key", "ph": "i"}"#,
            r#"{"ph": "i", "name": "}, {\"ph\": \"i\"}, {"}"#,
            r#"{"ph": "i", "args": {"list": [1, {"ph": "i"}, {"ph": 1}], "External id": 9999999999}}"#,
        ];
        for every in [3, 50, 1000] {
            let data = text((0..300).map(|number| match number % every {
                2 => odd[number / every % odd.len()].to_string(),
                _ => event(number),
            }));
            let mut alone = scanner();
            let expected = read(&mut alone, data.as_bytes(), 0, limits(&data, 1));
            assert_eq!(expected.1, End::Left, "the bracket is for the reference");
            let expected_columns = all(&mut alone);
            for threads in 2..9 {
                let mut many = scanner();
                let mut found = Vec::new();
                let mut at = 0;
                // What was guessed wrongly is read by the next call.
                let why = loop {
                    let (blocks, why) =
                        read(&mut many, data.as_bytes(), at, limits(&data, threads));
                    found.extend(blocks);
                    if why == End::Left {
                        break why;
                    }
                    at = found.last().unwrap().bytes.end + 2;
                };
                assert_eq!((found, why), expected, "{threads} of {every}");
                assert_eq!(all(&mut many), expected_columns, "{threads} of {every}");
            }
        }
    }

    #[test]
    fn right_guesses_leave_nothing_to_be_read_twice() {
        let data = text((0..300).map(event));
        let mut many = scanner();
        let (blocks, why) = read(&mut many, data.as_bytes(), 0, limits(&data, 4));
        assert_eq!(why, End::Left);
        assert_eq!(blocks.iter().map(|block| block.rows).sum::<usize>(), 300);
        assert_eq!((many.helpers.len(), many.trust.pause), (3, 0));
        assert!(many.helpers.iter().all(|helper| helper.codes.len() > 10));
    }

    #[test]
    fn who_guesses_wrongly_pauses() {
        let mut trust = Trust::default();
        let mut guessed = Vec::new();
        for call in 0..20 {
            if trust.may_guess() {
                guessed.push(call);
                trust.note(false);
            }
        }
        assert_eq!(guessed, [0, 2, 6, 14]);
        trust.note(true);
        assert!(trust.may_guess());
    }

    #[test]
    fn parts_have_about_as_many_blocks() {
        assert_eq!(parts(5, &[10, 20, 30], 40, 2), [5..20, 20..40]);
        assert_eq!(parts(5, &[10, 20], 40, 3), [5..10, 10..20, 20..40]);
    }
}
