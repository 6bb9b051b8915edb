//! Rows taken out of columns, put into them, and found: the loops under `columns.py`.
//!
//! A row that a column does not have is a panic: the caller then asks the reference, which says what is wrong.

use std::collections::HashMap;

/// The number of a row, as each type in which rows, or codes of few kinds, are kept.
pub trait Row: Copy {
    /// Beyond the end of any column where it is negative.
    fn index(self) -> usize;
}

impl Row for i32 {
    #[inline(always)]
    fn index(self) -> usize {
        self as usize
    }
}

impl Row for u8 {
    #[inline(always)]
    fn index(self) -> usize {
        usize::from(self)
    }
}

impl Row for i64 {
    #[inline(always)]
    fn index(self) -> usize {
        self as usize
    }
}

/// `out[i] = column[rows[i]]`.
pub fn take<T: Copy, R: Row>(column: &[T], rows: &[R], out: &mut [T]) {
    for (to, row) in out.iter_mut().zip(rows) {
        *to = column[row.index()];
    }
}

/// The bits of a number with a sign.
pub trait Whole: Copy {
    type Signed: Copy + Ord + Into<i64>;
    fn signed(self) -> Self::Signed;
}

impl Whole for u8 {
    type Signed = i8;
    #[inline(always)]
    fn signed(self) -> i8 {
        self as i8
    }
}

impl Whole for u32 {
    type Signed = i32;
    #[inline(always)]
    fn signed(self) -> i32 {
        self as i32
    }
}

impl Whole for u64 {
    type Signed = i64;
    #[inline(always)]
    fn signed(self) -> i64 {
        self as i64
    }
}

/// Rows that are looked at together: mostly a mask holds for all of them, and then needs no look at each.
const RUN: usize = 64;

/// A part of a column with its part of a mask; the mask is None where it holds everywhere.
fn parts<'a, T>(
    column: &'a [T],
    mask: &'a [u8],
) -> impl Iterator<Item = (&'a [T], Option<&'a [u8]>)> {
    column
        .chunks(RUN)
        .zip(mask.chunks(RUN))
        .map(|(values, marks)| {
            // Without a way out in between, which would keep the loop from being done many rows at a time.
            let all = marks.iter().fold(true, |all, mark| all & (*mark != 0));
            (values, (!all).then_some(marks))
        })
}

/// In how many bytes numbers of a range have room, with a sign or without; at most in `most`.
pub fn bytes_for(low: i64, high: i64, most: usize) -> usize {
    let has_room = |bytes: u32| {
        let whole = 1i64 << (8 * bytes);
        (low >= 0 && high < whole) || (low >= -whole / 2 && high < whole / 2)
    };
    let least = [1, 2, 4].into_iter().find(|&bytes| has_room(bytes));
    least.map_or(most, |bytes| most.min(bytes as usize))
}

/// The least and the greatest value where `mask` holds; None where it nowhere does.
fn range<T: Whole>(column: &[T], mask: &[u8]) -> Option<(i64, i64)> {
    let first = mask.iter().position(|mark| *mark != 0)?;
    let first = column[first].signed();
    let wider = |(low, high): (T::Signed, T::Signed), value: &T| {
        let value = value.signed();
        (low.min(value), high.max(value))
    };
    let (low, high) =
        parts(column, mask).fold((first, first), |ends, (values, marks)| match marks {
            None => values.iter().fold(ends, wider),
            Some(marks) => {
                let kept = values.iter().zip(marks).filter(|(_, mark)| **mark != 0);
                kept.fold(ends, |ends, (value, _)| wider(ends, value))
            }
        });
    Some((low.into(), high.into()))
}

/// The values where `mask` holds, at the start of `out`, each in as few bytes as all of them need; how
/// many are not the least. `told`: the least, the greatest, and the bytes of each. Where all are equal
/// nothing is written.
///
/// To read the column twice is faster than to widen what was written too narrow.
pub fn pack<T: Whole>(column: &[T], mask: &[u8], out: &mut [u8], told: &mut [i64]) -> usize {
    assert_eq!(column.len(), mask.len());
    let (low, high) = range(column, mask).unwrap_or((0, 0));
    let bytes = bytes_for(low, high, std::mem::size_of::<T>());
    told.copy_from_slice(&[low, high, bytes as i64]);
    if low == high {
        return 0;
    }
    match bytes {
        1 => cut(column, mask, out, low as u8, |one| one as u8),
        2 => cut(column, mask, out, (low as u16).to_le_bytes(), |one| {
            (one as u16).to_le_bytes()
        }),
        4 => cut(column, mask, out, (low as u32).to_le_bytes(), |one| {
            (one as u32).to_le_bytes()
        }),
        _ => cut(column, mask, out, low.to_le_bytes(), i64::to_le_bytes),
    }
}

/// Numbers in their lowest bytes, as `few` has them; how many are not `usual`.
fn cut<T: Whole, C: Lowest>(
    column: &[T],
    mask: &[u8],
    out: &mut [u8],
    usual: C,
    few: impl Fn(i64) -> C,
) -> usize {
    let width = std::mem::size_of::<C>();
    let put = |(to, value): (&mut [u8], &T)| {
        let one = few(value.signed().into());
        one.write(to);
        usize::from(one != usual)
    };
    let (mut others, mut rest) = (0, out);
    for (values, marks) in parts(column, mask) {
        let is_kept = |mark: &u8| *mark != 0;
        let count = marks.map_or(values.len(), |marks| {
            marks.iter().filter(|mark| is_kept(mark)).count()
        });
        let (to, behind) = std::mem::take(&mut rest).split_at_mut(count * width);
        rest = behind;
        let to = to.chunks_exact_mut(width);
        others += match marks {
            None => to.zip(values).map(put).sum::<usize>(),
            Some(marks) => {
                let kept = values.iter().zip(marks).filter(|(_, mark)| is_kept(mark));
                to.zip(kept.map(|(value, _)| value)).map(put).sum()
            }
        };
    }
    others
}

/// The lowest bytes of a number.
trait Lowest: Copy + PartialEq {
    fn write(self, to: &mut [u8]);
}

impl Lowest for u8 {
    #[inline(always)]
    fn write(self, to: &mut [u8]) {
        to[0] = self;
    }
}

impl<const N: usize> Lowest for [u8; N] {
    #[inline(always)]
    fn write(self, to: &mut [u8]) {
        to.copy_from_slice(&self);
    }
}

/// `column[rows[i]] = values[i]`; of several values of one row the last one stays.
pub fn put<T: Copy, R: Row>(column: &mut [T], rows: &[R], values: &[T]) {
    for (row, value) in rows.iter().zip(values) {
        column[row.index()] = *value;
    }
}

/// Writes where `mask` holds, ascending, as far as `out` has room; how often it holds.
pub fn find(mask: &[u8], out: &mut [i32]) -> usize {
    let mut count = 0;
    for (word, marks) in mask.chunks(WORD).enumerate() {
        if marks == [0; WORD] {
            continue;
        }
        let row = (word * WORD) as i32;
        if let Some(room) = out.get_mut(count..count + WORD) {
            // Each is written, and the next one over it: whether the mask holds is hard to foresee.
            let mut some = 0;
            for (row, &mark) in (row..).zip(marks) {
                room[some] = row;
                some += usize::from(mark != 0);
            }
            count += some;
            continue;
        }
        for (row, _) in (row..).zip(marks).filter(|(_, mark)| **mark != 0) {
            if let Some(to) = out.get_mut(count) {
                *to = row;
            }
            count += 1;
        }
    }
    count
}

/// Rows of which one comparison tells that a mask holds for none of them.
const WORD: usize = 8;

/// Where `mask` holds, ascending. Eight rows of which none does cost one comparison.
pub fn marked(mask: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let whole = mask.chunks(WORD).enumerate();
    whole
        .filter(|(_, bytes)| *bytes != [0; WORD])
        .flat_map(|(word, bytes)| {
            let rows = (word * WORD..).zip(bytes);
            rows.filter(|(_, byte)| **byte != 0).map(|(row, _)| row)
        })
}

/// Places of an ascending column that are looked at one by one.
const NEAR: usize = 4;

/// Where each of some rows is in an ascending column, −1 where it is not. Quick where each row is near the one before.
pub fn places<R: Row>(column: &[i32], rows: &[R], out: &mut [i32]) {
    let mut at = 0; // all before it are below the row before
    for (to, row) in out.iter_mut().zip(rows) {
        let row = row.index();
        let is_below = |value: &i32| (*value as usize) < row;
        let (low, high) = if at > 0 && !is_below(&column[at - 1]) {
            // Backwards in steps that widen.
            let (mut high, mut step) = (at - 1, 1);
            while high >= step && !is_below(&column[high - step]) {
                high -= step;
                step *= 2;
            }
            (high.saturating_sub(step), high)
        } else {
            // Mostly it is one of the next few; behind them the steps widen.
            let near = column[at..].iter().take(NEAR);
            at += near.take_while(|value| is_below(value)).count();
            let (mut low, mut step) = (at, 1);
            while low + step <= column.len() && is_below(&column[low + step - 1]) {
                low += step;
                step *= 2;
            }
            (low, (low + step).min(column.len()))
        };
        at = low + column[low..high].partition_point(is_below);
        let found = at < column.len() && column[at] as usize == row;
        *to = if found { at as i32 } else { -1 };
    }
}

/// Writes where `is_wanted[code]` holds, ascending, into `out`, which is as long as `codes`; how often.
pub fn find_codes(codes: &[i32], is_wanted: &[u8], out: &mut [i32]) -> usize {
    let mut count = 0;
    for (row, code) in codes.iter().enumerate() {
        out[count] = row as i32;
        count += usize::from(is_wanted[code.index()] != 0);
    }
    count
}

/// Puts each row where the slot of its code says, which moves on by `step` of that slot: 1, or 0 for
/// the slot of rows that nobody asked for.
pub fn rows_by_code(
    codes: &[u8],
    slot: &[u8; 256],
    next: &mut [i64; 256],
    step: &[i64; 256],
    out: &mut [i32],
) {
    for (row, &code) in codes.iter().enumerate() {
        let slot = usize::from(slot[usize::from(code)]);
        out[next[slot] as usize] = row as i32;
        next[slot] += step[slot];
    }
}

/// Adds the flags of each mark to those of its code.
pub fn flags_by_code(codes: &[i32], marks: &[u8], flags: &[u8; 256], out: &mut [u8]) {
    for (code, &mark) in codes.iter().zip(marks) {
        out[code.index()] |= flags[usize::from(mark)];
    }
}

/// `count[code]` becomes how often a code occurs.
pub fn count_codes(codes: &[u8], count: &mut [i64; 256]) {
    // Neighbours are mostly equal, and a sum that was just written is not read at once.
    let mut parts = [[0; 256]; 4];
    let chunks = codes.chunks_exact(4);
    for &code in chunks.remainder() {
        parts[0][usize::from(code)] += 1;
    }
    for chunk in chunks {
        for (part, &code) in parts.iter_mut().zip(chunk) {
            part[usize::from(code)] += 1;
        }
    }
    for (code, count) in count.iter_mut().enumerate() {
        *count = parts.iter().map(|part| part[code]).sum();
    }
}

/// Adds 1 to `count[index[code] + mark]` for each row.
pub fn tally(codes: &[i32], marks: &[u8], index: &[i32], count: &mut [i64]) {
    for (code, &mark) in codes.iter().zip(marks) {
        count[index[code.index()] as usize + usize::from(mark)] += 1;
    }
}

/// `out[i] = table[index[code] + mark]`.
pub fn combine(codes: &[i32], marks: &[u8], index: &[i32], table: &[u8], out: &mut [u8]) {
    for ((code, &mark), to) in codes.iter().zip(marks).zip(out) {
        *to = table[index[code.index()] as usize + usize::from(mark)];
    }
}

/// The least and the most value at some rows; there is one.
pub fn extent(column: &[i64], rows: &[i32]) -> (i64, i64) {
    let values = rows.iter().map(|row| column[row.index()]);
    values.fold((i64::MAX, i64::MIN), |(low, high), value| {
        (low.min(value), high.max(value))
    })
}

/// Whether all values at some rows are multiples of 1000.
pub fn are_thousands(column: &[i64], rows: &[i32]) -> bool {
    rows.iter().all(|row| column[row.index()] % 1000 == 0)
}

/// Numbers the different pairs of values at some rows, in the order in which they occur; `number`
/// becomes that of each row. None where there is no room for them.
pub fn pairs(
    rows: &[i32],
    first: &[i32],
    second: &[i32],
    number: &mut [i32],
    found: &mut [i64],
) -> Option<usize> {
    let mut known: HashMap<(i32, i32), i32> = HashMap::new();
    let mut last = (0, 0, -1);
    for (row, number) in rows.iter().zip(number) {
        let (one, other) = (first[row.index()], second[row.index()]);
        if (one, other) != (last.0, last.1) || last.2 < 0 {
            let next = known.len() as i32;
            let at = *known.entry((one, other)).or_insert(next);
            if at == next {
                *found.get_mut(known.len() - 1)? = i64::from(one) << 32 | i64::from(other);
            }
            last = (one, other, at);
        }
        *number = last.2;
    }
    Some(known.len())
}

/// `column[rows[i]] = first + i`.
pub fn number(column: &mut [i32], rows: &[i32], first: i32) {
    for (row, value) in rows.iter().zip(first..) {
        column[row.index()] = value;
    }
}

/// `out[code]` becomes how often a code occurs, up to twice.
pub fn count_to_two(codes: &[i32], out: &mut [u8]) {
    for code in codes {
        let to = &mut out[code.index()];
        *to = (*to + 1).min(2);
    }
}

/// `out[code] = 1` for every code that occurs.
pub fn mark(codes: &[i32], out: &mut [u8]) {
    for code in codes {
        out[code.index()] = 1;
    }
}

/// `out[i]` = 1 where `column[i]` is one of a few values, else 0.
pub fn equal_any<T: Copy + PartialEq>(column: &[T], values: &[T], out: &mut [u8]) {
    const PIECE: usize = 4096;
    for (piece, hit) in column.chunks(PIECE).zip(out.chunks_mut(PIECE)) {
        hit.fill(0);
        for &value in values {
            for (to, &found) in hit.iter_mut().zip(piece) {
                *to |= u8::from(found == value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_is_taken() {
        let rows: Vec<i32> = vec![3, 0, 2, 0];
        let mut column = [9u32; 4];
        put(&mut column, &rows, &[30, 1, 20, 2]);
        assert_eq!(column, [2, 9, 20, 30]);
        let mut out = [0u32; 4];
        take(&column, &rows, &mut out);
        assert_eq!(out, [30, 2, 20, 2]);
        take(&column, &[1i64, 1], &mut out);
        assert_eq!(out[..2], [9, 9]);
    }

    /// What `pack` says, and the numbers it wrote.
    fn packed<T: Whole>(column: &[T], mask: &[u8]) -> (usize, Vec<i64>, Vec<i64>) {
        let kept = mask.iter().filter(|mark| **mark != 0).count();
        let (mut out, mut told) = (vec![9; kept * std::mem::size_of::<T>()], [0; 3]);
        let others = pack(column, mask, &mut out, &mut told);
        let bytes = told[2] as usize;
        let number = |one: &[u8]| {
            let has_sign = told[0] < 0 && one[bytes - 1] >= 0x80;
            let mut full = if has_sign { [0xFF; 8] } else { [0; 8] };
            full[..bytes].copy_from_slice(one);
            i64::from_le_bytes(full)
        };
        let numbers = out[..kept * bytes].chunks_exact(bytes).map(number);
        (others, told.to_vec(), numbers.collect())
    }

    #[test]
    fn packed_numbers_are_those_that_the_mask_keeps() {
        let column = [300i64, -1, 0, 7].map(|one| one as u64);
        assert_eq!(
            packed(&column, &[0, 1, 0, 1]),
            (1, vec![-1, 7, 1], vec![-1, 7])
        );
        assert_eq!(packed(&column, &[0; 4]), (0, vec![0, 0, 1], vec![]));
        assert_eq!(
            packed(&[5u32, 300], &[1, 1]),
            (1, vec![5, 300, 2], vec![5, 300])
        );
        assert_eq!(
            packed(&[200u8, 3], &[1, 1]),
            (1, vec![-56, 3, 1], vec![-56, 3])
        );
        // Nothing is written where all are equal.
        assert_eq!(packed(&[300u32, 4], &[1, 0]).1, [300, 300, 2]);
    }

    #[test]
    fn parts_of_a_mask_with_gaps_are_as_others() {
        let column: Vec<u64> = (0..500).map(|at| (at * 7919) % 1000).collect();
        for gap in [1, 2, 63, 64, 65, 100, 501] {
            let mask: Vec<u8> = (0..500).map(|at| u8::from(at % gap != gap / 2)).collect();
            let kept: Vec<i64> = (0..500)
                .filter(|&at| mask[at] != 0)
                .map(|at| column[at] as i64)
                .collect();
            let (others, told, found) = packed(&column, &mask);
            assert_eq!(found, kept);
            assert_eq!(others, kept.iter().filter(|&&one| one != told[0]).count());
        }
    }

    #[test]
    fn what_is_written_is_widened_where_more_room_is_needed() {
        let steps: [&[i64]; 5] = [
            &[1, 200],
            &[-3, 200],
            &[70_000, -3],
            &[1 << 40, -1],
            &[-1, 5],
        ];
        let column: Vec<i64> = steps.iter().flat_map(|two| two.repeat(RUN)).collect();
        for parts in 1..=steps.len() {
            let kept = 2 * RUN * parts;
            let mask: Vec<u8> = (0..column.len()).map(|at| u8::from(at < kept)).collect();
            let bits: Vec<u64> = column.iter().map(|&one| one as u64).collect();
            let (others, told, found) = packed(&bits, &mask);
            assert_eq!(found, column[..kept]);
            assert_eq!(told[2], [1, 2, 4, 8, 8][parts - 1]);
            assert_eq!(others, found.iter().filter(|&&one| one != told[0]).count());
        }
    }

    #[test]
    #[should_panic]
    fn a_mask_is_as_long_as_its_column() {
        packed(&[1u8, 2], &[1]);
    }

    #[test]
    fn numbers_take_as_few_bytes_as_their_range_allows() {
        for (low, high, bytes) in [
            (0, 255, 1),
            (-1, 127, 1),
            (-1, 128, 2),
            (0, 65_535, 2),
            (-1, 65_535, 4),
            (0, (1 << 32) - 1, 4),
            (-1, 1 << 31, 8),
            (0, 1 << 32, 8),
            (i64::MAX, i64::MIN, 1),
        ] {
            assert_eq!(bytes_for(low, high, 8), bytes, "{low} {high}");
        }
        assert_eq!(bytes_for(-1, 70_000, 4), 4);
        assert_eq!(bytes_for(0, 300, 1), 1);
    }

    #[test]
    #[should_panic]
    fn there_is_no_row_before_the_first() {
        take(&[1u8, 2], &[-1i32], &mut [0u8]);
    }

    #[test]
    fn found_where_the_mask_holds() {
        for holds in [
            vec![],
            vec![0],
            vec![7, 8],
            vec![0, 15, 16, 17],
            (0..21).collect(),
        ] {
            let mut mask = [0u8; 21];
            holds.iter().for_each(|&at: &i32| mask[at as usize] = 1);
            let mut out = vec![-1; holds.len()];
            assert_eq!(find(&mask, &mut out), holds.len());
            assert_eq!(out, holds);
        }
        assert_eq!(find(&[1, 1], &mut []), 2);
    }

    #[test]
    fn rows_have_their_places() {
        let column: Vec<i32> = (0..200).map(|at| at * 3).collect();
        for rows in [vec![0i64, 3, 4, 300, 597, 598, 9], vec![-1, 600, 0], vec![]] {
            let mut out = vec![7; rows.len()];
            places(&column, &rows, &mut out);
            let expected: Vec<i32> = rows
                .iter()
                .map(|row| column.iter().position(|&at| i64::from(at) == *row))
                .map(|at| at.map_or(-1, |at| at as i32))
                .collect();
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn rows_of_each_code() {
        let codes = [3u8, 0, 3, 9, 0, 3];
        let mut counts = [0; 256];
        count_codes(&codes, &mut counts);
        assert_eq!((counts[3], counts[0], counts[9], counts[1]), (3, 2, 1, 0));
        let (mut next, mut step, mut slot) = ([0; 256], [1; 256], [9; 256]);
        (slot[0], slot[9], next[9], step[9]) = (0, 0, 3, 0);
        let mut out = [-1; 4];
        rows_by_code(&codes, &slot, &mut next, &step, &mut out);
        assert_eq!(out[..3], [1, 3, 4]);
        let (mut flags, mut of) = ([0; 256], [0; 2]);
        (flags[0], flags[3]) = (1, 2);
        flags_by_code(&[0, 0, 0, 1, 1, 1], &codes, &flags, &mut of);
        assert_eq!(of, [3, 3]);
        let mut found = [0; 4];
        assert_eq!(find_codes(&[0, 1, 1, 0], &[0, 1], &mut found), 2);
        assert_eq!(found[..2], [1, 2]);
    }

    #[test]
    fn two_columns_are_one_kind() {
        let (codes, marks, index) = ([1, 0, 1], [0u8, 1, 1], [0, 2]);
        let mut counts = [0; 4];
        tally(&codes, &marks, &index, &mut counts);
        assert_eq!(counts, [0, 1, 1, 1]);
        let mut out = [0; 3];
        combine(&codes, &marks, &index, &[5, 6, 7, 8], &mut out);
        assert_eq!(out, [7, 6, 8]);
        let (mut number, mut found) = ([0; 3], [0; 2]);
        let first = [4, 9, 4, 9];
        assert_eq!(
            pairs(&[0, 1, 2], &first, &first, &mut number, &mut found),
            Some(2)
        );
        assert_eq!((number, found), ([0, 1, 0], [4 << 32 | 4, 9 << 32 | 9]));
        let row = [0, 1];
        assert_eq!(pairs(&row, &first, &first, &mut number, &mut []), None);
    }

    #[test]
    fn what_is_said_of_some_rows() {
        assert_eq!(extent(&[5, 1, 9, 7], &[0, 3]), (5, 7));
        assert!(are_thousands(&[5000, 1, -3000], &[0, 2]));
        assert!(!are_thousands(&[5000, 1, -3000], &[0, 1]));
        let mut column = [-1; 4];
        number(&mut column, &[2, 0], 5);
        assert_eq!(column, [6, -1, 5, -1]);
        let mut twice = [0; 3];
        count_to_two(&[0, 2, 0, 0], &mut twice);
        assert_eq!(twice, [2, 0, 1]);
    }

    #[test]
    fn codes_are_marked_and_compared() {
        let mut seen = [0u8; 4];
        mark(&[2, 0, 2], &mut seen);
        assert_eq!(seen, [1, 0, 1, 0]);
        let column: Vec<i8> = (0..5000).map(|at| (at % 7) as i8 - 3).collect();
        let mut hit = vec![9u8; column.len()];
        equal_any(&column, &[-3, 2], &mut hit);
        assert!(column
            .iter()
            .zip(&hit)
            .all(|(&value, &hit)| (hit == 1) == (value == -3 || value == 2)));
    }
}
