//! Which event of a thread held each instant of some stretches of time: of those open the last begun.
//!
//! The reference is `tb_plugin/analysis/idle/holders.py`.

use super::intervals::Spans;

/// Events of one thread, in order of their start.
#[derive(Clone, Copy)]
pub struct Events<'a> {
    pub ts: &'a [i64],
    pub dur: &'a [i64],
}

/// One entry per event and window in which it held something, in order of both.
pub struct Entries<'a> {
    pub event: &'a mut [i32],
    pub window: &'a mut [i32],
    pub own: &'a mut [i64],
}

/// Writes the entries; returns how many they are: no more than there are edges. There is room for one of
/// each event; where there is too little for all, what is written means nothing. `windows` hold all
/// `pieces`. O(events + pieces + windows), and a sort of what few events hold in windows before their last.
pub fn hold(events: Events, pieces: Spans, windows: Spans, low: i32, to: Entries) -> usize {
    let mut made = Made {
        place: Vec::with_capacity(events.ts.len()),
        kept: 0,
        late: Vec::new(),
        before: Vec::new(),
        to,
    };
    sweep(events, pieces, windows, |event, window, length| {
        made.add(event, window as i32, length);
    });
    made.in_order(low)
}

/// What events held: of each its last window and what it held there.
struct Made<'a> {
    /// Where the entry of an event is, from 1 on: in `to`, from `LATE` on in `late`; of those up to the last that held
    /// something. New memory that is read before it is written costs twice, and more where other threads run.
    place: Vec<u32>,
    /// Entries in `to`, in order of their events.
    kept: usize,
    /// Those of events that held nothing before one that began later did.
    late: Vec<(i32, i64)>,
    /// What an event held in windows before its last.
    before: Vec<(usize, i32, i64)>,
    to: Entries<'a>,
}

/// There are fewer rows than that.
const LATE: u32 = 1 << 31;

impl Made<'_> {
    #[inline(always)]
    fn add(&mut self, event: usize, window: i32, length: i64) {
        let to = &mut self.to;
        if event >= self.place.len() {
            self.place.resize(event + 1, 0);
        }
        let (of, held) = match self.place[event] {
            0 if self.kept == 0 || to.event[self.kept - 1] < event as i32 => {
                to.put(self.kept, event as i32, window, length);
                self.kept += 1;
                self.place[event] = self.kept as u32;
                return;
            }
            0 => {
                self.late.push((window, length));
                self.place[event] = LATE + self.late.len() as u32;
                return;
            }
            place if place > LATE => {
                let (of, held) = &mut self.late[(place - LATE) as usize - 1];
                (of, held)
            }
            place => {
                let at = place as usize - 1;
                (&mut to.window[at], &mut to.own[at])
            }
        };
        if *of == window {
            *held += length;
        } else {
            self.before.push((event, *of, *held));
            (*of, *held) = (window, length);
        }
    }

    /// Puts all entries in order of event and window, events as rows from `low` on; how many there are.
    fn in_order(mut self, low: i32) -> usize {
        let to = &mut self.to;
        to.event[..self.kept].iter_mut().for_each(|row| *row += low);
        let total = self.kept + self.late.len() + self.before.len();
        if total > to.event.len() {
            return total;
        }
        // Stable: windows stay in their order.
        self.before.sort_by_key(|&(event, _, _)| event);
        // From behind, so that nothing is written over what is still to be moved.
        let (mut at, mut kept) = (total, self.kept);
        for (event, &place) in self.place.iter().enumerate().rev() {
            if at == kept {
                break; // the others are where they belong
            }
            if place == 0 {
                continue;
            }
            at -= 1;
            let (window, own) = if place > LATE {
                self.late[(place - LATE) as usize - 1]
            } else {
                kept -= 1;
                (to.window[kept], to.own[kept])
            };
            to.put(at, event as i32 + low, window, own);
            while matches!(self.before.last(), Some(&(of, _, _)) if of == event) {
                let (_, window, own) = self.before.pop().unwrap_or_default();
                at -= 1;
                to.put(at, event as i32 + low, window, own);
            }
        }
        total
    }
}

impl Entries<'_> {
    #[inline(always)]
    fn put(&mut self, at: usize, row: i32, window: i32, own: i64) {
        (self.event[at], self.window[at], self.own[at]) = (row, window, own);
    }
}

/// Tells event, window and length of each stretch that one event held in one piece and one window, in
/// order of time. Edges of events, pieces and windows part two stretches, and nothing else does.
fn sweep(events: Events, pieces: Spans, windows: Spans, mut found: impl FnMut(usize, usize, i64)) {
    let mut open: Vec<(i64, usize)> = Vec::new(); // end and event, the last begun behind
    let mut cut = Cut {
        pieces,
        windows,
        piece: 0,
        window: 0,
    };
    let (mut begin, mut now) = (0, i64::MIN); // the first piece that is not over, and until when it is told
    for (event, (&ts, &dur)) in events.ts.iter().zip(events.dur).enumerate() {
        while begin < pieces.end.len() && pieces.end[begin] <= ts {
            begin += 1;
        }
        let Some(&start) = pieces.start.get(begin) else {
            break;
        };
        let end = ts + dur;
        if dur <= 0 || end <= start {
            continue;
        }
        cut.turns(&mut open, now, ts, &mut found);
        open.push((end, event));
        now = ts;
    }
    cut.turns(&mut open, now, i64::MAX, &mut found);
}

/// The pieces, cut at the edges of windows, as far as they are not over.
struct Cut<'a> {
    pieces: Spans<'a>,
    windows: Spans<'a>,
    piece: usize,
    window: usize,
}

impl Cut<'_> {
    /// Whose turn it was between two instants: that of the last begun one, while it is open.
    fn turns(
        &mut self,
        open: &mut Vec<(i64, usize)>,
        mut now: i64,
        until: i64,
        found: &mut impl FnMut(usize, usize, i64),
    ) {
        while let Some(&(end, event)) = open.last() {
            if end > now {
                let stop = end.min(until);
                self.tell(now, stop, event, found);
                now = stop;
            }
            if end > until {
                break;
            }
            open.pop();
        }
    }

    fn tell(
        &mut self,
        from: i64,
        to: i64,
        event: usize,
        found: &mut impl FnMut(usize, usize, i64),
    ) {
        let (pieces, windows) = (self.pieces, self.windows);
        while self.piece < pieces.start.len() && pieces.start[self.piece] < to {
            let stop = to.min(pieces.end[self.piece]);
            let mut at = from.max(pieces.start[self.piece]);
            while at < stop {
                while windows.end[self.window] <= at {
                    self.window += 1;
                }
                let edge = stop.min(windows.end[self.window]);
                found(event, self.window, edge - at);
                at = edge;
            }
            if pieces.end[self.piece] > to {
                break;
            }
            self.piece += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(of: &[(i64, i64)]) -> (Vec<i64>, Vec<i64>) {
        of.iter().copied().unzip()
    }

    fn held(
        events: &[(i64, i64)],
        pieces: &[(i64, i64)],
        windows: &[(i64, i64)],
    ) -> Vec<(i32, i32, i64)> {
        let ((ts, dur), (ps, pe), (ws, we)) = (spans(events), spans(pieces), spans(windows));
        let (mut row, mut window, mut idle) = ([0; 16], [0; 16], [0; 16]);
        let to = Entries {
            event: &mut row,
            window: &mut window,
            own: &mut idle,
        };
        let count = hold(
            Events { ts: &ts, dur: &dur },
            Spans {
                start: &ps,
                end: &pe,
            },
            Spans {
                start: &ws,
                end: &we,
            },
            10,
            to,
        );
        (0..count)
            .map(|at| (row[at], window[at], idle[at]))
            .collect()
    }

    #[test]
    fn the_innermost_holds() {
        // a ██████████  b inside, and a piece within each
        let events = [(0, 100), (20, 30), (60, 10)];
        assert_eq!(
            held(&events, &[(10, 40), (65, 90)], &[(0, 100)]),
            [(10, 0, 30), (11, 0, 20), (12, 0, 5)]
        );
    }

    #[test]
    fn windows_cut_what_lies_across() {
        let events = [(0, 100), (40, 20)];
        assert_eq!(
            held(&events, &[(0, 50), (50, 100)], &[(0, 50), (50, 100)]),
            [(10, 0, 40), (10, 1, 40), (11, 0, 10), (11, 1, 10)]
        );
    }

    #[test]
    fn of_two_that_overlap_the_last_begun_holds() {
        let events = [(0, 40), (30, 40)];
        assert_eq!(
            held(&events, &[(0, 50), (50, 100)], &[(0, 50), (50, 100)]),
            [(10, 0, 30), (11, 0, 20), (11, 1, 20)]
        );
    }

    /// Deep nesting, stairs of events that outlive each other, and both, each over every window: what is
    /// told grows with the sum of edges, not with events times windows.
    #[test]
    fn what_is_told_is_bounded_by_edges() {
        let (count, width) = (1_000i64, 1_000i64);
        let all = count * width;
        let nested: Vec<_> = (0..count).map(|at| (at, 2 * all - 2 * at)).collect();
        let stairs: Vec<_> = (0..count).map(|at| (at, 2 * all)).collect();
        let spread: Vec<_> = (0..count).map(|at| (at * width + 7, all)).collect();
        let comb: Vec<_> = (0..count)
            .map(|at| (at / 2 + at % 2 * all / 2, if at % 2 > 0 { 1 } else { all }))
            .collect();
        for mut events in [nested, stairs, spread, comb] {
            events.sort();
            let windows: Vec<_> = (0..count)
                .map(|at| (at * width, (at + 1) * width))
                .collect();
            let ((ts, dur), (start, end)) = (spans(&events), spans(&windows));
            let span = Spans {
                start: &start,
                end: &end,
            };
            let (mut told, mut sum) = (0, 0);
            sweep(Events { ts: &ts, dur: &dur }, span, span, |_, _, own| {
                told += 1;
                sum += own;
            });
            assert!(told <= 2 * ts.len() + 2 * start.len(), "{told}");
            assert_eq!(sum, all - ts[0], "every instant once");
        }
    }
}
