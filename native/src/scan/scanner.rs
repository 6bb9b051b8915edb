//! Runs of events into columns.

use super::blocks::Helpers;
use super::bytes::{blanks, byte, stop_at, unescape, Key};
use super::columns::Columns;
use super::event::{Event, Form, Reader, Text};
use super::guesses::Trust;
use super::keys::{Keys, Widths, MAX_COLUMNS};
use super::nested::compact;
use super::shapes::Shapes;
use super::texts::{Meanings, Texts};
use super::values::Values;
use super::Stop;

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
            joined: Vec::new(),
            table: table.to_vec(),
            key,
            meanings: Meanings::new(key),
            reader: Reader {
                shapes: Shapes::new(Keys::new(table, widths, key)?, key),
                values: Values::new(key),
                widths,
            },
            event: Event::new(),
            scratch: Vec::new(),
            last: [(0, 0); 3],
        })
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
        let end = self.reader.event(data, at, &mut self.event)?;
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
                Form::Plain | Form::Escaped => true,
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
    use super::super::columns::Column;
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
