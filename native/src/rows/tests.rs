//! Tests of rows.

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
