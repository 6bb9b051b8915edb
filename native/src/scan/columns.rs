//! What has been read: dense columns, and sparse ones with the row of each value.

use super::keys::{Kind, Widths};
use super::segments::{Ints, Segments};

/// The values of a sparse column, as many as `row` has.
pub enum Values {
    Int(Ints),
    Float(Segments<f64>),
    Text(Segments<u32>),
}

pub struct Sparse {
    pub row: Segments<u32>,
    pub value: Values,
}

/// One entry per event.
#[derive(Default)]
pub struct Dense {
    pub phase: Segments<u8>,
    pub category: Segments<u32>,
    pub name: Segments<u32>,
    pub pid: Segments<u32>,
    pub tid: Segments<u32>,
    pub ts: Segments<i64>,
    pub dur: Segments<i64>,
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
            row: Segments::default(),
            value: match widths.kind(column) {
                Kind::Int => Values::Int(Ints::default()),
                Kind::Float => Values::Float(Segments::default()),
                Kind::Text => Values::Text(Segments::default()),
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
