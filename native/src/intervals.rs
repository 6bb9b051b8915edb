//! Sets of disjoint intervals: unions of events, and what two sets have in common.
//!
//! The reference is `tb_plugin/base/intervals.py`.

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

/// Events [ts, end) with a height each, in any order.
#[derive(Clone, Copy)]
pub struct Steps<'a> {
    pub ts: &'a [i64],
    pub end: &'a [i64],
    pub height: &'a [f64],
}

/// ∫ min(1, sum of the heights of all open events) within cells: cell i is what lies between `edges[i]`
/// and the next edge, which ascend. Adds to `sums`, in order of time.
pub fn level_within(events: Steps, edges: &[i64], sums: &mut [f64]) {
    let (begins, stops) = (in_order(events.ts), in_order(events.end));
    let (mut i, mut j, mut cell) = (0, 0, 0);
    let (mut before, mut open, mut total) = (0, 0i64, 0f64);
    while i < begins.len() || j < stops.len() {
        // Of one instant the begins come first.
        let begins_next = match (begins.get(i), stops.get(j)) {
            (Some(begin), Some(stop)) => begin.0 <= stop.0,
            (begin, _) => begin.is_some(),
        };
        let (at, event) = if begins_next { begins[i] } else { stops[j] };
        // What floating sums leave behind when nothing is open is no height.
        if at > before && open != 0 && total > 0.0 {
            while cell < sums.len() && edges[cell + 1] <= before {
                cell += 1;
            }
            let mut within = cell;
            while within < sums.len() && edges[within] < at {
                let length = at.min(edges[within + 1]) - before.max(edges[within]);
                if length > 0 {
                    sums[within] += length as f64 * total.min(1.0);
                }
                within += 1;
            }
        }
        let height = events.height[event as usize];
        if begins_next {
            (i, open, total) = (i + 1, open + 1, total + height);
        } else {
            (j, open, total) = (j + 1, open - 1, total - height);
        }
        before = at;
    }
}

/// The values with their places, in ascending order; equal ones stay in theirs.
fn in_order(values: &[i64]) -> Vec<(i64, u32)> {
    let mut order: Vec<(i64, u32)> = values.iter().copied().zip(0..).collect();
    order.sort();
    order
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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn heights_of_what_is_open() {
        let events = Steps {
            ts: &[5, 0, 20, 20, 30],
            end: &[15, 10, 30, 25, 30],
            height: &[0.75, 0.5, 1.0, 2.0, 4.0],
        };
        let mut sums = [0.0; 4];
        level_within(events, &[-5, 4, 12, 12, 28], &mut sums);
        assert_eq!(sums, [2.0, 0.5 + 5.0 + 1.5, 0.0, 2.25 + 8.0]);
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
