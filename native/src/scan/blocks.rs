//! Blocks of events, on several threads where they are asked for; the columns are the same for any number.
//!
//! A block holds the events that begin in so many bytes. The next one begins with the event behind it, so where blocks
//! begin is known one after the other. To read them side by side, the places are guessed: events of one recorder
//! begin alike. Each thread reads the next block that no other has taken, with a scanner of its own. Blocks are appended
//! in their order, by the thread that comes to it, each if the one before it ended at the place that was guessed; from
//! the first one that was guessed wrongly on all are forgotten, and read again.
//!
//! The calling thread gets the text of the next call (`Ahead`) before it reads blocks, and some of it when no more blocks
//! are left than others will read. So there are never more threads than were asked for, and none waits long.
//!
//! ```text
//! this thread   text ▒▒▒▒▒▒   4 ▒▒▒▒▒▒ append 3, 4   6 ▒▒▒▒▒ append 5, 6   text ▒▒
//! another       1 ▒▒▒▒▒   2 ▒▒▒▒▒ append 1, 2   3 ▒▒▒▒▒▒   5 ▒▒▒▒▒▒▒   7 ▒▒▒▒▒▒▒▒▒▒
//! ```
//!
//! Codes are given as if one thread had read it all: each thread goes forward, so a text that is new to it came in the
//! order of its first use, and every other text is in a block that was appended before.

use std::mem::{replace, take};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use super::columns::Columns;
use super::guesses::guesses;
use super::pieces::Pieces;
use super::scanner::{End, Helpers, Scanner};
use super::texts::NewTexts;

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

/// Gets a piece of the text behind what is in memory; returns how many more are wanted.
pub type Ahead<'a> = &'a mut dyn FnMut() -> usize;

/// Pieces that are left until the calling thread would wait for others.
const LEFT_AHEAD: usize = 8;
/// So much text behind a piece is looked at first; few events go on further.
const BEHIND: usize = 32 << 10;
/// Texts beyond this are forgotten by a helper; they are in the scanner that all is appended to.
const MAX_TEXT: usize = 16 << 20;

/// Appends the blocks of `text` from `start` on to the columns of `scanner`, which is behind `[` or `,`.
///
/// Returns them, and why they ended.
pub fn read(
    scanner: &mut Scanner,
    text: &Pieces,
    start: usize,
    limits: Limits,
    ahead: Ahead,
) -> (Vec<Block>, End) {
    let starts = if limits.threads > 1 && scanner.trust.may_guess() {
        guesses(text, text.blanks(start), limits.block_bytes, limits.stop)
    } else {
        Vec::new()
    };
    if starts.is_empty() {
        let done = run(scanner, text, start, limits);
        return (done.blocks, done.why);
    }
    let ends = starts.iter().copied().chain([limits.stop]);
    let starts = [start].into_iter().chain(starts.iter().copied());
    let parts = starts.zip(ends).map(|(start, end)| start..end).collect();
    side_by_side(scanner, text, parts, limits, ahead)
}

/// What became of some blocks.
struct Done {
    blocks: Vec<Block>,
    /// Where the next one begins.
    next: usize,
    why: End,
}

/// Blocks one after the other.
fn run(scanner: &mut Scanner, text: &Pieces, start: usize, limits: Limits) -> Done {
    scanner.make_room();
    let mut joined = take(&mut scanner.joined);
    let mut blocks = Vec::new();
    let mut at = start;
    let why = loop {
        let before = scanner.columns.rows();
        let (behind, next, why) = block(scanner, text, at, limits, &mut joined);
        let rows = scanner.columns.rows() - before;
        if rows > 0 {
            let bytes = at..behind;
            blocks.push(Block { bytes, rows });
            at = next;
        }
        if rows == 0 || why == End::Left || at >= limits.stop {
            break why;
        }
    };
    scanner.joined = joined;
    let next = at;
    Done { blocks, next, why }
}

/// The events of one block: the place behind the last one, where the next one begins, and why they ended.
fn block(
    scanner: &mut Scanner,
    text: &Pieces,
    start: usize,
    limits: Limits,
    joined: &mut Vec<u8>,
) -> (usize, usize, End) {
    let stop = start.saturating_add(limits.block_bytes);
    let (mut behind, mut next) = (start, start);
    // Events are read where their piece lies; only what goes on behind it is put together.
    let mut more = 0;
    loop {
        let edge = text.end_of_piece(next);
        let end = text.len().min(edge.saturating_add(more));
        let until = if more > 0 { stop.min(edge) } else { stop };
        let view = text.view(next..end, joined);
        let (taken, why) = scanner.run(view, 0, until - next, limits.max_bytes);
        if taken > 0 {
            behind = next + taken;
            next = text.behind_comma(behind);
        }
        let in_next_piece = next >= edge && edge < text.len();
        if why == End::Left || next >= stop || (end == text.len() && !in_next_piece) {
            return (behind, next, why);
        }
        more = if in_next_piece {
            0
        } else {
            BEHIND.max(4 * more)
        };
    }
}

/// Reads each part on the thread that is free, this one or another.
fn side_by_side(
    scanner: &mut Scanner,
    text: &Pieces,
    parts: Vec<Range<usize>>,
    limits: Limits,
    ahead: Ahead,
) -> (Vec<Block>, End) {
    let threads = limits.threads.min(parts.len());
    let Helpers {
        mut scanners,
        codes,
        spare,
    } = take(&mut scanner.helpers);
    scanners.extend((scanners.len()..threads).filter_map(|_| scanner.twin()));
    let work = Work::new(text, parts, limits, spare);
    let chain = Chain::new(scanner, codes, scanners.len(), work.parts[0].start);
    let chain = Mutex::new(chain);
    thread::scope(|scope| {
        let mut others = scanners.iter_mut().take(threads).enumerate();
        let mine = others.next();
        let begun: Vec<_> = others
            .map(|(number, scanner)| {
                let (work, chain) = (&work, &chain);
                let reading = move || work.read(number, scanner, chain);
                thread::Builder::new().spawn_scoped(scope, reading)
            })
            .collect();
        if let Some((number, scanner)) = mine {
            work.lead(number, scanner, &chain, ahead, begun.len());
        }
        for handle in begun.into_iter().flatten() {
            // Of a thread that failed a part is missing, and there the chain ends.
            let _ = handle.join();
        }
    });
    // Where a thread failed while it appended, all has failed.
    let mut chain = chain.into_inner().expect("columns are whole");
    chain.append(&work);
    let whole = chain.appended == work.parts.len();
    let Chain {
        scanner,
        codes,
        blocks,
        why,
        ..
    } = chain;
    scanner.trust.note(whole);
    if whole {
        scanner.helpers = Helpers {
            scanners,
            codes,
            spare: work.queue().spare.split_off(0),
        };
    }
    (blocks, why)
}

/// Parts of the text, and what was read of them.
struct Work<'a> {
    text: &'a Pieces<'a>,
    parts: Vec<Range<usize>>,
    limits: Limits,
    queue: Mutex<Queue>,
}

struct Queue {
    /// The first part that no thread has taken.
    next: usize,
    /// How many are read at the moment.
    reading: usize,
    /// What was read of each part and is not appended yet.
    read: Vec<Option<Read>>,
    spare: Vec<Columns>,
}

/// One part as a thread has read it.
struct Read {
    done: Done,
    columns: Columns,
    helper: usize,
    /// Texts that the helper met for the first time.
    texts: NewTexts,
}

impl<'a> Work<'a> {
    fn new(
        text: &'a Pieces<'a>,
        parts: Vec<Range<usize>>,
        limits: Limits,
        spare: Vec<Columns>,
    ) -> Work<'a> {
        let queue = Mutex::new(Queue {
            next: 0,
            reading: 0,
            read: parts.iter().map(|_| None).collect(),
            spare,
        });
        Work {
            text,
            parts,
            limits,
            queue,
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads parts until none is left.
    fn read(&self, helper: usize, scanner: &mut Scanner, chain: &Mutex<Chain>) {
        while let Some(part) = self.take() {
            self.read_one(part, helper, scanner, chain);
        }
    }

    /// As `read`, and gets text ahead: before, and while each part that is left is for one of `others`.
    fn lead(
        &self,
        helper: usize,
        scanner: &mut Scanner,
        chain: &Mutex<Chain>,
        ahead: Ahead,
        others: usize,
    ) {
        let mut wanted = ahead();
        loop {
            let Queue { next, reading, .. } = *self.queue();
            let left = self.parts.len() - next;
            let kept = if left > others || left + reading == 0 {
                LEFT_AHEAD
            } else {
                0
            };
            if wanted > kept {
                wanted = ahead();
                self.append(chain);
            } else {
                match self.take() {
                    Some(part) => self.read_one(part, helper, scanner, chain),
                    None => return,
                }
            }
        }
    }

    fn read_one(&self, part: usize, helper: usize, scanner: &mut Scanner, chain: &Mutex<Chain>) {
        let read = self.read_part(part, helper, scanner);
        {
            let mut queue = self.queue();
            queue.read[part] = Some(read);
            queue.reading -= 1;
        }
        self.append(chain);
    }

    /// Appends what can be, unless another thread does.
    fn append(&self, chain: &Mutex<Chain>) {
        if let Ok(mut chain) = chain.try_lock() {
            chain.append(self);
        }
    }

    fn take(&self) -> Option<usize> {
        let mut queue = self.queue();
        let part = queue.next;
        if part == self.parts.len() {
            return None;
        }
        queue.next += 1;
        queue.reading += 1;
        Some(part)
    }

    fn read_part(&self, part: usize, helper: usize, scanner: &mut Scanner) -> Read {
        let known = scanner.texts.len();
        let Range { start, end: stop } = self.parts[part];
        let limits = Limits {
            stop,
            ..self.limits
        };
        let done = run(scanner, self.text, start, limits);
        let spare = self.queue().spare.pop();
        let empty = spare.unwrap_or_else(|| Columns::new(scanner.widths));
        let columns = replace(&mut scanner.columns, empty);
        let texts = scanner.texts.behind(known);
        if scanner.texts.arena().len() > MAX_TEXT {
            if let Some(twin) = scanner.twin() {
                *scanner = twin;
            }
        }
        Read {
            done,
            columns,
            helper,
            texts,
        }
    }
}

/// Parts that are appended one behind the other.
struct Chain<'a> {
    scanner: &'a mut Scanner,
    codes: Vec<Vec<u32>>,
    /// How many there are, and the blocks in them.
    appended: usize,
    blocks: Vec<Block>,
    /// Where the next one begins, if one does.
    next: usize,
    why: End,
}

impl<'a> Chain<'a> {
    fn new(
        scanner: &'a mut Scanner,
        mut codes: Vec<Vec<u32>>,
        helpers: usize,
        start: usize,
    ) -> Chain<'a> {
        codes.resize(helpers, vec![0]); // the empty text's
        Chain {
            scanner,
            codes,
            appended: 0,
            blocks: Vec::new(),
            next: start,
            why: End::Text,
        }
    }

    /// Appends what was read by now; sees to it that nothing more is read behind a wrong guess.
    fn append(&mut self, work: &Work) {
        while let Some(start) = work.parts.get(self.appended).map(|part| part.start) {
            let read = match work.queue().read[self.appended].take() {
                Some(read) => read,
                None => return,
            };
            if self.why != End::Text || self.next != start {
                work.queue().next = work.parts.len();
                return;
            }
            let spare = self.append_one(read);
            work.queue().spare.push(spare);
        }
    }

    /// Returns the columns, emptied.
    fn append_one(&mut self, read: Read) -> Columns {
        self.scanner.make_room();
        let codes = &mut self.codes[read.helper];
        codes.truncate(read.texts.first);
        codes.extend(read.texts.iter().map(|text| self.scanner.texts.code(text)));
        self.appended += 1;
        self.blocks.extend(read.done.blocks);
        self.next = read.done.next;
        self.why = read.done.why;
        self.scanner.columns.append(read.columns, codes)
    }
}

#[cfg(test)]
mod tests;
