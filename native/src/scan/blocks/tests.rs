//! Tests of blocks of events.

use super::super::bytes::Key;
use super::super::columns::{Ints, Values};
use super::super::keys::Widths;
use super::*;

const WIDTHS: Widths = Widths {
    ints: 2,
    floats: 1,
    texts: 3,
};

fn scanner() -> Scanner {
    let table = b"1\tExternal id\n2\tblocks per SM\n4\tInput Dims\n";
    Scanner::new(table, WIDTHS, Key(9)).unwrap()
}

fn text(events: impl Iterator<Item = String>) -> String {
    events.collect::<Vec<_>>().join(", ") + "]"
}

fn event(number: usize) -> String {
    format!(
        r#"{{"ph": "X", "name": "op {}", "ts": {number}, "args": {{"Input Dims": [{}, 2], "External id": {number}}}}}"#,
        number % 13,
        number % 7,
    )
}

fn limits(data: &str, threads: usize) -> Limits {
    Limits {
        block_bytes: 200,
        max_bytes: 1000,
        stop: data.len(),
        threads,
    }
}

/// In pieces of so many bytes.
fn pieces(data: &str, bytes: usize) -> Pieces<'_> {
    Pieces::new(data.as_bytes().chunks(bytes).collect())
}

/// The columns and texts of a scanner.
fn all(scanner: &mut Scanner) -> Vec<String> {
    let texts = (0..scanner.texts.len() as u32)
        .map(|code| String::from_utf8_lossy(scanner.texts.get(code)).into_owned());
    let mut all: Vec<String> = texts.collect();
    let dense = &scanner.columns.dense;
    all.push(format!("{:?} {:?} {:?}", dense.phase, dense.name, dense.ts));
    for sparse in &scanner.columns.sparse {
        all.push(match &sparse.value {
            Values::Int(Ints::Narrow(values)) => format!("{:?} {values:?}", sparse.row),
            Values::Int(Ints::Wide(values)) => format!("{:?} {values:?}", sparse.row),
            Values::Float(values) => format!("{:?} {values:?}", sparse.row),
            Values::Text(values) => format!("{:?} {values:?}", sparse.row),
        });
    }
    all
}

#[test]
fn every_number_of_threads_reads_the_same() {
    let odd = [
        r#"{"name": "first key", "ph": "i"}"#,
        r#"{"ph": "i", "name": "}, {\"ph\": \"i\"}, {"}"#,
        r#"{"ph": "i", "args": {"list": [1, {"ph": "i"}, {"ph": 1}], "External id": 9999999999}}"#,
    ];
    for every in [3, 50, 1000] {
        let data = text((0..300).map(|number| match number % every {
            2 => odd[number / every % odd.len()].to_string(),
            _ => event(number),
        }));
        let mut alone = scanner();
        let expected = read(
            &mut alone,
            &pieces(&data, data.len()),
            0,
            limits(&data, 1),
            &mut || 0,
        );
        assert_eq!(expected.1, End::Left, "the bracket is for the reference");
        let expected_columns = all(&mut alone);
        for threads in 1..9 {
            let text = pieces(&data, 37 * threads * threads);
            let mut many = scanner();
            let mut found = Vec::new();
            let mut at = 0;
            // What was guessed wrongly is read by the next call.
            let why = loop {
                let (blocks, why) = read(&mut many, &text, at, limits(&data, threads), &mut || 0);
                found.extend(blocks);
                if why == End::Left {
                    break why;
                }
                at = found.last().unwrap().bytes.end + 2;
            };
            assert_eq!((found, why), expected, "{threads} of {every}");
            assert_eq!(all(&mut many), expected_columns, "{threads} of {every}");
        }
    }
}

#[test]
fn right_guesses_leave_nothing_to_be_read_twice() {
    let data = text((0..300).map(event));
    let mut many = scanner();
    let (blocks, why) = read(
        &mut many,
        &pieces(&data, 1000),
        0,
        limits(&data, 4),
        &mut || 0,
    );
    assert_eq!(why, End::Left);
    assert_eq!(blocks.iter().map(|block| block.rows).sum::<usize>(), 300);
    assert_eq!((many.helpers.scanners.len(), many.trust.pause), (4, 0));
}

#[test]
fn room_is_made_when_the_next_rows_come() {
    let data = text((0..300).map(event));
    let pieces = pieces(&data, 1000);
    for threads in [1, 4] {
        let mut scanner = scanner();
        for (expected, rows) in [(None, 300), (Some(5000), 600)] {
            scanner.expected = expected;
            read(&mut scanner, &pieces, 0, limits(&data, threads), &mut || 0);
            assert_eq!(scanner.columns.rows(), rows);
        }
        assert_eq!(scanner.expected, None);
        assert_eq!(scanner.columns.dense.ts.capacity(), 5000);
    }
}

#[test]
fn text_is_read_ahead_while_blocks_are_read_on_several_threads() {
    let data = text((0..300).map(event));
    let pieces = pieces(&data, 1000);
    for wanted in [0, 1, 5, 100] {
        let mut left = wanted;
        let mut ahead = || {
            left = usize::saturating_sub(left, 1);
            left
        };
        let (_, why) = read(&mut scanner(), &pieces, 0, limits(&data, 4), &mut ahead);
        assert_eq!(why, End::Left);
        assert!(left <= LEFT_AHEAD, "{left} of {wanted}");
        let mut never = || panic!("one thread needs it at once");
        read(&mut scanner(), &pieces, 0, limits(&data, 1), &mut never);
    }
}

#[test]
fn whichever_thread_reads_a_part_the_columns_are_the_same() {
    let data = text((0..120).map(event));
    let mut alone = scanner();
    let expected = read(
        &mut alone,
        &pieces(&data, data.len()),
        0,
        limits(&data, 1),
        &mut || 0,
    );
    let expected_columns = all(&mut alone);
    let starts = guesses(&pieces(&data, 99), 0, 200, data.len());
    for turns in 0..30usize {
        let mut many = scanner();
        let mut helpers: Vec<Scanner> = (0..3).map(|_| many.twin().unwrap()).collect();
        let starts = [0].into_iter().chain(starts.iter().copied());
        let ends = starts.clone().skip(1).chain([data.len()]);
        let parts = starts.zip(ends).map(|(start, end)| start..end).collect();
        let text = pieces(&data, 99);
        let work = Work::new(&text, parts, limits(&data, 3), Vec::new());
        let mut chain = Chain::new(&mut many, Vec::new(), 3, 0);
        // Taken in their order, handed in by twos in the other.
        for first in (0..work.parts.len()).step_by(2) {
            let two = first..work.parts.len().min(first + 2);
            let taken: Vec<_> = two
                .map(|part| {
                    let helper = (part * turns / 7 + turns) % 3;
                    let read = work.read_part(part, helper, &mut helpers[helper]);
                    (part, read)
                })
                .collect();
            for (part, read) in taken.into_iter().rev() {
                work.queue().read[part] = Some(read);
                chain.append(&work);
            }
        }
        assert_eq!(chain.appended, work.parts.len());
        assert_eq!((chain.blocks, chain.why), expected, "{turns}");
        assert_eq!(all(&mut many), expected_columns, "{turns}");
    }
}

#[test]
fn an_event_may_end_far_behind_its_block() {
    let long = |size: usize| format!(r#"{{"ph": "i", "name": "{}"}}"#, "x".repeat(size));
    for size in [1, BEHIND - 40, BEHIND, BEHIND + 1, 5 * BEHIND] {
        let data = text([event(1), long(size), event(2), event(3)].into_iter());
        for (max_bytes, rows) in [(10 * BEHIND, 4), (3 * BEHIND, 1)] {
            let limits = Limits {
                max_bytes,
                ..limits(&data, 1)
            };
            let rows = if size > max_bytes { rows } else { 4 };
            for bytes in [data.len(), 5000] {
                let mut alone = scanner();
                let (blocks, why) = read(&mut alone, &pieces(&data, bytes), 0, limits, &mut || 0);
                assert_eq!(blocks.iter().map(|block| block.rows).sum::<usize>(), rows);
                assert_eq!(why, End::Left);
            }
        }
    }
}
