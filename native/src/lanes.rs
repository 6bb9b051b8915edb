//! Lanes of a track: which events are drawn one below the other.
//!
//! The rule, and the reference, is `tb_plugin/analysis/timeline/build/lanes.py`.

/// Lanes have 16 bits. Rows that find all of them busy share the last one.
const LAST_LANE: usize = u16::MAX as usize;

/// Rows are sorted by (track, ts, −dur); `first` is not 0 where a track begins. Writes the lane of
/// each row, and 1 to `displaced` where it is deeper than the lane under its parent.
pub fn assign(
    ts: &[i64],
    dur: &[i64],
    first: &[u8],
    tolerance: i64,
    lane: &mut [u16],
    displaced: &mut [u8],
) {
    // Open events by end and lane. Whoever starts later and ends no earlier hides those before it,
    // so ends only fall from the bottom to the top, and each row is put on and taken off once.
    let mut open: Vec<(i64, usize)> = Vec::new();
    let mut ends = Ends::new();
    let rows = ts.iter().zip(dur).zip(first);
    let written = lane.iter_mut().zip(displaced);
    for (((&start, &length), &begins), (lane, displaced)) in rows.zip(written) {
        if begins != 0 {
            open.clear();
            ends = Ends::new();
        }
        let end = start.saturating_add(length.max(0));
        drop_while(&mut open, |other| other <= start);
        drop_while(&mut open, |other| other.saturating_add(tolerance) < end);
        let wanted = open.last().map_or(0, |&(_, parent)| parent + 1);
        let free = ends.first_free(wanted, start);
        if free <= LAST_LANE {
            ends.set(free, end);
        }
        let found = free.min(LAST_LANE);
        drop_while(&mut open, |other| other <= end);
        open.push((end, found));
        *lane = found as u16;
        *displaced = u8::from(found != wanted);
    }
}

/// Rows are sorted by (ts, −dur). A row takes the lane of the first row of its node if that is free,
/// else the first free one; `node` holds codes below `nodes`, negative for none. Writes the lane of
/// each row. The rule, and the reference, is `share_lanes` of the same file.
pub fn share(ts: &[i64], dur: &[i64], node: &[i32], nodes: usize, lane: &mut [u16]) {
    let mut home: Vec<Option<u16>> = vec![None; nodes];
    let mut ends = Ends::new();
    let rows = ts.iter().zip(dur).zip(node).zip(lane);
    for (((&start, &length), &of), lane) in rows {
        let known = usize::try_from(of).ok().and_then(|of| home[of]);
        let free = match known {
            Some(own) if ends.is_free(usize::from(own), start) => usize::from(own),
            _ => ends.first_free(0, start),
        };
        if free <= LAST_LANE {
            ends.set(free, start.saturating_add(length.max(0)));
        }
        *lane = free.min(LAST_LANE) as u16;
        if let Ok(of) = usize::try_from(of) {
            home[of].get_or_insert(*lane);
        }
    }
}

fn drop_while(open: &mut Vec<(i64, usize)>, condition: impl Fn(i64) -> bool) {
    while matches!(open.last(), Some(&(end, _)) if condition(end)) {
        open.pop();
    }
}

/// When each lane becomes free, as a tree in which every node holds the least of its two children.
struct Ends {
    lanes: usize,
    least: Vec<i64>,
}

impl Ends {
    /// All lanes are free.
    fn new() -> Self {
        let lanes = 16;
        Ends {
            lanes,
            least: vec![i64::MIN; 2 * lanes],
        }
    }

    /// The first lane at or below `from` that is free at an instant.
    fn first_free(&mut self, from: usize, now: i64) -> usize {
        if from >= self.lanes {
            return from.max(self.lanes);
        }
        let mut at = self.lanes + from;
        while self.least[at] > now {
            while at % 2 == 1 {
                at /= 2;
            }
            if at == 0 {
                return self.lanes;
            }
            at += 1;
        }
        while at < self.lanes {
            at *= 2;
            at += usize::from(self.least[at] > now);
        }
        at - self.lanes
    }

    fn is_free(&self, lane: usize, now: i64) -> bool {
        lane >= self.lanes || self.least[self.lanes + lane] <= now
    }

    fn set(&mut self, lane: usize, end: i64) {
        while lane >= self.lanes {
            self.grow();
        }
        let mut at = self.lanes + lane;
        self.least[at] = end;
        while at > 1 {
            at /= 2;
            let least = self.least[2 * at].min(self.least[2 * at + 1]);
            if self.least[at] == least {
                break;
            }
            self.least[at] = least;
        }
    }

    fn grow(&mut self) {
        let mut grown = vec![i64::MIN; 4 * self.lanes];
        grown[2 * self.lanes..3 * self.lanes].copy_from_slice(&self.least[self.lanes..]);
        self.lanes *= 2;
        for at in (1..self.lanes).rev() {
            grown[at] = grown[2 * at].min(grown[2 * at + 1]);
        }
        self.least = grown;
    }
}

#[cfg(test)]
mod tests {
    use super::{assign, share};

    fn lanes(events: &[(i64, i64)]) -> (Vec<u16>, Vec<u8>) {
        let (ts, dur): (Vec<i64>, Vec<i64>) = events.iter().copied().unzip();
        let first: Vec<u8> = (0..events.len()).map(|row| u8::from(row == 0)).collect();
        let mut lane = vec![0; events.len()];
        let mut displaced = vec![0; events.len()];
        assign(&ts, &dur, &first, 0, &mut lane, &mut displaced);
        (lane, displaced)
    }

    #[test]
    fn a_call_in_a_call() {
        let (lane, displaced) = lanes(&[(0, 10), (1, 4), (2, 1), (6, 4)]);
        assert_eq!(lane, [0, 1, 2, 1]);
        assert_eq!(displaced, [0; 4]);
    }

    #[test]
    fn a_node_keeps_the_lane_of_its_first_replay() {
        let (ts, dur) = ([0, 1, 10, 11, 20], [4, 4, 4, 4, 4]);
        let mut lane = vec![9; 5];
        share(&ts, &dur, &[0, 1, 1, 0, -1], 2, &mut lane);
        assert_eq!(lane, [0, 1, 1, 0, 0]);
    }

    #[test]
    fn more_open_events_than_lanes_share_the_last() {
        let staircase: Vec<(i64, i64)> = (0..65_600).map(|ts| (ts, 100_000)).collect();
        let (lane, displaced) = lanes(&staircase);
        assert!((0..65_536).all(|row| lane[row] == row as u16));
        assert!(lane[65_536..].iter().all(|&lane| lane == u16::MAX));
        assert!(displaced[1..].iter().all(|&flag| flag == 1));
    }
}
