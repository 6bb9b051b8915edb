//! The second pass over a file: packets as the JSON text of a trace.

use std::collections::{HashMap, HashSet};

use super::frames::{Frames, Taken};
use super::json_values::Written;
use super::names::Names;
use super::packets::{Event, Happened, Known, Packets};
use super::rows::{Of, Rows};
use super::survey::{Notes, Odd, Survey};
use super::wire::BadPacket;

const FIRST_DEPENDENCY: u64 = 1 << 40;

pub struct RowWriter {
    frames: Frames,
    packets: Packets,
    pub rows: Rows,
    begun: bool,
}

impl RowWriter {
    pub fn new(survey: Survey, names: Names, subtract: i64) -> RowWriter {
        RowWriter {
            frames: Frames::default(),
            packets: Packets::default(),
            rows: Rows {
                found: survey.found,
                notes: Notes::default(),
                out: Vec::new(),
                place: 0,
                names,
                torch: survey.packets.from_torch,
                subtract,
                slice: 0,
                dependency: FIRST_DEPENDENCY,
                places: HashMap::new(),
                last_place: None,
                written: Written::default(),
                written_extras: Written::default(),
                extras: Vec::new(),
                named: HashSet::new(),
                named_lanes: HashSet::new(),
                named_gpus: HashSet::new(),
                sums: HashMap::new(),
                double_sums: HashMap::new(),
            },
            begun: false,
        }
    }

    /// Takes the next bytes of the file, and appends the text of the rows that they end.
    pub fn feed(&mut self, piece: &[u8], last: bool) {
        let RowWriter {
            frames,
            packets,
            rows,
            ..
        } = self;
        let start = rows.out.len();
        frames.feed(piece, last, |taken| {
            if let Taken::Packet {
                place,
                bytes,
                packet,
            } = taken
            {
                let before = rows.out.len();
                rows.place = place as i64;
                if packets.read(packet, rows).is_err() {
                    rows.out.truncate(before);
                    rows.notes.add(Odd::BadPacket, place as i64, bytes, 1);
                }
            }
        });
        if !self.begun && rows.out.len() > start {
            self.begun = true;
            rows.out.remove(start); // no comma before the first row
        }
    }

    /// The text that is there to be taken.
    pub fn text(&mut self) -> &mut Vec<u8> {
        &mut self.rows.out
    }
}

impl Happened for Rows {
    #[inline(always)]
    fn take(&mut self, event: Event, known: Known) -> Result<(), BadPacket> {
        if let Event::End(_) = event {
            return Ok(()); // its slice has been written
        }
        let mut out = std::mem::take(&mut self.out);
        let mut of = Of {
            rows: self,
            known,
            out: &mut out,
        };
        let done = match event {
            Event::Begin(event) => of.begin(event),
            Event::Counters(values) => of.counters(values),
            Event::Stage(work) => of.stage(work),
            Event::Instant(event) => {
                of.event(b",\n{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"", event, None)
            }
            Event::Value(event) => of.value(event),
            Event::Track(uuid) => {
                of.describe(uuid);
                Ok(())
            }
            Event::Other(field) => {
                of.rows.note(Odd::OtherPacket, field);
                Ok(())
            }
            Event::End(_) => Ok(()),
        };
        self.out = out;
        done
    }
}
