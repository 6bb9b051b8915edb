//! In which order rows of a file stand in a table, and where their cells go.
//!
//! The references are in `tb_plugin/trace/build/order.py`.

/// What rows are sorted by within a group, by row of the file: `ts` ascending, `dur` descending. The
/// second may be empty, and then does not count.
#[derive(Clone, Copy)]
pub struct Keys<'a> {
    pub ts: &'a [i64],
    pub dur: &'a [i64],
}

impl Keys<'_> {
    #[inline(always)]
    fn ts(&self, row: i32) -> i64 {
        self.ts[row as usize]
    }

    #[inline(always)]
    fn is_less(&self, left: i32, right: i32) -> bool {
        let (one, other) = (self.ts(left), self.ts(right));
        one < other || one == other && self.is_less_at_one_time(left, right)
    }

    #[cold]
    #[inline(never)]
    fn is_less_at_one_time(&self, left: i32, right: i32) -> bool {
        !self.dur.is_empty() && self.dur[left as usize] > self.dur[right as usize]
    }
}

/// Puts `rows` together by group, each group in the order of `rows`. `group` has a code of each entry
/// of `rows`, `first` becomes the first place of each group in `out`, and the number of rows behind
/// them.
pub fn gather(rows: &[i32], group: &[i32], first: &mut [i64], out: &mut [i32]) {
    first.fill(0);
    for &group in group {
        first[group as usize + 1] += 1;
    }
    for at in 1..first.len() {
        first[at] += first[at - 1];
    }
    let mut next: Vec<usize> = first.iter().map(|&at| at as usize).collect();
    for (&row, &group) in rows.iter().zip(group) {
        let at = &mut next[group as usize];
        out[*at] = row;
        *at += 1;
    }
}

/// Sorts each part of `rows` by `keys`; what is equal stays in its order. `bounds` are where the parts
/// begin and end.
pub fn sort_parts(rows: &mut [i32], bounds: &[i64], keys: Keys) {
    let mut room = Vec::new();
    for bounds in bounds.windows(2) {
        sort(
            &mut rows[bounds[0] as usize..bounds[1] as usize],
            keys,
            &mut room,
        );
    }
}

/// Merges parts that follow each other and are sorted, all into one.
pub fn merge_parts(rows: &mut [i32], bounds: &[i64], keys: Keys) {
    let mut room = Vec::new();
    let mut ends: Vec<usize> = bounds.iter().map(|&at| at as usize).collect();
    while ends.len() > 2 {
        for three in ends.windows(3).step_by(2) {
            merge(
                &mut rows[three[0]..three[2]],
                three[1] - three[0],
                keys,
                &mut room,
            );
        }
        let last = ends.len() - 1;
        let mut at = 0;
        ends.retain(|_| {
            at += 1;
            at % 2 == 1 || at == last + 1
        });
    }
}

/// The columns of a file that say what its events are.
#[derive(Clone, Copy)]
pub struct File<'a> {
    pub name: &'a [i32],
    pub category: &'a [i32],
    pub role: &'a [u8],
}

/// What a kind is known by: `table[index[name] + role]`.
#[derive(Clone, Copy)]
pub struct Kinds<'a> {
    pub index: &'a [i32],
    pub table: &'a [u8],
}

/// Columns of a table, which are filled; `seen` is 1 for every name that occurs.
pub struct Columns<'a> {
    pub name: &'a mut [i32],
    pub category: &'a mut [i32],
    pub kind: &'a mut [u8],
    pub seen: &'a mut [u8],
}

/// Fills `ts` and `dur` with those of rows of the file, counted from `start`. Writes to `tied` the
/// places of rows that begin and last as the one before, which is `before` for the first; how many.
pub fn fill_times(
    rows: &[i32],
    before: Option<i32>,
    start: i64,
    file: Keys,
    ts: &mut [i64],
    dur: &mut [i64],
    tied: &mut [i32],
) -> usize {
    let times = |row: i32| (file.ts[row as usize], file.dur[row as usize]);
    let mut last = before.map(times);
    let mut count = 0;
    for ((at, &row), (ts, dur)) in rows.iter().enumerate().zip(ts.iter_mut().zip(dur)) {
        let now = times(row);
        (*ts, *dur) = (now.0.wrapping_sub(start), now.1);
        if last == Some(now) {
            tied[count] = at as i32;
            count += 1;
        }
        last = Some(now);
    }
    count
}

/// Fills columns with what rows of the file are.
pub fn fill_names(rows: &[i32], file: File, kinds: Kinds, to: Columns) {
    let columns = to.name.iter_mut().zip(to.category).zip(to.kind);
    for (&row, ((name, category), kind)) in rows.iter().zip(columns) {
        let row = row as usize;
        let code = file.name[row];
        (*name, *category) = (code, file.category[row]);
        to.seen[code as usize] = 1;
        *kind = kinds.table[kinds.index[code as usize] as usize + usize::from(file.role[row])];
    }
}

/// Takes the cells of one table out of a column of the file: those whose `place` is below the size of
/// `out`. They are put there where the kind of the row is wanted. What is in another table, or in
/// none, is written to the front of `rest_row` and `rest_value`; how many.
pub fn spread_wanted<T: Copy>(
    cells: (&[i32], &[T]),
    place: &[i32],
    kind: &[u8],
    wanted: &[u8],
    out: &mut [T],
    rest: (&mut [i32], &mut [T]),
) -> usize {
    let mut count = 0;
    for (&row, &value) in cells.0.iter().zip(cells.1) {
        let at = place[row as usize] as usize;
        if let Some(to) = out.get_mut(at) {
            if wanted[usize::from(kind[at])] != 0 {
                *to = value;
            }
        } else {
            (rest.0[count], rest.1[count]) = (row, value);
            count += 1;
        }
    }
    count
}

/// Writes the rows of a wanted kind whose number is above 0, and those numbers; how many.
pub fn find_positive<T: Copy + PartialOrd + Default>(
    kind: &[u8],
    wanted: &[u8],
    numbers: &[T],
    row: &mut [i32],
    value: &mut [T],
) -> usize {
    let mut count = 0;
    let all = kind.iter().zip(numbers).enumerate();
    for (at, (_, &number)) in all.filter(|(_, (&kind, _))| wanted[usize::from(kind)] != 0) {
        if number > T::default() {
            (row[count], value[count]) = (at as i32, number);
            count += 1;
        }
    }
    count
}

/// So many rows are at least worth a run of their own.
const SHORT: usize = 24;

/// A stable merge sort of the runs that are there. Recorders write each kind of event nearly in order
/// of time, so there are few runs, and those that are far apart need no merging at all.
fn sort(rows: &mut [i32], keys: Keys, room: &mut Vec<i32>) {
    // Runs that are not merged yet: where each begins, and how deep its end lies in the tree of halves.
    let mut open: Vec<(usize, u32)> = Vec::new();
    let (mut begin, mut end) = (0, run_from(rows, 0, keys));
    while end < rows.len() {
        let next = run_from(rows, end, keys);
        let depth = depth_between(begin, end, next, rows.len());
        let mut start = begin;
        while matches!(open.last(), Some(&(_, other)) if other >= depth) {
            start = merge_last(rows, &mut open, start, end, keys, room);
        }
        open.push((start, depth));
        (begin, end) = (end, next);
    }
    while !open.is_empty() {
        begin = merge_last(rows, &mut open, begin, end, keys, room);
    }
}

/// Merges the last open run with the one from `start` to `end`; returns where it begins.
fn merge_last(
    rows: &mut [i32],
    open: &mut Vec<(usize, u32)>,
    start: usize,
    end: usize,
    keys: Keys,
    room: &mut Vec<i32>,
) -> usize {
    let low = open.pop().map_or(start, |(low, _)| low);
    merge(&mut rows[low..end], start - low, keys, room);
    low
}

/// Powersort: the border between two runs lies in the middle of a part of the whole, after so many
/// halvings. Borders that lie deeper are merged first.
fn depth_between(begin: usize, end: usize, next: usize, all: usize) -> u32 {
    let scale = (1 << 62) / all as u64;
    (((begin + end) as u64 * scale) ^ ((end + next) as u64 * scale)).leading_zeros()
}

/// Makes a run from `begin` on, and returns its end.
fn run_from(rows: &mut [i32], begin: usize, keys: Keys) -> usize {
    let (length, falls) = run_length(&rows[begin..], keys);
    let part = &mut rows[begin..];
    if falls {
        part[..length].reverse();
    }
    let wanted = SHORT.min(part.len());
    for at in length..wanted {
        let row = part[at];
        let place = part[..at].partition_point(|&other| !keys.is_less(row, other));
        part.copy_within(place..at, place + 1);
        part[place] = row;
    }
    begin + length.max(wanted)
}

/// How many rows are in order, or each before the one ahead of it, which the second value tells.
fn run_length(rows: &[i32], keys: Keys) -> (usize, bool) {
    if rows.len() < 2 {
        return (rows.len(), false);
    }
    let falls = keys.is_less(rows[1], rows[0]);
    let going = |pair: &[i32]| keys.is_less(pair[1], pair[0]) == falls;
    (
        1 + rows.windows(2).take_while(|pair| going(pair)).count(),
        falls,
    )
}

/// Merges the two runs `rows[..middle]` and `rows[middle..]`.
fn merge(rows: &mut [i32], middle: usize, keys: Keys, room: &mut Vec<i32>) {
    let (left, right) = rows.split_at(middle);
    let (Some(&last), Some(&head)) = (left.last(), right.first()) else {
        return;
    };
    let low = left.partition_point(|&row| !keys.is_less(head, row));
    let high = middle + right.partition_point(|&row| keys.is_less(row, last));
    let rows = &mut rows[low..high];
    let middle = middle - low;
    if middle == 0 || middle == rows.len() {
        return;
    }
    room.clear();
    if 2 * middle <= rows.len() {
        room.extend_from_slice(&rows[..middle]);
        merge_forward(rows, room, keys);
    } else {
        room.extend_from_slice(&rows[middle..]);
        merge_backward(rows, room, middle, keys);
    }
}

/// `left` was at the beginning of `rows`; the run behind it is there.
fn merge_forward(rows: &mut [i32], left: &[i32], keys: Keys) {
    let (mut to, mut from, mut at) = (0, left.len(), 0);
    while at < left.len() && from < rows.len() {
        let is_right = keys.is_less(rows[from], left[at]);
        rows[to] = if is_right { rows[from] } else { left[at] };
        from += usize::from(is_right);
        at += usize::from(!is_right);
        to += 1;
    }
    rows[to..to + left.len() - at].copy_from_slice(&left[at..]);
}

/// `right` was at the end of `rows`, behind `left` rows.
fn merge_backward(rows: &mut [i32], right: &[i32], mut left: usize, keys: Keys) {
    let (mut to, mut at) = (rows.len(), right.len());
    while at > 0 && left > 0 {
        let is_left = keys.is_less(right[at - 1], rows[left - 1]);
        to -= 1;
        rows[to] = if is_left {
            rows[left - 1]
        } else {
            right[at - 1]
        };
        left -= usize::from(is_left);
        at -= usize::from(!is_left);
    }
    rows[to - at..to].copy_from_slice(&right[..at]);
}

/// The places of some rows of the file, ascending: `place` has one of each row of the file, below
/// `64 * seen.len()`, negative where it has none, and no two are equal. `rank` becomes for each of `rows` its
/// index among the sorted places, negative without a place. Returns how many places there are,
/// and whether they were in order and all there, so that the rank of each is its own index.
pub fn rank_places(
    rows: &[i32],
    place: &[i32],
    seen: &mut [u64],
    before: &mut [i32],
    sorted: &mut [i32],
    rank: &mut [i32],
) -> (usize, bool) {
    let (mut is_plain, mut last, mut most) = (true, -1, -1);
    for (&row, rank) in rows.iter().zip(rank.iter_mut()) {
        let place = place[row as usize];
        is_plain &= place > last;
        last = place;
        most = most.max(place);
        *rank = place;
    }
    if most < 0 {
        return (0, rows.is_empty());
    }
    if is_plain {
        sorted[..rows.len()].copy_from_slice(rank);
        return (rows.len(), true);
    }
    // Neighbours are mostly near each other: a word is put together before it is written.
    let (mut at, mut bits) = (0, 0);
    for &place in rank.iter() {
        if let Ok(place) = usize::try_from(place) {
            if at != place / 64 {
                seen[at] |= bits;
                (at, bits) = (place / 64, 0);
            }
            bits |= 1 << (place % 64);
        }
    }
    seen[at] |= bits;
    let mut count = 0;
    for (word, before) in seen.iter().zip(before.iter_mut()) {
        *before = count;
        count += word.count_ones() as i32;
    }
    for rank in rank.iter_mut() {
        if let Ok(place) = usize::try_from(*rank) {
            let below = seen[place / 64] & ((1 << (place % 64)) - 1);
            *rank = before[place / 64] + below.count_ones() as i32;
            sorted[*rank as usize] = place as i32;
        }
    }
    (count as usize, false)
}

/// `out[rank[i]] = values[i]` where the rank is not negative.
pub fn spread<T: Copy>(values: &[T], rank: &[i32], out: &mut [T]) {
    for (value, &rank) in values.iter().zip(rank) {
        if let Some(to) = out.get_mut(rank as usize) {
            *to = *value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look drawn by lot, the same in every run.
    fn drawn(count: usize, below: u64) -> Vec<i64> {
        let mut state = 7u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            ((state >> 33) % below) as i64
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn any_order_is_sorted_and_what_is_equal_stays() {
        for count in [0, 1, 2, 23, 24, 25, 100, 3000] {
            for (below, step) in [(3, 0), (50, 1), (1 << 30, 0), (9, 100)] {
                let ts: Vec<i64> = drawn(count, below)
                    .iter()
                    .enumerate()
                    .map(|(at, ts)| ts + step * (at % 500) as i64)
                    .collect();
                let dur = drawn(count, 3);
                let rows: Vec<i32> = (0..count as i32).collect();
                let group: Vec<i32> = drawn(count, 3).iter().map(|&at| at as i32).collect();
                let key = |row: i32| {
                    let at = row as usize;
                    (group[at], ts[at], -dur[at])
                };
                let mut expected = rows.clone();
                expected.sort_by_key(|&row| key(row));
                let (mut out, mut first) = (rows.clone(), [0; 4]);
                let keys = Keys { ts: &ts, dur: &dur };
                gather(&rows, &group, &mut first, &mut out);
                for pieces in [1, 2, 5, 6] {
                    let mut found = out.clone();
                    for bounds in first.windows(2) {
                        let length = bounds[1] - bounds[0];
                        let ends: Vec<i64> = (0..=pieces)
                            .map(|at| bounds[0] + at * length / pieces)
                            .collect();
                        sort_parts(&mut found, &ends, keys);
                        merge_parts(&mut found, &ends, keys);
                    }
                    assert_eq!(found, expected);
                }
                assert_eq!(first[3], count as i64);
            }
        }
    }

    #[test]
    fn a_table_is_filled_from_rows_of_the_file() {
        let times = Keys {
            ts: &[50, 40, 40, 60],
            dur: &[1, 2, 2, 3],
        };
        let (mut ts, mut dur, mut tied) = ([0; 3], [0; 3], [0; 3]);
        let rows = [1, 2, 0];
        assert_eq!(
            fill_times(&rows, None, 40, times, &mut ts, &mut dur, &mut tied),
            1
        );
        assert_eq!((ts, dur, tied[0]), ([0, 0, 10], [2, 2, 1], 1));
        let file = File {
            name: &[0, 2, 1, 0],
            category: &[5, 6, 7, 8],
            role: &[1, 0, 1, 0],
        };
        let kinds = Kinds {
            index: &[0, 2, 0],
            table: &[10, 11, 12, 13],
        };
        let (mut name, mut category, mut kind, mut seen) = ([0; 3], [0; 3], [0; 3], [0; 3]);
        let to = Columns {
            name: &mut name,
            category: &mut category,
            kind: &mut kind,
            seen: &mut seen,
        };
        fill_names(&rows, file, kinds, to);
        assert_eq!((name, category), ([2, 1, 0], [6, 7, 5]));
        assert_eq!((kind, seen), ([10, 13, 11], [1, 1, 1]));
    }

    #[test]
    fn numbers_of_one_table_are_taken_out() {
        let (place, kind, wanted) = ([1, -1, 7, 0, 2], [0u8, 1, 0], [1, 0]);
        let (mut out, mut row, mut value) = ([-1; 3], [0; 5], [0i32; 5]);
        let cells = (&[0, 1, 2, 3, 4][..], &[10, 11, 12, 13, -3][..]);
        let rest = (&mut row[..], &mut value[..]);
        assert_eq!(
            spread_wanted(cells, &place, &kind, &wanted, &mut out, rest),
            2
        );
        assert_eq!(
            (out, &row[..2], &value[..2]),
            ([13, -1, -3], &[1, 2][..], &[11, 12][..])
        );
        assert_eq!(find_positive(&kind, &wanted, &out, &mut row, &mut value), 1);
        assert_eq!((row[0], value[0]), (0, 13));
    }

    #[test]
    fn cells_are_ranked_by_their_places() {
        let (mut seen, mut before) = ([0; 4], [0; 4]);
        let (mut sorted, mut rank) = ([9; 4], [9; 4]);
        let place = [200, 3, -1, 0, 130];
        let found = rank_places(
            &[0, 1, 2, 4],
            &place,
            &mut seen,
            &mut before,
            &mut sorted,
            &mut rank,
        );
        assert_eq!(found, (3, false));
        assert_eq!((&sorted[..3], rank), (&[3, 130, 200][..], [2, 0, -1, 1]));
        let mut out = [0u8; 3];
        spread(&[20, 0, 7, 13], &rank, &mut out);
        assert_eq!(out, [0, 13, 20]);
        assert_eq!(
            rank_places(
                &[3, 1],
                &place,
                &mut seen,
                &mut before,
                &mut sorted,
                &mut rank[..2]
            ),
            (2, true)
        );
        assert_eq!(sorted[..2], [0, 3]);
    }
}
