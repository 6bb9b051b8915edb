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

/// `column[rows[i]] = values[i]`; of several values of one row the last one stays.
pub fn put<T: Copy, R: Row>(column: &mut [T], rows: &[R], values: &[T]) {
    for (row, value) in rows.iter().zip(values) {
        column[row.index()] = *value;
    }
}

/// Writes where `mask` holds, ascending, as far as `out` has room; how often it holds.
pub fn find(mask: &[u8], out: &mut [i32]) -> usize {
    const WORD: usize = 8;
    let mut count = 0;
    for (word, bytes) in mask.chunks(WORD).enumerate() {
        if bytes == [0; WORD] {
            continue;
        }
        for (at, &byte) in bytes.iter().enumerate() {
            if byte != 0 {
                if let Some(to) = out.get_mut(count) {
                    *to = (word * WORD + at) as i32;
                }
                count += 1;
            }
        }
    }
    count
}

/// Where each of some rows is in an ascending column, −1 where it is not. Quick for rows that ascend.
pub fn places<R: Row>(column: &[i32], rows: &[R], out: &mut [i32]) {
    let mut at = 0; // all before it are below the row before
    for (to, row) in out.iter_mut().zip(rows) {
        let row = row.index();
        if at > 0 && column[at - 1] as usize >= row {
            at = 0;
        }
        let (mut low, mut step) = (at, 1);
        while low + step <= column.len() && (column[low + step - 1] as usize) < row {
            low += step;
            step *= 2;
        }
        let high = (low + step).min(column.len());
        at = low + column[low..high].partition_point(|&value| (value as usize) < row);
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
