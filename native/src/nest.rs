//! Which event is inside which, and whose time each instant is: one pass with a stack per thread.
//!
//! The definitions, and the reference, are in `tb_plugin/trace/build/nest.py`.

const NOTHING: i32 = -1;

/// Rows sorted by (thread, ts, −dur); `first` is not 0 where a thread begins.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    pub ts: &'a [i64],
    pub dur: &'a [i64],
    pub first: &'a [u8],
    pub clock: &'a [i8],
}

/// What is said of each row; of the two `overrun` as many as `nest` returns.
pub struct Nesting<'a> {
    pub outer: &'a mut [i32],
    pub parent: &'a mut [i32],
    pub depth: &'a mut [i16],
    pub self_ns: &'a mut [i64],
    pub overrun_row: &'a mut [i32],
    pub overrun_ns: &'a mut [i64],
}

/// By how much a child may outlive its parent.
#[derive(Clone, Copy)]
pub struct Tolerance {
    pub any: i64,
    pub two_clocks: i64,
}

/// Nests the rows, and returns how many of them outlive their outer event.
pub fn nest(rows: Rows, tolerance: Tolerance, to: &mut Nesting) -> usize {
    let mut open = Open::default();
    let mut containers = Containers::default();
    let mut overruns = 0;
    for row in 0..rows.ts.len() {
        if rows.first[row] != 0 {
            open.pass(i64::MAX, to.self_ns);
            open.stack.clear();
            containers.clear();
        }
        let (ts, dur, clock) = (rows.ts[row], rows.dur[row], rows.clock[row]);
        let end = ts.wrapping_add(dur);
        open.pass(ts, to.self_ns);
        let (outer, parent) = match open.stack.last() {
            None => (NOTHING, NOTHING),
            Some(&(stop, outer)) if end <= stop.saturating_add(tolerance.any) => (outer, outer),
            Some(&(stop, outer)) => {
                let parent = containers.innermost(ts, end, clock, tolerance);
                if parent != outer {
                    to.overrun_row[overruns] = row as i32;
                    to.overrun_ns[overruns] = end - stop;
                    overruns += 1;
                }
                (outer, parent)
            }
        };
        to.outer[row] = outer;
        to.parent[row] = parent;
        to.depth[row] = match usize::try_from(parent) {
            Ok(parent) => to.depth[parent].saturating_add(1),
            Err(_) => 0,
        };
        to.self_ns[row] = 0;
        open.stack.push((end, row as i32));
        containers.push(clock, end, row as i32);
    }
    open.pass(i64::MAX, to.self_ns);
    overruns
}

/// The events that began and were not seen to end, the latest started on top.
#[derive(Default)]
struct Open {
    stack: Vec<(i64, i32)>,
    now: i64,
}

impl Open {
    /// Moves on to an instant: the time till then belongs to the latest started that is open.
    fn pass(&mut self, till: i64, self_ns: &mut [i64]) {
        while let Some(&(end, row)) = self.stack.last() {
            let stop = end.min(till);
            if stop > self.now {
                self_ns[row as usize] += stop - self.now;
                self.now = stop;
            }
            if end > till {
                break;
            }
            self.stack.pop();
        }
        self.now = till;
    }
}

/// For each clock the events that can still contain one to come: whoever starts later and ends no
/// earlier contains whatever those before it do. So ends only fall from the bottom to the top.
#[derive(Default)]
struct Containers {
    of_clock: Vec<(i8, Vec<(i64, i32)>)>,
}

impl Containers {
    fn clear(&mut self) {
        for (_, events) in &mut self.of_clock {
            events.clear();
        }
    }

    fn push(&mut self, clock: i8, end: i64, row: i32) {
        let known = self.of_clock.iter().position(|&(other, _)| other == clock);
        let at = known.unwrap_or_else(|| {
            self.of_clock.push((clock, Vec::new()));
            self.of_clock.len() - 1
        });
        let events = &mut self.of_clock[at].1;
        while matches!(events.last(), Some(&(stop, _)) if stop <= end) {
            events.pop();
        }
        events.push((end, row));
    }

    /// The latest started event that is open at `ts` and contains what ends at `end`, or −1.
    fn innermost(&self, ts: i64, end: i64, clock: i8, tolerance: Tolerance) -> i32 {
        let least = end.saturating_sub(tolerance.any);
        // Of another clock: as long as more of the child lies inside than outside.
        let length = end.saturating_sub(ts);
        let half = ts + (length / 2 + length % 2);
        let of_two = least.min(half.max(end.saturating_sub(tolerance.two_clocks)));
        let innermost = |(other, events): &(i8, Vec<(i64, i32)>)| {
            let least = if *other == clock { least } else { of_two };
            let count = events.partition_point(|&(stop, _)| stop >= least && stop > ts);
            count.checked_sub(1).map_or(NOTHING, |at| events[at].1)
        };
        self.of_clock.iter().map(innermost).max().unwrap_or(NOTHING)
    }
}

#[cfg(test)]
mod tests {
    use super::{nest, Nesting, Rows, Tolerance};

    #[test]
    fn what_outlives_its_outer_event_hangs_higher() {
        // step ████████████████████
        // enter ████
        // range   ███████████████
        // op         ███
        let ts = [0, 0, 2, 5];
        let dur = [20, 4, 15, 3];
        let first = [1, 0, 0, 0];
        let mut outer = [0; 4];
        let (mut parent, mut depth, mut self_ns) = ([0; 4], [0; 4], [0; 4]);
        let (mut overrun_row, mut overrun_ns) = ([0; 4], [0; 4]);
        let mut to = Nesting {
            outer: &mut outer,
            parent: &mut parent,
            depth: &mut depth,
            self_ns: &mut self_ns,
            overrun_row: &mut overrun_row,
            overrun_ns: &mut overrun_ns,
        };
        let rows = Rows {
            ts: &ts,
            dur: &dur,
            first: &first,
            clock: &[0; 4],
        };
        let tolerance = Tolerance {
            any: 0,
            two_clocks: 0,
        };
        assert_eq!(nest(rows, tolerance, &mut to), 1);
        assert_eq!(outer, [-1, 0, 1, 2]);
        assert_eq!(parent, [-1, 0, 0, 2]);
        assert_eq!(depth, [0, 1, 1, 2]);
        assert_eq!(self_ns, [3, 2, 12, 3]);
        assert_eq!((overrun_row[0], overrun_ns[0]), (2, 13));
    }
}
