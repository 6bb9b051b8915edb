//! The union of events, and what of some stretches of time each nested event holds for itself.
//!
//! The references are `tb_plugin/base/intervals.py` and `tb_plugin/analysis/idle/holders.py`.

use super::rows::{marked, Row};

/// The union of the events at which a mask holds, as intervals that are apart as long as starts ascend:
/// where one is below that before it, the next run begins. Returns how many there are; `start` and
/// `end` have room for all events.
pub fn union(ts: &[i64], dur: &[i64], mask: &[u8], start: &mut [i64], end: &mut [i64]) -> usize {
    let mut count = 0;
    for row in marked(mask).filter(|&row| dur[row] > 0) {
        append(start, end, &mut count, ts[row], ts[row] + dur[row]);
    }
    count
}

/// As `union`, of the events in some rows, in their order.
pub fn union_of<R: Row>(
    ts: &[i64],
    dur: &[i64],
    rows: &[R],
    start: &mut [i64],
    end: &mut [i64],
) -> usize {
    let mut count = 0;
    for row in rows
        .iter()
        .map(|row| row.index())
        .filter(|&row| dur[row] > 0)
    {
        append(start, end, &mut count, ts[row], ts[row] + dur[row]);
    }
    count
}

/// Appends an interval, or lengthens the last one where it begins in it or at its end.
fn append(start: &mut [i64], end: &mut [i64], count: &mut usize, from: i64, to: i64) {
    match count.checked_sub(1) {
        Some(last) if start[last] <= from && from <= end[last] => end[last] = end[last].max(to),
        _ => {
            start[*count] = from;
            end[*count] = to;
            *count += 1;
        }
    }
}

/// Disjoint intervals in order.
#[derive(Clone, Copy)]
pub struct Spans<'a> {
    pub start: &'a [i64],
    pub end: &'a [i64],
}

/// The union of two sets whose intervals are apart, as one like them. Returns how many intervals there
/// are; `start` and `end` have room for those of both.
pub fn merge(a: Spans, b: Spans, start: &mut [i64], end: &mut [i64]) -> usize {
    let (mut i, mut j, mut count) = (0, 0, 0);
    while i < a.start.len() || j < b.start.len() {
        let from_a = j == b.start.len() || (i < a.start.len() && a.start[i] <= b.start[j]);
        let (from, to) = if from_a {
            i += 1;
            (a.start[i - 1], a.end[i - 1])
        } else {
            j += 1;
            (b.start[j - 1], b.end[j - 1])
        };
        append(start, end, &mut count, from, to);
    }
    count
}

/// The instants in both of two sets. Returns how many intervals there are; `start` and `end` have room
/// for those of both.
pub fn intersect(a: Spans, b: Spans, start: &mut [i64], end: &mut [i64]) -> usize {
    let (mut i, mut j, mut count) = (0, 0, 0);
    while i < a.start.len() && j < b.start.len() {
        let (from, to) = (a.start[i].max(b.start[j]), a.end[i].min(b.end[j]));
        if from < to {
            start[count] = from;
            end[count] = to;
            count += 1;
        }
        if a.end[i] <= b.end[j] {
            i += 1 + ahead(&a.end[i + 1..], b.start[j].saturating_add(1));
        } else {
            j += 1 + ahead(&b.end[j + 1..], a.start[i].saturating_add(1));
        }
    }
    count
}

/// Events in order of their start, each with the place of its parent, which is before it, or −1.
#[derive(Clone, Copy)]
pub struct Events<'a> {
    pub ts: &'a [i64],
    pub dur: &'a [i64],
    pub parent: &'a [i32],
    /// Rows before the first event: parents count them.
    pub low: i32,
}

/// One entry per event and window that it touches; `own` ends as what no child holds. What has no room
/// is only counted.
pub struct Entries<'a> {
    pub event: &'a mut [i32],
    pub window: &'a mut [i32],
    pub own: &'a mut [i64],
}

impl Entries<'_> {
    fn put(&mut self, at: usize, event: i32, window: i32, own: i64) {
        if at < self.event.len() {
            self.event[at] = event;
            self.window[at] = window;
            self.own[at] = own;
        }
    }

    /// What a child holds in a window, taken from its parent, whose entries begin at `first`.
    fn take(&mut self, event: i32, first: usize, window: i32, held: i64) {
        if first < self.event.len() && window >= self.window[first] {
            let at = first + (window - self.window[first]) as usize;
            if at < self.event.len() && self.event[at] == event {
                self.own[at] -= held;
            }
        }
    }
}

/// Writes the entries that hold more than nothing, by event and window, as rows; returns how many they
/// are. Where there was too little room, nothing of use is written, and what is returned is as much
/// room as is needed. `windows` hold all `pieces`.
pub fn hold(events: Events, pieces: Spans, windows: Spans, mut to: Entries) -> usize {
    let count = pieces.start.len();
    let passed = running(pieces);
    let window_of: Vec<i32> = windows_of(pieces, windows);
    let (room, mut made) = (to.event.len(), 0);
    // Where the entries of each event begin, counted from 1; 0 for none. Zeros take no memory until then.
    let mut first = vec![0u32; events.ts.len()];
    let mut begin = 0;
    for (event, (&ts, &dur)) in events.ts.iter().zip(events.dur).enumerate() {
        let end = ts + dur;
        while begin < count && pieces.end[begin] <= ts {
            begin += 1;
        }
        if begin == count {
            break;
        }
        if pieces.start[begin] >= end {
            continue;
        }
        let stop = begin + 1 + ahead(&pieces.start[begin + 1..], end);
        let held = passed[stop]
            - passed[begin]
            - (ts - pieces.start[begin]).max(0)
            - (pieces.end[stop - 1] - end).max(0);
        first[event] = made as u32 + 1;
        let (low, high) = (window_of[begin], window_of[stop - 1]);
        let above = events.parent[event] - events.low;
        let parent = (above >= 0).then(|| {
            assert!((above as usize) < event, "a parent behind its event");
            above as usize
        });
        for at in low..=high {
            let held = if low == high {
                held
            } else {
                let part = at as usize;
                before(pieces, &passed, end.min(windows.end[part]))
                    - before(pieces, &passed, ts.max(windows.start[part]))
            };
            to.put(made, event as i32, at, held);
            made += 1;
            if let Some(parent) = parent.filter(|&parent| first[parent] != 0) {
                to.take(parent as i32, first[parent] as usize - 1, at, held);
            }
        }
    }
    if made > room {
        return made;
    }
    let mut found = 0;
    for at in 0..made {
        if to.own[at] > 0 {
            to.event[found] = to.event[at] + events.low;
            to.window[found] = to.window[at];
            to.own[found] = to.own[at];
            found += 1;
        }
    }
    found
}

/// The length of all spans before each, and behind the last one of all.
pub fn running(spans: Spans) -> Vec<i64> {
    let mut passed = Vec::with_capacity(spans.start.len() + 1);
    let mut total = 0;
    passed.push(total);
    for (start, end) in spans.start.iter().zip(spans.end) {
        total += end - start;
        passed.push(total);
    }
    passed
}

/// The window in which each piece begins.
fn windows_of(pieces: Spans, windows: Spans) -> Vec<i32> {
    let mut at = 0;
    pieces
        .start
        .iter()
        .map(|&start| {
            while at < windows.start.len() && windows.start[at] <= start {
                at += 1;
            }
            assert!(at > 0, "a piece before the first window");
            at as i32 - 1
        })
        .collect()
}

/// How many of the ascending values are below `end`: most often none, seldom many.
fn ahead(starts: &[i64], end: i64) -> usize {
    let mut step = 1;
    let mut known = 0; // so many are below
    while known + step <= starts.len() && starts[known + step - 1] < end {
        known += step;
        step *= 2;
    }
    let most = (known + step).min(starts.len());
    known + starts[known..most].partition_point(|&start| start < end)
}

/// Length of the pieces before an instant.
fn before(pieces: Spans, passed: &[i64], at: i64) -> i64 {
    let index = pieces.start.partition_point(|&start| start <= at);
    match index {
        0 => 0,
        _ => passed[index] - (pieces.end[index - 1] - at).max(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(
        events: &[(i64, i64, i32)],
        pieces: &[(i64, i64)],
        windows: &[(i64, i64)],
    ) -> Vec<(i32, i32, i64)> {
        let column = |of: fn(&(i64, i64)) -> i64, spans: &[(i64, i64)]| -> Vec<i64> {
            spans.iter().map(of).collect()
        };
        let (ps, pe) = (column(|s| s.0, pieces), column(|s| s.1, pieces));
        let (ws, we) = (column(|s| s.0, windows), column(|s| s.1, windows));
        let ts: Vec<i64> = events.iter().map(|e| e.0).collect();
        let dur: Vec<i64> = events.iter().map(|e| e.1).collect();
        let parent: Vec<i32> = events.iter().map(|e| e.2).collect();
        let events = Events {
            ts: &ts,
            dur: &dur,
            parent: &parent,
            low: 10,
        };
        let (mut row, mut window, mut idle) = ([0; 16], [0; 16], [0; 16]);
        let pieces = Spans {
            start: &ps,
            end: &pe,
        };
        let windows = Spans {
            start: &ws,
            end: &we,
        };
        let to = Entries {
            event: &mut row,
            window: &mut window,
            own: &mut idle,
        };
        let count = hold(events, pieces, windows, to);
        (0..count)
            .map(|at| (row[at], window[at], idle[at]))
            .collect()
    }

    #[test]
    fn a_union_of_what_is_chosen() {
        let ts = [0, 5, 9, 20, 30, 3, 30, 40, 41];
        let dur = [6, 1, 11, 5, 0, 4, 2, 1, 1];
        let mask = [1, 0, 1, 1, 1, 1, 1, 1, 1];
        let (mut start, mut end) = ([0; 9], [0; 9]);
        let count = union(&ts, &dur, &mask, &mut start, &mut end);
        let found: Vec<_> = (0..count).map(|at| (start[at], end[at])).collect();
        assert_eq!(found, [(0, 6), (9, 25), (3, 7), (30, 32), (40, 42)]);
    }

    #[test]
    fn a_union_of_rows() {
        let (ts, dur) = ([0, 5, 9, 20, 30], [6, 1, 11, 5, 0]);
        let (mut start, mut end) = ([0; 6], [0; 6]);
        let count = union_of(&ts, &dur, &[0i32, 2, 3, 4, 1, 0], &mut start, &mut end);
        let found: Vec<_> = (0..count).map(|at| (start[at], end[at])).collect();
        assert_eq!(found, [(0, 6), (9, 25), (5, 6), (0, 6)]);
    }

    #[test]
    fn two_sets() {
        let a = Spans {
            start: &[0, 10, 20],
            end: &[5, 15, 30],
        };
        let b = Spans {
            start: &[3, 15, 40],
            end: &[10, 16, 41],
        };
        let (mut start, mut end) = ([0; 6], [0; 6]);
        assert_eq!(merge(a, b, &mut start, &mut end), 3);
        assert_eq!(
            (&start[..3], &end[..3]),
            (&[0, 20, 40][..], &[16, 30, 41][..])
        );
        assert_eq!(intersect(a, b, &mut start, &mut end), 1);
        assert_eq!((start[0], end[0]), (3, 5));
        assert_eq!(intersect(b, a, &mut start, &mut end), 1);
        assert_eq!((start[0], end[0]), (3, 5));
    }

    #[test]
    fn the_innermost_holds() {
        // a ██████████  b inside, and a piece within each
        let events = [(0, 100, -1), (20, 30, 10), (60, 10, 10)];
        let pieces = [(10, 40), (65, 90)];
        assert_eq!(
            held(&events, &pieces, &[(0, 100)]),
            [(10, 0, 30), (11, 0, 20), (12, 0, 5)]
        );
    }

    #[test]
    fn windows_cut_what_lies_across() {
        let events = [(0, 100, -1), (40, 20, 10)];
        assert_eq!(
            held(&events, &[(0, 50), (50, 100)], &[(0, 50), (50, 100)]),
            [(10, 0, 40), (10, 1, 40), (11, 0, 10), (11, 1, 10)]
        );
    }

    #[test]
    fn a_child_that_outlives_its_parent_takes_nothing_elsewhere() {
        let events = [(0, 40, -1), (30, 40, 10)];
        assert_eq!(
            held(&events, &[(0, 50), (50, 100)], &[(0, 50), (50, 100)]),
            [(10, 0, 20), (11, 0, 20), (11, 1, 20)]
        );
    }

    #[test]
    fn too_little_room_is_told() {
        let none: &mut [i32] = &mut [];
        let events = Events {
            ts: &[0, 1],
            dur: &[9, 2],
            parent: &[-1, 0],
            low: 0,
        };
        let span = Spans {
            start: &[0],
            end: &[9],
        };
        let to = Entries {
            event: none,
            window: &mut [],
            own: &mut [],
        };
        assert_eq!(hold(events, span, span, to), 2);
    }

    #[test]
    fn the_search_ahead_counts() {
        let starts: Vec<i64> = (0..100).collect();
        for end in 0..=101 {
            assert_eq!(ahead(&starts, end), (end as usize).min(100));
        }
        assert_eq!(ahead(&[], 5), 0);
    }
}
