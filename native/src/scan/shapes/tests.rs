//! Tests of shapes of events.

use super::super::keys::{Widths, MAX_COLUMNS};
use super::*;

fn shapes() -> Shapes {
    let key = Key(11);
    let widths = Widths {
        ints: 2,
        floats: 1,
        texts: 2,
    };
    Shapes::new(
        Keys::new(b"1\tcorrelation\n4\tgrid\n", widths, key).unwrap(),
        key,
    )
}

/// The targets of an event whose values are all 7.
fn walk(shapes: &mut Shapes, text: &str) -> Result<Vec<Target>, Stop> {
    let data = text.as_bytes();
    let (mut at, mut node, mut targets) = (1, ROOT, Vec::new());
    loop {
        let (end, number) = shapes.next(data, at, node)?;
        let branch = *shapes.branch(number);
        targets.push(branch.target);
        if branch.target == Target::End {
            assert_eq!(end, data.len(), "{text}");
            return Ok(targets);
        }
        assert_eq!(byte(data, end), b'7', "{text}");
        at = end + 1;
        node = branch.node;
    }
}

#[test]
fn the_way_is_the_same_when_it_is_known() {
    let correlation = Target::Int(1);
    let mut shapes = shapes();
    for _ in 0..3 {
        for (text, targets) in [
            ("{}", vec![]),
            ("{ }", vec![]),
            (r#"{"ph":7}"#, vec![Target::Phase]),
            (
                r#"{"ph":   7,"x": 7 }"#,
                vec![Target::Phase, Target::Nobody],
            ),
            (
                r#"{"ph": 7, "args": {}, "ts":7}"#,
                vec![Target::Phase, Target::Ts],
            ),
            (
                r#"{"args":{"correlation": 7,"name":7} }"#,
                vec![correlation, Target::Nobody],
            ),
            (
                r#"{"args":{"correlation": 7} , "name" : 7}"#,
                vec![correlation, Target::Name],
            ),
            (r#"{"args":{"\u0063orrelation": 7}}"#, vec![correlation]),
        ] {
            let expected = [targets, vec![Target::End]].concat();
            assert_eq!(walk(&mut shapes, text), Ok(expected), "{text}");
        }
    }
    assert!(shapes.branches.len() < 30);
}

#[test]
fn damage_and_repeated_keys_are_left() {
    let mut shapes = shapes();
    for _ in 0..2 {
        for text in [
            r#"{,"ph":7}"#,
            r#"{"ph":7,}"#,
            r#"{"ph":7 "ts":7}"#,
            r#"{"ph" 7}"#,
            "{ph:7}",
            r#"{"ph":7]"#,
            r#"{"ph":7,"ph":7}"#,
            r#"{"ph":7,"args":{},"args":{}}"#,
            r#"{"args":7}"#,
            r#"{"args":{,}}"#,
            r#"{"args":{"grid":7,"grid":7}}"#,
            r#"{"args":{"grid":7,}}"#,
            r#"{"\u0070h":7}"#,
            "{7}",
        ] {
            assert_eq!(
                walk(&mut shapes, &format!("{text}   ")),
                Err(Stop::Left),
                "{text}"
            );
        }
        let whole = r#"{"ph":7, "args": {"grid": 7}}"#;
        for length in 1..whole.len() - 1 {
            if whole.as_bytes()[length - 1] != b'7' {
                assert_eq!(
                    walk(&mut shapes, &whole[..length]),
                    Err(Stop::More),
                    "{length}"
                );
            }
        }
    }
}

#[test]
fn each_of_as_many_columns_as_fit_is_its_own() {
    let key = Key(11);
    let widths = Widths {
        ints: 1,
        floats: 0,
        texts: MAX_COLUMNS - 1,
    };
    let table: String = (0..MAX_COLUMNS)
        .map(|i| format!("{i}\tkey {i}\n"))
        .collect();
    let mut shapes = Shapes::new(Keys::new(table.as_bytes(), widths, key).unwrap(), key);
    let args: Vec<String> = (0..MAX_COLUMNS).map(|i| format!("\"key {i}\":7")).collect();
    let all = format!("{{\"args\":{{{}}}}}", args.join(","));
    assert_eq!(walk(&mut shapes, &all).unwrap().len(), MAX_COLUMNS + 1);
    for arg in &args {
        let twice = format!("{{\"args\":{{{arg},{arg}}}}}");
        assert_eq!(walk(&mut shapes, &twice), Err(Stop::Left), "{twice}");
    }
}

#[test]
fn too_many_shapes_are_forgotten() {
    let mut shapes = shapes();
    for number in 0..100_000 {
        shapes.begin();
        assert!(walk(&mut shapes, &format!(r#"{{"key {number}":7}}"#)).is_ok());
    }
    assert!(shapes.nodes.len() < 100);
}

#[test]
fn a_piece_is_found_where_it_is() {
    let data = b"before, \"args\": {\"External id\": 7, \"Trace name\": \"PyTorch\"";
    for end in 7..data.len() {
        let mut literals = Literals::default();
        literals.add(data, 0, 25);
        let literal = literals.add(data, 6, end);
        let behind = |text: &[u8], at| literals.behind(&literal, text, at, first_words(text, at));
        assert_eq!(behind(data, 6), end);
        assert_eq!(behind(data, 5), 0);
        assert_eq!(behind(&data[..end], 6), end);
        assert_eq!(behind(&data[..end - 1], 6), 0);
        for at in 6..end {
            let mut other = data.to_vec();
            other[at] ^= 1;
            assert_eq!(behind(&other, 6), 0, "{at} of {end}");
        }
    }
}
