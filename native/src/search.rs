//! Places among ascending numbers, and how much of some intervals lies between two instants.
//!
//! The references are `search` in `tb_plugin/base/arrays.py` and `length_within` in `tb_plugin/base/intervals.py`.

use super::intervals::{running, Spans};

/// `out[i]`: how many of the ascending numbers are below `values[i]`; where `equal`, or equal to it.
/// Quick where each value is near the one before it.
pub fn search<T: Copy + Into<i64>, V: Copy + Into<i64>>(
    ordered: &[T],
    values: &[V],
    equal: bool,
    out: &mut [i64],
) {
    let mut at = 0;
    for (to, &value) in out.iter_mut().zip(values) {
        let value: i64 = value.into();
        // Without an end: no number is above the largest one.
        at = match (equal, value.checked_add(1)) {
            (true, None) => ordered.len(),
            (true, Some(above)) => nearby(ordered, at, above),
            (false, _) => nearby(ordered, at, value),
        };
        *to = at as i64;
    }
}

/// How many of the ascending numbers are below `value`; the search begins at `at` and widens.
#[inline(always)]
fn nearby<T: Copy + Into<i64>>(ordered: &[T], at: usize, value: i64) -> usize {
    let is_below = |place: usize| -> bool { ordered[place].into() < value };
    let is_behind = at < ordered.len() && is_below(at);
    if !is_behind && (at == 0 || is_below(at - 1)) {
        return at; // where the value before it was
    }
    let (mut low, mut high) = (at, at);
    let mut step = 1;
    if is_behind {
        low = at + 1;
        high = low;
        while high < ordered.len() && is_below(high) {
            low = high + 1;
            high = (high + step).min(ordered.len());
            step *= 2;
        }
    } else {
        while low > 0 && !is_below(low - 1) {
            high = low - 1;
            low = low.saturating_sub(step);
            step *= 2;
        }
    }
    low + ordered[low..high].partition_point(|&one| one.into() < value)
}

/// The length of some disjoint intervals in order inside of each [low, high); 0 where high is not
/// above low.
pub fn length_within(spans: Spans, low: &[i64], high: &[i64], out: &mut [i64]) {
    if ascend(low) && ascend(high) {
        let (mut begin, mut end) = (Sum::new(spans), Sum::new(spans));
        for (to, (&low, &high)) in out.iter_mut().zip(low.iter().zip(high)) {
            let before = begin.before(low);
            // What begins behind its end is empty; the sum for ends stays where it is.
            *to = if high > low {
                end.before(high) - before
            } else {
                0
            };
        }
        return;
    }
    let passed = running(spans);
    let (mut begin, mut end) = (0, 0);
    for (to, (&low, &high)) in out.iter_mut().zip(low.iter().zip(high)) {
        *to = if high > low {
            before(spans, &passed, &mut end, high) - before(spans, &passed, &mut begin, low)
        } else {
            0
        };
    }
}

fn ascend(values: &[i64]) -> bool {
    values.windows(2).all(|pair| pair[0] <= pair[1])
}

/// The length of the intervals before an instant, of instants that ascend.
struct Sum<'a> {
    spans: Spans<'a>,
    /// So many intervals end at the last instant or before it, with this length together.
    passed: usize,
    length: i64,
}

impl<'a> Sum<'a> {
    fn new(spans: Spans<'a>) -> Self {
        Sum {
            spans,
            passed: 0,
            length: 0,
        }
    }

    fn before(&mut self, at: i64) -> i64 {
        let Spans { start, end } = self.spans;
        while self.passed < end.len() && end[self.passed] <= at {
            self.length += end[self.passed] - start[self.passed];
            self.passed += 1;
        }
        let open = start
            .get(self.passed)
            .map_or(0, |&start| (at - start).max(0));
        self.length + open
    }
}

/// Length of the spans before an instant; `near` is where the search begins.
fn before(spans: Spans, passed: &[i64], near: &mut usize, at: i64) -> i64 {
    *near = nearby(spans.start, *near, at);
    match *near {
        0 => 0,
        index => passed[index] - (spans.end[index - 1] - at).max(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_values_in_any_order() {
        let ordered: Vec<i64> = (0..50).flat_map(|one| [2 * one, 2 * one]).collect();
        let values: Vec<i64> = (-3..110)
            .chain([7, 90, 3, 3, 60, i64::MAX, i64::MIN])
            .collect();
        for equal in [false, true] {
            let mut out = vec![0; values.len()];
            search(&ordered, &values, equal, &mut out);
            for (&value, &found) in values.iter().zip(&out) {
                let is_before = |one: &&i64| **one < value || equal && **one == value;
                assert_eq!(found as usize, ordered.iter().filter(is_before).count());
            }
            search(&[] as &[i32], &values, equal, &mut out);
            assert!(out.iter().all(|&one| one == 0));
        }
    }

    #[test]
    fn lengths_of_windows_in_any_order() {
        let spans = Spans {
            start: &[2, 10, 20],
            end: &[5, 12, 30],
        };
        let inside = |low: i64, high: i64| {
            (low..high)
                .filter(|&at| {
                    (2..5).contains(&at) || (10..12).contains(&at) || (20..30).contains(&at)
                })
                .count() as i64
        };
        let (mut low, mut high) = (Vec::new(), Vec::new());
        for a in 0..33 {
            for b in 0..33 {
                low.push(a);
                high.push(b);
            }
        }
        let mut out = vec![0; low.len()];
        length_within(spans, &low, &high, &mut out);
        for at in 0..low.len() {
            assert_eq!(out[at], inside(low[at], high[at]));
        }
        let (low, high) = ([0, 3, 4, 4, 11, 40], [1, 3, 3, 11, 21, 50]);
        let mut out = [0; 6];
        length_within(spans, &low, &high, &mut out);
        assert_eq!(out, [0, 0, 0, 2, 2, 0]);
        let (low, high) = ([0, 3, 4, 11, 40], [1, 4, 11, 21, 50]);
        let mut out = [0; 5];
        length_within(spans, &low, &high, &mut out);
        assert_eq!(out, [0, 1, 2, 2, 0]);
    }
}
