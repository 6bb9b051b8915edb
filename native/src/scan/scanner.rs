//! Runs of events into columns.

use super::bytes::{blanks, byte, stop_at, unescape, Key};
use super::columns::Columns;
use super::event::{Event, Known, Reader};
use super::guesses::Trust;
use super::keys::{Keys, Widths, MAX_COLUMNS};
use super::nested::compact;
use super::texts::{Form, Meanings, Text, Texts};
use super::Stop;

/// What is kept from one call to the next, for each of the threads.
#[derive(Default)]
pub struct Helpers {
    pub scanners: Vec<Scanner>,
    /// The codes that texts of each scanner have in the one that all is appended to.
    pub codes: Vec<Vec<u32>>,
    /// Without events, but with memory for them.
    pub spare: Vec<Columns>,
}

/// Why a run of events ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The text in memory ends, or so does the part that was asked for.
    Text,
    /// The next member is for the reference.
    Left,
}

/// Each thread writes to its own at every event: no two of them have a part of a cache line in common.
#[repr(align(128))]
pub struct Scanner {
    pub columns: Columns,
    pub texts: Texts,
    pub widths: Widths,
    pub helpers: Helpers,
    pub trust: Trust,
    /// Rows for which room is to be made before the next ones are appended.
    pub expected: Option<usize>,
    /// Memory for text of several pieces.
    pub joined: Vec<u8>,
    table: Vec<u8>,
    key: Key,
    meanings: Meanings,
    reader: Reader,
    event: Event,
    scratch: Vec<u8>,
    last: [(u64, u32); 3],
}

/// Fields that often repeat that of the event before.
#[derive(Clone, Copy)]
enum Often {
    Category,
    Pid,
    Tid,
}

impl Scanner {
    /// `table` as `keys` reads it; None when it makes no sense.
    pub fn new(table: &[u8], widths: Widths, key: Key) -> Option<Scanner> {
        if widths.ints < 1 || widths.texts < 2 || widths.all() > MAX_COLUMNS {
            return None;
        }
        Some(Scanner {
            columns: Columns::new(widths),
            texts: Texts::new(key),
            widths,
            helpers: Helpers::default(),
            trust: Trust::default(),
            expected: None,
            joined: Vec::new(),
            table: table.to_vec(),
            key,
            meanings: Meanings::new(key),
            reader: Reader::new(Keys::new(table, widths, key)?, widths, key),
            event: Event::new(),
            scratch: Vec::new(),
            last: [(0, 0); 3],
        })
    }

    /// Makes the room that was asked for.
    pub fn make_room(&mut self) {
        if let Some(rows) = self.expected.take() {
            self.columns.expect(rows);
        }
    }

    /// A scanner for the same columns that has read nothing.
    pub fn twin(&self) -> Option<Scanner> {
        Scanner::new(&self.table, self.widths, self.key)
    }

    /// Takes the events of `data` that begin between `start`, which is behind `[` or `,`, and `stop`.
    ///
    /// Returns the place behind the last event taken (`start` when there is none), and why the run ended.
    pub fn run(
        &mut self,
        data: &[u8],
        start: usize,
        stop: usize,
        max_bytes: usize,
    ) -> (usize, End) {
        let mut taken = start;
        let mut at = start;
        loop {
            at = blanks(data, at);
            if at >= stop.min(data.len()) {
                return (taken, End::Text);
            }
            match self.member(data, at, max_bytes) {
                Ok(end) => taken = end,
                Err(Stop::More) => return (taken, End::Text),
                Err(Stop::Left) => return (taken, End::Left),
            }
            at = blanks(data, taken);
            if byte(data, at) != b',' {
                return (taken, End::Left);
            }
            at += 1;
        }
    }

    /// Takes the event at `at`, if another member or the end of the array follows.
    #[inline(always)]
    fn member(&mut self, data: &[u8], at: usize, max_bytes: usize) -> Result<usize, Stop> {
        if byte(data, at) != b'{' {
            return Err(stop_at(data, at));
        }
        let known = Known {
            texts: &self.texts,
            meanings: &self.meanings,
        };
        let end = self.reader.event(data, at, known, &mut self.event)?;
        let behind = blanks(data, end);
        if !matches!(byte(data, behind), b',' | b']') {
            return Err(stop_at(data, behind));
        }
        if end - at > max_bytes {
            return Err(Stop::Left);
        }
        if !self.event.texts.is_empty() {
            self.order_texts(data)?;
        }
        self.take(data);
        Ok(end)
    }

    /// Puts the texts of the event in the order of their columns, and sees to it that each can be taken.
    fn order_texts(&mut self, data: &[u8]) -> Result<(), Stop> {
        let texts = &mut self.event.texts;
        texts.sort_unstable_by_key(|&(column, _)| column);
        for (_, text) in texts {
            let known = match text.form {
                Form::Plain | Form::Escaped | Form::Coded => true,
                Form::Nested => self
                    .meanings
                    .find(&data[text.start..text.end], text.hash)
                    .is_some(),
                Form::Args => false,
            };
            if !known {
                self.scratch.clear();
                compact(data, text.start, &mut self.scratch)?;
            }
        }
        Ok(())
    }

    /// Takes the event. Texts get their codes in the order that `raw.py` gives.
    #[inline(always)]
    fn take(&mut self, data: &[u8]) {
        let row = self.columns.rows() as u32;
        let category = self.code_again(data, self.event.category, Often::Category);
        let name = self.code(data, self.event.name);
        let pid = self.code_again(data, self.event.pid, Often::Pid);
        let tid = self.code_again(data, self.event.tid, Often::Tid);
        for at in 0..self.event.texts.len() {
            let (column, text) = self.event.texts[at];
            let code = self.code(data, text);
            self.columns.put_text(column, row, code);
        }
        for &(column, value) in &self.event.ints {
            self.columns.put_int(column, row, value);
        }
        for &(column, value) in &self.event.floats {
            self.columns.put_float(column, row, value);
        }
        self.columns.phased |= self.event.phase != 0;
        let dense = &mut self.columns.dense;
        dense.phase.push(self.event.phase);
        dense.category.push(category);
        dense.name.push(name);
        dense.pid.push(pid);
        dense.tid.push(tid);
        dense.ts.push(self.event.ts);
        dense.dur.push(self.event.dur);
    }

    /// The code of a text that is often that of the event before.
    #[inline(always)]
    fn code_again(&mut self, data: &[u8], text: Text, often: Often) -> u32 {
        if text.form == Form::Coded {
            return text.hash as u32;
        }
        let (hash, code) = self.last[often as usize];
        if text.form == Form::Plain
            && hash == text.hash
            && self.texts.get(code) == &data[text.start..text.end]
        {
            return code;
        }
        let code = self.code(data, text);
        self.last[often as usize] = (text.hash, code);
        code
    }

    #[inline(always)]
    fn code(&mut self, data: &[u8], text: Text) -> u32 {
        if text.form == Form::Coded {
            return text.hash as u32;
        }
        let raw = &data[text.start..text.end];
        if raw.is_empty() {
            return 0;
        }
        match text.form {
            Form::Plain => self.texts.code_hashed(raw, text.hash),
            _ => self.meaning(data, text),
        }
    }

    #[inline(never)]
    fn meaning(&mut self, data: &[u8], text: Text) -> u32 {
        let inside = &data[text.start..text.end];
        // The quote keeps the text of an array apart from an array.
        let (raw, hash) = match text.form {
            Form::Escaped => (&data[text.start - 1..text.end], !text.hash),
            _ => (inside, text.hash),
        };
        if text.form != Form::Args {
            if let Some(code) = self.meanings.find(raw, hash) {
                return code;
            }
        }
        self.scratch.clear();
        if text.form == Form::Escaped {
            unescape(inside, &mut self.scratch);
        } else {
            // `order_texts` has seen that it can be done.
            let _ = compact(data, text.start, &mut self.scratch);
        }
        let code = self.texts.code(&self.scratch);
        if text.form != Form::Args {
            self.meanings.add(raw, hash, code);
        }
        code
    }
}

#[cfg(test)]
mod tests {
    use super::super::columns::{Column, Ints, Values};
    use super::*;

    const WIDTHS: Widths = Widths {
        ints: 2,
        floats: 1,
        texts: 3,
    };
    const EVENTS: [&str; 4] = [
        r#" {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": "7", "ts": 1.5, "dur": -0.001,
         "args": {"Input Dims": [[2, 3], []], "External id": 14, "blocks per SM": 1.5, "Ev Idx": [{}]}}"#,
        r#"{"name": "a \"b\"", "ph": "C", "id": "x", "args": {"": 1}}"#,
        " {}",
        r#"{"ph": "s", "id": "12"}"#,
    ];

    fn scanner() -> Scanner {
        Scanner::new(
            b"1\tExternal id\n2\tblocks per SM\n4\tInput Dims\n",
            WIDTHS,
            Key(9),
        )
        .unwrap()
    }

    fn texts(scanner: &Scanner) -> Vec<&str> {
        (0..scanner.texts.len())
            .map(|code| std::str::from_utf8(scanner.texts.get(code as u32)).unwrap())
            .collect()
    }

    #[test]
    fn a_run_of_events() {
        let mut scanner = scanner();
        let data = EVENTS.join(",") + "]";
        assert_eq!(
            scanner.run(data.as_bytes(), 0, data.len(), 1000),
            (data.len() - 1, End::Left)
        );
        assert_eq!(scanner.columns.rows(), 4);
        assert_eq!(
            texts(&scanner),
            [
                "",
                "cpu_op",
                "aten::mm",
                "7",
                "[[2,3],[]]",
                "a \"b\"",
                "x",
                r#"{"":1}"#
            ]
        );
        let columns = &mut scanner.columns;
        assert_eq!(columns.dense.ts, [1500, i64::MIN, i64::MIN, i64::MIN]);
        assert_eq!(columns.dense.dur, [-2, -1, -1, -1]);
        assert!(matches!(columns.take_rows(0), Column::Codes(rows) if rows == [3]));
        assert!(matches!(columns.take_values(0), Column::Narrow(ids) if ids == [12]));
    }

    #[test]
    fn an_event_is_taken_whole_or_not_at_all() {
        let whole = EVENTS.join(",") + "]";
        let ends: Vec<usize> = (0..=EVENTS.len())
            .map(|count| EVENTS[..count].join(",").len())
            .collect();
        for length in 0..whole.len() {
            let mut scanner = scanner();
            let (taken, end) = scanner.run(&whole.as_bytes()[..length], 0, length, 1000);
            assert_eq!(end, End::Text, "{length}");
            assert!(ends.contains(&taken), "{taken} of {length}");
        }
    }

    /// Events of two kinds, most of whose values are the same each time.
    fn alike(number: usize) -> String {
        match number % 3 {
            0 => format!(
                r#"{{"ph": "C", "name": "queue", "pid": 0, "ts": {number}, "args": {{"External id": 7, "Input Dims": "a\tb"}}}}"#
            ),
            _ => format!(
                r#"{{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 9, "ts": {number}.25, "dur": 3,
    "args": {{"Trace name": "é \"b\"", "External id": {number}, "Input Dims": [[2, 3], []], "blocks per SM": 0.5}}}}"#
            ),
        }
    }

    #[test]
    fn values_that_repeat_are_taken_as_if_each_were_read() {
        let count = 1000;
        let events: Vec<String> = (0..count).map(alike).collect();
        let data = events.join(",\n") + "]";
        let mut scanner = scanner();
        assert_eq!(
            scanner.run(data.as_bytes(), 0, data.len(), 1000),
            (data.len() - 1, End::Left)
        );
        let ops: Vec<u32> = (0..count as u32).filter(|row| row % 3 != 0).collect();
        assert_eq!(
            texts(&scanner),
            [
                "",
                "queue",
                "0",
                "a\tb",
                r#"{"External id":7,"Input Dims":"a\tb"}"#,
                "cpu_op",
                "aten::mm",
                "7",
                "9",
                "[[2,3],[]]"
            ]
        );
        let columns = &mut scanner.columns;
        for row in 0..count {
            let dense = &columns.dense;
            let read = (
                (dense.phase[row], dense.category[row], dense.name[row]),
                (dense.pid[row], dense.tid[row]),
                (dense.ts[row], dense.dur[row]),
            );
            let ns = 1000 * row as i64;
            let expected = match row % 3 {
                0 => ((b'C', 0, 1), (2, 0), (ns, -1)),
                _ => ((b'X', 5, 6), (7, 8), (ns + 250, 3000)),
            };
            assert_eq!(read, expected, "{row}");
        }
        assert!(matches!(columns.take_values(1), Column::Narrow(ids)
            if (0..count).all(|row| ids[row] == if row % 3 == 0 { 7 } else { row as i32 })));
        assert!(matches!(columns.take_rows(2), Column::Codes(rows) if rows == ops));
        assert!(
            matches!(columns.take_values(2), Column::Floats(all) if all == vec![0.5; ops.len()])
        );
        assert!(matches!(columns.take_values(4), Column::Codes(all)
            if (0..count).all(|row| all[row] == if row % 3 == 0 { 3 } else { 9 })));
    }

    #[test]
    fn an_event_that_begins_like_many_is_read_by_itself() {
        let mut scanner = scanner();
        let many = (0..1000).map(alike).collect::<Vec<_>>().join(",") + ",";
        assert_eq!(
            scanner.run(many.as_bytes(), 0, many.len(), 1000),
            (many.len() - 1, End::Text)
        );
        let op = alike(1001);
        // Cut off anywhere it is not taken, with a byte that no JSON has it is left.
        for at in 0..op.len() {
            let cut = &op.as_bytes()[..at];
            assert_eq!(scanner.run(cut, 0, at, 1000), (0, End::Text), "{at}");
            let mut damaged = op.clone().into_bytes();
            damaged[at] = 1;
            damaged.extend_from_slice(b",{}]");
            let (taken, end) = scanner.run(&damaged, 0, damaged.len(), 1000);
            assert_eq!((taken, end), (0, End::Left), "{at}");
        }
        for (usual, other) in [
            (r#""pid": 7"#, r#""pid":  7"#),
            (r#""pid": 7"#, r#""pid": 77"#),
            (r#""dur": 3"#, r#""dur": 3.5"#),
            (r#""dur": 3"#, r#""dur": 3e2"#),
            ("[[2, 3], []]", r#"[[2, 3], [], "x"]"#),
            ("[[2, 3], []]", "[[2, 3], [4]]"),
            ("[[2, 3], []]", "null"),
            ("0.5}", "0.5, \"x\": [2]}"),
        ] {
            let text = op.replace(usual, other) + "]";
            let mut alone = self::scanner();
            alone.run(text.as_bytes(), 0, text.len(), 1000);
            let rows = scanner.columns.rows();
            scanner.run(text.as_bytes(), 0, text.len(), 1000);
            assert_eq!(
                (alone.columns.rows(), scanner.columns.rows()),
                (1, rows + 1)
            );
            let fields = |scanner: &Scanner| {
                let dense = &scanner.columns.dense;
                let last = scanner.columns.rows() - 1;
                let text = |code: u32| scanner.texts.get(code).to_vec();
                let mut sparse: Vec<String> = Vec::new();
                for column in &scanner.columns.sparse {
                    sparse.push(match &column.value {
                        _ if column.row.last() != Some(&(last as u32)) => String::new(),
                        Values::Int(Ints::Narrow(values)) => format!("{:?}", values.last()),
                        Values::Int(Ints::Wide(values)) => format!("{:?}", values.last()),
                        Values::Float(values) => format!("{:?}", values.last()),
                        Values::Text(codes) => {
                            format!("{:?}", codes.last().map(|&code| text(code)))
                        }
                    });
                }
                let texts = [&dense.category, &dense.name, &dense.pid, &dense.tid];
                (
                    texts.map(|codes| text(codes[last])),
                    (dense.phase[last], dense.ts[last], dense.dur[last]),
                    sparse,
                )
            };
            assert_eq!(fields(&alone), fields(&scanner), "{other}");
        }
    }

    #[test]
    fn odd_events_are_left() {
        for odd in [
            r#"{"ph": "XY"}"#,
            r#"{"ph": 1}"#,
            r#"{"name": null}"#,
            r#"{"pid": 1.5}"#,
            r#"{"pid": -0}"#,
            r#"{"ts": "soon"}"#,
            r#"{"ts": null}"#,
            r#"{"ts": 1e30}"#,
            r#"{"id": 1.5}"#,
            r#"{"args": []}"#,
            r#"{"args": {"External id": "many"}}"#,
            r#"{"args": {"External id": 1.5}}"#,
            r#"{"args": {"External id": 99999999999999999999}}"#,
            r#"{"args": {"External id": 1, "External id": null}}"#,
            r#"{"args": {"blocks per SM": "few"}}"#,
            r#"{"args": {"Input Dims": {"a": 1, "a": 2}}}"#,
            r#"{"name": "a", "name": "b"}"#,
            r#"{"na\u006de": "a"}"#,
            r#"{"a": 01}"#,
            "null",
            "[]",
            "/* */ {}",
            ",",
        ] {
            let mut scanner = scanner();
            let text = format!("{{}}, {odd}, {{}}]");
            assert_eq!(
                scanner.run(text.as_bytes(), 0, text.len(), 1000),
                (2, End::Left),
                "{odd}"
            );
            assert_eq!(
                (scanner.columns.rows(), scanner.texts.len()),
                (1, 1),
                "{odd}"
            );
        }
    }

    #[test]
    fn integers_may_be_written_in_many_ways() {
        for (written, expected) in [
            ("7", 7),
            ("\"7\"", 7),
            ("7.0", 7),
            ("\"0x1f\"", 31),
            ("true", 1),
            ("-3", -3),
            ("1e2", 100),
        ] {
            let mut scanner = scanner();
            let text = format!(r#"{{"args": {{"External id": {written}}}}}]"#);
            scanner.run(text.as_bytes(), 0, text.len(), 1000);
            let values = scanner.columns.take_wide_values(1);
            assert!(
                matches!(values, Column::Wide(values) if values == [expected]),
                "{written}"
            );
        }
    }
}
