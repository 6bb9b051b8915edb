//! Which event of a thread held each instant of some stretches of time: of those open the last begun.
//!
//! The reference is `tb_plugin/analysis/idle/holders.py`.

use std::ops::Range;

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

/// Writes the entries that there is room for, with events as rows from `low` on; returns how many they
/// are: no more than there are edges. `windows` hold all `pieces`. O(events + pieces + windows), and a sort
/// of what few events hold in windows before their last.
pub fn hold(events: Events, pieces: Spans, windows: Spans, low: i32, mut to: Entries) -> usize {
    // Of an event that held something, its last window and what it held there; its place among those, from 1 on.
    let count = events.ts.len();
    let (mut place, mut last) = (vec![0u32; count], Vec::new());
    let mut before: Vec<(usize, i32, i64)> = Vec::new();
    sweep(events, pieces, windows, |event, window, length| {
        let window = window as i32;
        if place[event] == 0 {
            last.push((window, length));
            place[event] = last.len() as u32;
            return;
        }
        let (of, held) = &mut last[place[event] as usize - 1];
        if *of == window {
            *held += length;
        } else {
            before.push((event, *of, *held));
            (*of, *held) = (window, length);
        }
    });
    before.sort_by_key(|&(event, _, _)| event); // stable: windows stay in their order
    let (mut made, mut from) = (0, 0);
    for &(event, window, held) in &before {
        made = to.put_all(made, low, from..event, &place, &last);
        from = event;
        to.put(made, event as i32 + low, window, held);
        made += 1;
    }
    to.put_all(made, low, from..count, &place, &last)
}

impl Entries<'_> {
    fn put(&mut self, at: usize, row: i32, window: i32, own: i64) {
        if at < self.event.len() {
            self.event[at] = row;
            self.window[at] = window;
            self.own[at] = own;
        }
    }

    /// Writes what some events held in their last window, if anything; how many there are then.
    fn put_all(
        &mut self,
        mut made: usize,
        low: i32,
        events: Range<usize>,
        place: &[u32],
        last: &[(i32, i64)],
    ) -> usize {
        for event in events {
            if place[event] > 0 {
                let (window, held) = last[place[event] as usize - 1];
                self.put(made, event as i32 + low, window, held);
                made += 1;
            }
        }
        made
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
