//! Rows taken out of columns, put into them, and found: the loops under `columns.py`.
//!
//! A row that a column does not have is a panic: the caller then asks the reference, which says what is wrong.

/// The number of a row, as either type in which rows are kept.
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
