//! What has been read: columns that grow in place and are handed over as they are, no value copied.
//!
//! Dense ones have a value for each event, sparse ones the row of each value.

use super::keys::{Kind, Widths};
use std::mem::take;

/// The values of a sparse column, as many as `row` has.
pub enum Values {
    Int(Ints),
    Float(Vec<f64>),
    Text(Vec<u32>),
}

pub struct Sparse {
    pub row: Vec<u32>,
    pub value: Values,
}

/// One entry per event.
#[derive(Default)]
pub struct Dense {
    pub phase: Vec<u8>,
    pub category: Vec<u32>,
    pub name: Vec<u32>,
    pub pid: Vec<u32>,
    pub tid: Vec<u32>,
    pub ts: Vec<i64>,
    pub dur: Vec<i64>,
}

pub struct Columns {
    pub dense: Dense,
    pub sparse: Vec<Sparse>,
    /// Some event has a phase.
    pub phased: bool,
}

impl Columns {
    pub fn new(widths: Widths) -> Columns {
        let sparse = (0..widths.all()).map(|column| Sparse {
            row: Vec::new(),
            value: match widths.kind(column) {
                Kind::Int => Values::Int(Ints::default()),
                Kind::Float => Values::Float(Vec::new()),
                Kind::Text => Values::Text(Vec::new()),
            },
        });
        Columns {
            dense: Dense::default(),
            sparse: sparse.collect(),
            phased: false,
        }
    }

    pub fn rows(&self) -> usize {
        self.dense.phase.len()
    }

    /// Takes a dense column out; they are numbered as `raw.py` lists them.
    pub fn take_dense(&mut self, number: usize) -> Column {
        let dense = &mut self.dense;
        match number {
            0 => Column::Bytes(take(&mut dense.phase)),
            1 => Column::Codes(take(&mut dense.category)),
            2 => Column::Codes(take(&mut dense.name)),
            3 => Column::Codes(take(&mut dense.pid)),
            4 => Column::Codes(take(&mut dense.tid)),
            5 => Column::Wide(take(&mut dense.ts)),
            _ => Column::Wide(take(&mut dense.dur)),
        }
    }

    /// Takes the rows of a sparse column out.
    pub fn take_rows(&mut self, column: usize) -> Column {
        Column::Codes(take(&mut self.sparse[column].row))
    }

    /// Takes the values of a sparse column out, integers as narrow as they are.
    pub fn take_values(&mut self, column: usize) -> Column {
        match &mut self.sparse[column].value {
            Values::Int(values) => match take(values) {
                Ints::Narrow(values) => Column::Narrow(values),
                Ints::Wide(values) => Column::Wide(values),
            },
            Values::Float(values) => Column::Floats(take(values)),
            Values::Text(values) => Column::Codes(take(values)),
        }
    }

    /// As `take_values`, but integers are 64 bits wide.
    pub fn take_wide_values(&mut self, column: usize) -> Column {
        match &mut self.sparse[column].value {
            Values::Int(values) => Column::Wide(take(values).into_wide()),
            _ => self.take_values(column),
        }
    }

    /// Makes room for `rows` rows in all, with sparse values as often as so far, so that no column is moved as it grows.
    pub fn expect(&mut self, rows: usize) {
        let have = self.rows().max(1);
        fn room<T>(values: &mut Vec<T>, have: usize, rows: usize) {
            let likely = (values.len() as u128 * rows as u128 / have as u128) as usize;
            // Where there is no memory for all of them, columns grow as they need it.
            let _ = values.try_reserve_exact(likely.saturating_sub(values.len()));
        }
        let dense = &mut self.dense;
        room(&mut dense.phase, have, rows);
        for codes in [
            &mut dense.category,
            &mut dense.name,
            &mut dense.pid,
            &mut dense.tid,
        ] {
            room(codes, have, rows);
        }
        room(&mut dense.ts, have, rows);
        room(&mut dense.dur, have, rows);
        for sparse in &mut self.sparse {
            room(&mut sparse.row, have, rows);
            match &mut sparse.value {
                Values::Int(Ints::Narrow(values)) => room(values, have, rows),
                Values::Int(Ints::Wide(values)) => room(values, have, rows),
                Values::Float(values) => room(values, have, rows),
                Values::Text(values) => room(values, have, rows),
            }
        }
    }

    /// Appends the events of `others`, whose texts have the codes `codes[code]` here; returns `others`, emptied.
    pub fn append(&mut self, mut others: Columns, codes: &[u32]) -> Columns {
        let first = self.rows() as u32;
        let code = |&code: &u32| codes[code as usize];
        let from = &mut others.dense;
        let to = &mut self.dense;
        to.phase.append(&mut from.phase);
        to.ts.append(&mut from.ts);
        to.dur.append(&mut from.dur);
        for (to, from) in [
            (&mut to.category, &mut from.category),
            (&mut to.name, &mut from.name),
            (&mut to.pid, &mut from.pid),
            (&mut to.tid, &mut from.tid),
        ] {
            to.extend(from.iter().map(code));
            from.clear();
        }
        for (to, from) in self.sparse.iter_mut().zip(&mut others.sparse) {
            to.row.extend(from.row.iter().map(|row| first + row));
            from.row.clear();
            match (&mut to.value, &mut from.value) {
                (Values::Int(to), Values::Int(from)) => to.append(from),
                (Values::Float(to), Values::Float(from)) => to.append(from),
                (Values::Text(to), Values::Text(from)) => {
                    to.extend(from.iter().map(code));
                    from.clear();
                }
                _ => unreachable!("columns of one number are of one kind"),
            }
        }
        self.phased |= std::mem::take(&mut others.phased);
        others
    }

    #[inline(always)]
    pub fn put_int(&mut self, column: u8, row: u32, value: i64) {
        let sparse = &mut self.sparse[usize::from(column)];
        if let Values::Int(values) = &mut sparse.value {
            sparse.row.push(row);
            values.push(value);
        }
    }

    #[inline(always)]
    pub fn put_float(&mut self, column: u8, row: u32, value: f64) {
        let sparse = &mut self.sparse[usize::from(column)];
        if let Values::Float(values) = &mut sparse.value {
            sparse.row.push(row);
            values.push(value);
        }
    }

    #[inline(always)]
    pub fn put_text(&mut self, column: u8, row: u32, code: u32) {
        let sparse = &mut self.sparse[usize::from(column)];
        if let Values::Text(values) = &mut sparse.value {
            sparse.row.push(row);
            values.push(code);
        }
    }
}

/// Integers, in half the memory as long as all of them are small.
pub enum Ints {
    Narrow(Vec<i32>),
    Wide(Vec<i64>),
}

impl Default for Ints {
    fn default() -> Self {
        Ints::Narrow(Vec::new())
    }
}

impl Ints {
    #[inline(always)]
    pub fn push(&mut self, value: i64) {
        match self {
            Ints::Wide(values) => values.push(value),
            Ints::Narrow(values) if value == i64::from(value as i32) => values.push(value as i32),
            Ints::Narrow(_) => self.push_wide(value),
        }
    }

    #[cold]
    #[inline(never)]
    fn push_wide(&mut self, value: i64) {
        let mut values = std::mem::take(self).into_wide();
        values.push(value);
        *self = Ints::Wide(values);
    }

    /// Appends `others`, and empties them.
    pub fn append(&mut self, others: &mut Ints) {
        match (&mut *self, others) {
            (Ints::Narrow(to), Ints::Narrow(from)) => to.append(from),
            (_, from) => {
                for value in std::mem::take(from).into_wide() {
                    self.push(value);
                }
            }
        }
    }

    pub fn into_wide(self) -> Vec<i64> {
        match self {
            Ints::Narrow(values) => values.into_iter().map(i64::from).collect(),
            Ints::Wide(values) => values,
        }
    }
}

/// A column that belongs to who asked for it.
pub enum Column {
    Bytes(Vec<u8>),
    Codes(Vec<u32>),
    Narrow(Vec<i32>),
    Wide(Vec<i64>),
    Floats(Vec<f64>),
}

/// Where the values of a column are, how many, and the bytes of each.
#[derive(Debug, PartialEq, Eq)]
pub struct Extent {
    pub data: *const u8,
    pub count: usize,
    pub width: usize,
}

impl Column {
    /// The same without memory for more values.
    pub fn shrunk(mut self) -> Column {
        match &mut self {
            Column::Bytes(values) => values.shrink_to_fit(),
            Column::Codes(values) => values.shrink_to_fit(),
            Column::Narrow(values) => values.shrink_to_fit(),
            Column::Wide(values) => values.shrink_to_fit(),
            Column::Floats(values) => values.shrink_to_fit(),
        }
        self
    }

    pub fn extent(&self) -> Extent {
        match self {
            Column::Bytes(values) => extent_of(values),
            Column::Codes(values) => extent_of(values),
            Column::Narrow(values) => extent_of(values),
            Column::Wide(values) => extent_of(values),
            Column::Floats(values) => extent_of(values),
        }
    }
}

fn extent_of<T>(values: &[T]) -> Extent {
    Extent {
        data: values.as_ptr().cast(),
        count: values.len(),
        width: std::mem::size_of::<T>(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(values: impl IntoIterator<Item = i64>) -> Ints {
        let mut column = Ints::default();
        values.into_iter().for_each(|value| column.push(value));
        column
    }

    #[test]
    fn integers_are_narrow_while_all_of_them_fit() {
        let small = [0, -1, i64::from(i32::MIN), i64::from(i32::MAX)];
        assert!(
            matches!(column(small), Ints::Narrow(values) if values == [0, -1, i32::MIN, i32::MAX])
        );
        assert_eq!(column(small).into_wide(), small);
        for wide in [i64::from(i32::MIN) - 1, i64::from(i32::MAX) + 1, i64::MIN] {
            for at in 0..=small.len() {
                let mut given = small.to_vec();
                given.insert(at, wide);
                assert!(matches!(column(given.clone()), Ints::Wide(values) if values == given));
            }
        }
    }

    #[test]
    fn columns_of_expected_rows_are_not_moved() {
        let widths = Widths {
            ints: 1,
            floats: 1,
            texts: 2,
        };
        let mut columns = Columns::new(widths);
        columns.expect(1 << 60); // of none, nothing is known
        let put = |columns: &mut Columns, rows: std::ops::Range<u32>| {
            for row in rows {
                columns.dense.phase.push(1);
                columns.dense.ts.push(i64::from(row));
                columns.put_int(0, row, 1);
                if row % 2 == 0 {
                    columns.put_text(2, row, 7);
                }
            }
        };
        put(&mut columns, 0..10);
        columns.expect(4000);
        let places = |columns: &Columns| {
            let sparse = &columns.sparse;
            let rows = [0, 2].map(|column: usize| sparse[column].row.as_ptr());
            (columns.dense.ts.as_ptr(), rows)
        };
        let before = places(&columns);
        put(&mut columns, 10..4000);
        assert_eq!(places(&columns), before);
        assert_eq!(columns.dense.ts.capacity(), 4000);
        assert_eq!(columns.sparse[2].row.capacity(), 2000);
        assert_eq!(columns.sparse[1].row.capacity(), 0);
        columns.expect(1 << 60); // more than there is memory
        columns.expect(0);
        assert_eq!(columns.rows(), 4000);
    }

    #[test]
    fn a_column_says_where_it_is() {
        let values: Vec<u32> = (0..1000).collect();
        let expected = values.clone();
        let column = Column::Codes(values).shrunk();
        let Extent { count, width, .. } = column.extent();
        assert_eq!((count, width), (1000, 4));
        assert!(
            matches!(column, Column::Codes(values) if values == expected && values.capacity() == 1000)
        );
        assert_eq!(Column::Floats(Vec::new()).shrunk().extent().count, 0);
    }
}
