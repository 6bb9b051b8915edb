//! Which end belongs to which begin?

use std::collections::HashMap;

/// In place of a duration: the slice never ends.
pub const OPEN: i64 = i64::MIN;
/// In place of a duration: the end of the slice cannot be told.
pub const LOST: i64 = i64::MIN + 1;

/// The durations of the slices of a file, in the order of their begins.
pub enum Slices {
    Stacks(Stacks),
    Groups(Groups),
}

impl Slices {
    pub fn begin(&mut self, ts: i64, track: u64) {
        match self {
            Slices::Stacks(stacks) => stacks.begin(ts, track),
            Slices::Groups(groups) => groups.begin(ts, track),
        }
    }

    pub fn end(&mut self, ts: i64, track: u64) {
        match self {
            Slices::Stacks(stacks) => stacks.end(ts, track),
            Slices::Groups(groups) => groups.end(ts, track),
        }
    }

    pub fn lost(&mut self, wide: bool) {
        if let Slices::Groups(groups) = self {
            groups.lost(wide);
        }
    }

    /// The file ends; how many ends have no begin.
    pub fn finish(&mut self) -> u64 {
        match self {
            Slices::Stacks(stacks) => stacks.unpaired,
            Slices::Groups(groups) => {
                groups.finish();
                groups.unpaired
            }
        }
    }

    pub fn durations(&self) -> &[i64] {
        match self {
            Slices::Stacks(stacks) => &stacks.durations,
            Slices::Groups(groups) => &groups.durations,
        }
    }
}

/// An end closes the innermost open slice of its track.
#[derive(Default)]
pub struct Stacks {
    durations: Vec<i64>,
    unpaired: u64,
    open: HashMap<u64, Vec<(usize, i64)>>,
}

impl Stacks {
    fn begin(&mut self, ts: i64, track: u64) {
        self.open
            .entry(track)
            .or_default()
            .push((self.durations.len(), ts));
        self.durations.push(OPEN);
    }

    fn end(&mut self, ts: i64, track: u64) {
        match self.open.get_mut(&track).and_then(Vec::pop) {
            Some((row, began)) => self.durations[row] = ts.wrapping_sub(began).max(LOST + 1),
            None => self.unpaired += 1,
        }
    }
}

/// The k-th end of a group closes its k-th begin.
#[derive(Default)]
pub struct Groups {
    durations: Vec<i64>,
    unpaired: u64,
    begins: Vec<(i64, u64)>,
    ends: Vec<(i64, u64)>,
    begin_gaps: Vec<usize>,
    end_gaps: Vec<usize>,
    front_lost: bool,
    back_lost: bool,
}

impl Groups {
    fn begin(&mut self, ts: i64, track: u64) {
        if !self.ends.is_empty() {
            let gap = self.end_gaps.last() == Some(&self.ends.len());
            self.finish();
            if gap {
                self.begin_gaps.push(0);
            }
        }
        self.begins.push((ts, track));
    }

    fn end(&mut self, ts: i64, track: u64) {
        self.ends.push((ts, track));
    }

    fn lost(&mut self, wide: bool) {
        if self.ends.is_empty() {
            self.begin_gaps.push(self.begins.len());
            self.front_lost |= wide;
        } else {
            self.end_gaps.push(self.ends.len());
            self.back_lost |= wide;
        }
    }

    fn finish(&mut self) {
        let (begins, ends) = (self.begins.len(), self.ends.len());
        let (front, back) = self.matched(begins, ends);
        let first = self.durations.len();
        self.durations.resize(first + begins, LOST);
        let mut matched = 0;
        for index in 0..front {
            matched += self.pair(first, index, index);
        }
        for index in 1..=back {
            matched += self.pair(first, begins - index, ends - index);
        }
        self.unpaired += ends as u64 - matched;
        self.begins.clear();
        self.ends.clear();
        self.begin_gaps.clear();
        self.end_gaps.clear();
        self.front_lost = false;
        self.back_lost = false;
    }

    /// How many begins and ends match from the front, and how many from the back.
    fn matched(&mut self, begins: usize, ends: usize) -> (usize, usize) {
        if self.begin_gaps.last() == Some(&begins) {
            if self.front_lost {
                return (0, 0);
            }
            if ends <= begins {
                self.begin_gaps.retain(|&gap| gap < begins);
            }
            if ends < begins {
                self.end_gaps.insert(0, 0);
            }
        }
        let mut front = begins.min(ends);
        for gap in self
            .begin_gaps
            .first()
            .iter()
            .chain(self.end_gaps.first().iter())
        {
            front = front.min(**gap);
        }
        let back = (begins - self.begin_gaps.iter().max().unwrap_or(&0))
            .min(ends - self.end_gaps.iter().max().unwrap_or(&0))
            .min(begins - front)
            .min(ends - front);
        (
            if self.front_lost { 0 } else { front },
            if self.back_lost { 0 } else { back },
        )
    }

    fn pair(&mut self, first: usize, begin: usize, end: usize) -> u64 {
        let ((began, track), (ended, other)) = (self.begins[begin], self.ends[end]);
        let dur = ended.wrapping_sub(began);
        if track != other || dur < 0 {
            return 0;
        }
        self.durations[first + begin] = dur;
        1
    }
}
