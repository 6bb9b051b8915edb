//! The two passes over a file.

use super::names::Names;
use super::survey::{Notes, Survey, ODD};
use super::writer::RowWriter;

/// From `new` on it takes a file once by `survey`, then once by `write`.
pub struct Transcoder {
    names: Option<Names>,
    subtract: i64,
    survey: Option<Survey>,
    writer: Option<RowWriter>,
}

impl Transcoder {
    /// `table` has lines "int\tkey" and "name\tkey\tname" (`writer.Names`).
    pub fn new(subtract: i64, table: &[u8]) -> Transcoder {
        Transcoder {
            names: Some(Names::new(table)),
            subtract,
            survey: Some(Survey::default()),
            writer: None,
        }
    }

    pub fn survey(&mut self, piece: &[u8], last: bool) {
        if let Some(survey) = &mut self.survey {
            survey.feed(piece, last);
        }
    }

    /// How many bytes of text there are to be taken.
    pub fn write(&mut self, piece: &[u8], last: bool) -> usize {
        if self.writer.is_none() {
            if let (Some(survey), Some(names)) = (self.survey.take(), self.names.take()) {
                self.writer = Some(RowWriter::new(survey, names, self.subtract));
            }
        }
        if let Some(writer) = &mut self.writer {
            writer.feed(piece, last);
            return writer.text().len();
        }
        0
    }

    /// Moves the text out.
    pub fn take(&mut self, to: &mut [u8]) {
        if let Some(writer) = &mut self.writer {
            to.copy_from_slice(writer.text());
            writer.text().clear();
        }
    }

    /// Rows, bytes of events and whether torch wrote the file; then count, place and number of each of `ODD`.
    pub fn tell(&self, to: &mut [i64]) {
        let (found, torch) = match (&self.survey, &self.writer) {
            (_, Some(writer)) => (&writer.rows.found, writer.rows.torch),
            (Some(survey), None) => (&survey.found, survey.packets.from_torch),
            (None, None) => return,
        };
        let mut notes = Notes::default();
        notes.merge(&found.notes);
        if let Some(writer) = &self.writer {
            notes.merge(&writer.rows.notes);
        }
        let head = [
            found.rows as i64,
            found.event_bytes as i64,
            i64::from(torch),
        ];
        let told = ODD.iter().flat_map(|&odd| {
            let (count, place, value) = notes.get(odd);
            [count as i64, place, value as i64]
        });
        for (slot, value) in to.iter_mut().zip(head.into_iter().chain(told)) {
            *slot = value;
        }
    }
}
