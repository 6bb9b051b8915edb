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
mod tests;
