//! Which row carries an id, which start belongs to the end of an arrow, which op is around an event?
//!
//! The references are in `tb_plugin/trace/link/`: `launches.py` and `flows.py`.

const NOTHING: i32 = -1;

/// Ids of one page of a table.
const PAGE: usize = 512;

/// A table from ids to rows. Ids are counted, with gaps where a recording was cut: only the pages on
/// which ids occur are there.
struct Table {
    low: i64,
    limit: usize,
    page: Vec<u32>, // where each page begins, in pages; the first has no rows
    rows: Vec<i32>,
}

impl Table {
    /// None where the ids from `low` to `high` are on more than `limit` pages.
    fn between(low: i64, high: i64, limit: usize) -> Option<Table> {
        let pages = usize::try_from(high.checked_sub(low)?).ok()? / PAGE + 1;
        (pages <= limit).then(|| Table {
            low,
            limit,
            page: vec![0; pages],
            rows: vec![NOTHING; PAGE],
        })
    }

    /// None where the table would become longer than its limit.
    fn put(&mut self, id: i64, row: i32) -> Option<()> {
        let at = id.wrapping_sub(self.low) as usize;
        let page = &mut self.page[at / PAGE];
        if *page == 0 {
            if self.rows.len() > self.limit.max(2 * PAGE) {
                return None;
            }
            *page = (self.rows.len() / PAGE) as u32;
            self.rows.resize(self.rows.len() + PAGE, NOTHING);
        }
        self.rows[*page as usize * PAGE + at % PAGE] = row;
        Some(())
    }

    fn get(&self, id: i64) -> i32 {
        let Some(Ok(at)) = id.checked_sub(self.low).map(usize::try_from) else {
            return NOTHING;
        };
        let page = self.page.get(at / PAGE);
        page.map_or(NOTHING, |&page| self.rows[page as usize * PAGE + at % PAGE])
    }
}

/// For each wanted id the row that carries it, or −1. Ids below 1 carry nothing. Of several rows with
/// one id the last counts, or the first. False where the ids are too far apart for a table of about
/// `limit` entries.
pub fn join<T: Copy + Into<i64>>(
    key: &[T],
    row: &[i32],
    wanted: &[i64],
    limit: usize,
    first_counts: bool,
    out: &mut [i32],
) -> bool {
    let useful = || key.iter().map(|&id| id.into()).filter(|&id| id > 0);
    let (Some(low), Some(high)) = (useful().min(), useful().max()) else {
        out.fill(NOTHING);
        return true;
    };
    let Some(mut table) = Table::between(low, high, limit) else {
        return false;
    };
    let mut put = |(&id, &row): (&T, &i32)| match id.into() {
        id if id > 0 => table.put(id, row),
        _ => Some(()),
    };
    let mut all = key.iter().zip(row);
    let done = if first_counts {
        all.rev().try_for_each(&mut put)
    } else {
        all.try_for_each(&mut put)
    };
    if done.is_none() {
        return false;
    }
    for (to, &id) in out.iter_mut().zip(wanted) {
        *to = table.get(id);
    }
    true
}

/// The rows of the file with ids of arrows: `phase` and `category` have an entry for each row of it.
#[derive(Clone, Copy)]
pub struct Arrows<'a> {
    pub row: &'a [i32],
    pub phase: &'a [u8],
    pub category: &'a [i32],
    pub start: u8,
    pub end: u8,
}

/// So many categories are told apart one after the other.
const FEW: usize = 16;

/// For each end the number of the start with its category and id, or −1; of several the last counts.
/// Returns how many starts and ends there are; None where there are many categories, or where the
/// ids of one are too far apart for a table of `limit`.
pub fn match_starts<T: Copy + Into<i64>>(
    arrows: Arrows,
    ids: &[T],
    limit: usize,
    source: &mut [i32],
) -> Option<(usize, usize)> {
    let cells = || {
        let rows = arrows.row.iter().map(|&row| row as usize);
        rows.zip(ids).map(|(row, &id)| (row, id.into()))
    };
    let mut kinds: Vec<(i32, i64, i64)> = Vec::new();
    let (mut starts, mut ends) = (0, 0);
    for (row, id) in cells() {
        let phase = arrows.phase[row];
        ends += usize::from(phase == arrows.end);
        if phase == arrows.start {
            starts += 1;
            let category = arrows.category[row];
            match kinds.iter().position(|&(known, ..)| known == category) {
                Some(at) => kinds[at] = (category, kinds[at].1.min(id), kinds[at].2.max(id)),
                None if kinds.len() == FEW => return None,
                None => kinds.push((category, id, id)),
            }
        }
    }
    if ends != source.len() {
        return Some((starts, ends));
    }
    let tables = kinds
        .iter()
        .map(|&(category, low, high)| Some((category, Table::between(low, high, limit)?)));
    let mut tables: Vec<(i32, Table)> = tables.collect::<Option<_>>()?;
    let begun = cells().filter(|&(row, _)| arrows.phase[row] == arrows.start);
    for (number, (row, id)) in begun.enumerate() {
        let category = arrows.category[row];
        if let Some((_, table)) = tables.iter_mut().find(|(known, _)| *known == category) {
            table.put(id, number as i32)?;
        }
    }
    let ended = cells().filter(|&(row, _)| arrows.phase[row] == arrows.end);
    for ((row, id), to) in ended.zip(source) {
        let category = arrows.category[row];
        let table = tables.iter().find(|(known, _)| *known == category);
        *to = table.map_or(NOTHING, |(_, table)| table.get(id));
    }
    Some((starts, ends))
}

/// Host events that are nested: `outer` is −1, or a row before the own one.
#[derive(Clone, Copy)]
pub struct Events<'a> {
    pub ts: &'a [i64],
    pub dur: &'a [i64],
    pub outer: &'a [i32],
    pub kind: &'a [i8],
    pub op: i8,
}

impl Events<'_> {
    /// For each row the next op on the way up, or −1.
    pub fn ops_above(&self, above: &mut [i32]) {
        for row in 0..self.outer.len() {
            above[row] = match usize::try_from(self.outer[row]) {
                Ok(outer) if self.kind[outer] != self.op => {
                    assert!(outer < row);
                    above[outer]
                }
                _ => self.outer[row],
            };
        }
    }

    /// Goes from each of the rows `found` up to the first op that is open at its instant, or to −1.
    /// When that takes more than `patience` steps in all, every row learns its next op at once.
    pub fn climb(&self, at: &[i64], patience: usize, found: &mut [i32]) {
        let mut short = Vec::new();
        let (mut way, mut steps) = (self.outer, 0);
        let mut rest = found.iter_mut().zip(at);
        for (place, &at) in rest.by_ref() {
            steps += self.rise(way, at, place);
            if steps > patience {
                break;
            }
        }
        if rest.len() > 0 {
            short.resize(self.outer.len(), NOTHING);
            self.ops_above(&mut short);
            way = &short;
        }
        for (place, &at) in rest {
            self.rise(way, at, place);
        }
    }

    fn rise(&self, way: &[i32], at: i64, place: &mut i32) -> usize {
        let mut steps = 0;
        while let Ok(row) = usize::try_from(*place) {
            if self.kind[row] == self.op && self.ts[row].wrapping_add(self.dur[row]) > at {
                break;
            }
            *place = way[row];
            steps += 1;
        }
        steps
    }
}

/// Ops that carry a sequence number, and where they are in the table of the host.
#[derive(Clone, Copy)]
pub struct Numbered<'a> {
    pub sequence: &'a [i64],
    pub row: &'a [i32],
}

/// The threads of backward ops: those between two `bounds` belong to one of `forward`, the host thread
/// of their forward ops, which is negative where nobody knows it. There are `count` host threads.
pub struct Threads<'a> {
    pub bounds: &'a [i64],
    pub forward: &'a [i32],
    pub count: usize,
}

/// For each op `asked` the last op `ahead` with its number that began before it on the forward thread,
/// or −1. Rows of the host are in the order of thread and time, and `ahead` is in their order. Returns
/// false where numbers are too far apart for a table of `limit`, or where too many ops have one number:
/// when more than `patience` of them were looked at.
pub fn forward_ops(
    ahead: Numbered,
    asked: Numbered,
    (ts, thread): (&[i64], &[i32]),
    threads: Threads,
    limit: usize,
    patience: usize,
    found: &mut [i32],
) -> bool {
    found.fill(NOTHING);
    let numbers = ahead.sequence;
    let (Some(&low), Some(&high)) = (numbers.iter().min(), numbers.iter().max()) else {
        return true;
    };
    let Some(mut last) = Table::between(low, high, limit) else {
        return false;
    };
    // For each op the one of the same number ahead of it.
    let mut previous = vec![NOTHING; numbers.len()];
    for (at, (&number, previous)) in numbers.iter().zip(&mut previous).enumerate() {
        *previous = last.get(number);
        if last.put(number, at as i32).is_none() {
            return false;
        }
    }
    let mut steps = 0;
    let of_number = |number: i64| {
        let first = usize::try_from(last.get(number)).ok();
        std::iter::successors(first, |&at| usize::try_from(previous[at]).ok())
    };
    let mut votes = Votes::new(threads.count, numbers.len());
    for (group, (bounds, &known)) in threads.bounds.windows(2).zip(threads.forward).enumerate() {
        let (low, high) = (bounds[0] as usize, bounds[1] as usize);
        let mut forward = known;
        if known < 0 {
            for &number in &asked.sequence[low..high] {
                if matches!(of_number(number).next(), Some(at) if votes.is_new(at, group)) {
                    for at in of_number(number) {
                        votes.add(thread[ahead.row[at] as usize] as usize);
                        steps += 1;
                    }
                }
                if steps > patience {
                    return false;
                }
            }
            forward = votes.take_most();
        }
        for at in low..high {
            let before = ts[asked.row[at] as usize];
            for other in of_number(asked.sequence[at]) {
                let row = ahead.row[other];
                steps += 1;
                if thread[row as usize] == forward && ts[row as usize] < before {
                    found[at] = row;
                    break;
                }
            }
            if steps > patience {
                return false;
            }
        }
    }
    true
}

/// How many ops each thread has; only what was counted is cleared.
struct Votes {
    count: Vec<u32>,
    counted: Vec<usize>,
    group: Vec<u32>, // in which each op was last asked for, from 1 on
}

impl Votes {
    fn new(threads: usize, ops: usize) -> Votes {
        Votes {
            count: vec![0; threads],
            counted: Vec::new(),
            group: vec![0; ops],
        }
    }

    fn is_new(&mut self, op: usize, group: usize) -> bool {
        let group = group as u32 + 1;
        std::mem::replace(&mut self.group[op], group) != group
    }

    fn add(&mut self, thread: usize) {
        if self.count[thread] == 0 {
            self.counted.push(thread);
        }
        self.count[thread] += 1;
    }

    /// The first thread with the most, or −1; nothing is counted afterwards.
    fn take_most(&mut self) -> i32 {
        let count = &self.count;
        let most = self
            .counted
            .iter()
            .max_by_key(|&&thread| (count[thread], usize::MAX - thread));
        let most = most.map_or(NOTHING, |&thread| thread as i32);
        for thread in self.counted.drain(..) {
            self.count[thread] = 0;
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_row_of_an_id_counts_or_the_first() {
        let (key, row) = ([7, 0, 9, 7, -3], [1, 2, 3, 4, 5]);
        let wanted = [7, 9, 8, 0, -3, i64::MIN, i64::MAX];
        let mut out = [5; 7];
        assert!(join(&key, &row, &wanted, 10, false, &mut out));
        assert_eq!(out, [4, 3, -1, -1, -1, -1, -1]);
        assert!(join(&key, &row, &wanted, 10, true, &mut out));
        assert_eq!(out[0], 1);
        let (far, rows) = ([1, 9000, 90_000, 900_000], [1, 2, 3, 4]);
        assert!(join(&far, &rows, &far, 3000, true, &mut out[..4]));
        assert_eq!(out[..4], rows);
        assert!(!join(&far, &rows, &far, 1000, true, &mut out));
        assert!(!join(&far, &rows, &far, 1800, true, &mut out));
        assert!(!join(
            &[1, 1, i64::MAX],
            &row[..3],
            &wanted,
            1000,
            false,
            &mut out
        ));
        assert!(join(&[0i32], &[1], &wanted, 2, false, &mut out));
        assert_eq!(out, [-1; 7]);
    }

    #[test]
    fn an_end_finds_the_last_start_of_its_category_and_id() {
        let arrows = Arrows {
            row: &[0, 1, 2, 4, 5],
            phase: b"ssfsff",
            category: &[1, 1, 1, 1, 2, 1],
            start: b's',
            end: b'f',
        };
        let mut source = [9; 3];
        // The row without an id is no start of these.
        let found = match_starts(arrows, &[5, 5, 5, 5, 6], 4, &mut source);
        assert_eq!((found, source), (Some((2, 3)), [1, -1, -1]));
        let far = match_starts(arrows, &[5i64, 1 << 40, 5, 5, 6], 4, &mut source);
        assert_eq!(far, None);
        let few = match_starts(arrows, &[5i64, 5, 5, 5, 6], 4, &mut source[..2]);
        assert_eq!(few, Some((2, 3)));
    }

    #[test]
    fn the_way_up_leads_to_an_open_op() {
        // op      ████████████
        //  frame   ██████████
        //   op       ██
        //   call       ▌ at 5, when the inner op has ended
        let events = Events {
            ts: &[0, 1, 3, 5],
            dur: &[12, 10, 2, 1],
            outer: &[-1, 0, 1, 1],
            kind: &[0, 2, 0, 4],
            op: 0,
        };
        for patience in [0, 100] {
            let mut found = [3, 3, -1, 2, 2];
            events.climb(&[5, 20, 5, 4, 5], patience, &mut found);
            assert_eq!(found, [0, -1, -1, 2, 0]);
        }
        let mut above = [7; 4];
        events.ops_above(&mut above);
        assert_eq!(above, [-1, 0, 0, 0]);
    }

    #[test]
    fn a_backward_op_finds_the_last_forward_op_of_its_number() {
        let ahead = Numbered {
            sequence: &[5, 6, 5, 5],
            row: &[0, 1, 2, 3],
        };
        let asked = Numbered {
            sequence: &[5, 5, 6, 7, 5],
            row: &[4, 5, 4, 4, 4],
        };
        let host = (&[0, 1, 8, 2, 9, 7][..], &[0, 0, 0, 1, 2, 2][..]);
        let threads = |forward| Threads {
            bounds: &[0, 4, 5],
            forward,
            count: 3,
        };
        let mut found = [9; 5];
        // Nobody knows the first forward thread: most ops of those numbers are of thread 0.
        assert!(forward_ops(
            ahead,
            asked,
            host,
            threads(&[-1, 1]),
            9,
            99,
            &mut found
        ));
        assert_eq!(found, [2, 0, 1, -1, 3]);
        assert!(forward_ops(
            ahead,
            asked,
            host,
            threads(&[1, -1]),
            9,
            99,
            &mut found
        ));
        assert_eq!(found, [3, 3, -1, -1, 2]);
        assert!(!forward_ops(
            ahead,
            asked,
            host,
            threads(&[1, -1]),
            9,
            3,
            &mut found
        ));
        let far = Numbered {
            sequence: &[5, 1 << 40, 5, 5],
            row: ahead.row,
        };
        assert!(!forward_ops(
            far,
            asked,
            host,
            threads(&[1, -1]),
            9,
            99,
            &mut found
        ));
    }
}
