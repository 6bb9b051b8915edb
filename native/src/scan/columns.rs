//! What has been read: dense columns, and sparse ones with the row of each value.

use std::mem::take;

use super::column::{Column, Ints};
use super::keys::{Kind, Widths};

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
