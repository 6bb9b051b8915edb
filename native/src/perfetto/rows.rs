//! Rows of the JSON text: what stands in each, and where.

use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::rc::Rc;

use super::json_values::{
    argument, decimal, escape, put, quote, quote_bytes, quoted, signed, us, Written, MOST_DEPTH,
};
use super::messages::TrackEvent;
use super::names::Names;
use super::packets::{Known, Track};
use super::slices::{LOST, OPEN};
use super::survey::{Found, Notes, Odd};
use super::wire::{BadPacket, Message, Parts};

const SLICE: &[u8] = b",\n{\"ph\":\"X\",\"cat\":\"";
const MASKED: i64 = 0x7fff_ffff;

/// Where the rows of a track stand, as JSON.
pub struct Place {
    pid: Vec<u8>,
    /// Process and thread, as members of a row.
    pub both: Vec<u8>,
}

/// Writes rows of what happened.
pub struct Rows {
    pub found: Found,
    pub notes: Notes,
    pub out: Vec<u8>,
    pub place: i64,
    pub names: Names,
    pub torch: bool,
    pub subtract: i64,
    pub slice: usize,
    pub dependency: u64,
    pub places: HashMap<u64, Rc<Place>>,
    pub last_place: Option<(u64, Rc<Place>)>,
    pub written: Written,
    pub written_extras: Written,
    pub extras: Vec<u8>,
    pub named: HashSet<u64>,
    pub named_lanes: HashSet<(u64, u64)>,
    pub named_gpus: HashSet<u64>,
    pub sums: HashMap<u64, i64>,
    pub double_sums: HashMap<u64, f64>,
}

impl Rows {
    pub fn note(&mut self, odd: Odd, value: u64) {
        self.notes.add(odd, self.place, value, 1);
    }

    /// Notes a name that the file does not explain.
    pub fn lost(&mut self, iid: u64) {
        self.note(Odd::LostIid, iid);
    }
}

/// What the rows of one event are made of.
pub struct Of<'a> {
    pub rows: &'a mut Rows,
    pub known: Known<'a>,
    pub out: &'a mut Vec<u8>,
}

impl Of<'_> {
    pub fn add(&mut self, text: &[u8]) {
        self.out.extend_from_slice(text);
    }

    pub fn ts(&mut self, ns: i64) {
        self.add(b",\"ts\":");
        us(self.out, ns.wrapping_sub(self.rows.subtract));
    }

    pub fn at(&mut self, pid: impl Display, tid: impl Display) {
        put(self.out, format_args!(",\"pid\":{},\"tid\":{}", pid, tid));
    }

    // --- tracks ---

    /// Writes the names of a track's process and thread.
    pub fn describe(&mut self, uuid: u64) {
        self.rows.places.clear();
        self.rows.last_place = None;
        let tracks = self.known.tracks;
        let track = match tracks.get(&uuid) {
            Some(track) => track,
            None => return,
        };
        if track.tid != -1 {
            if !track.thread.is_empty() {
                let place = self.place(track);
                self.meta("thread_name", &place.both, "name", &quoted(&track.thread));
            }
        } else if track.pid != -1 && !track.process.is_empty() {
            if self.rows.torch && is_gpu(&track.process) {
                self.name_gpu(track.pid as u64, track.pid);
            } else {
                let place = Place::new(self.pid(track.pid), 0);
                let name = quoted(&track.process);
                self.meta("process_name", &place.both, "name", &name);
            }
        }
    }

    pub fn meta(&mut self, name: &str, place: &[u8], key: &str, value: &[u8]) {
        put(
            self.out,
            format_args!(",\n{{\"ph\":\"M\",\"name\":\"{}\"", name),
        );
        self.add(place);
        put(self.out, format_args!(",\"args\":{{\"{}\":", key));
        self.add(value);
        self.add(b"}}");
    }

    /// Once for each GPU: `key` tells them apart, `number` is what is written.
    pub fn name_gpu(&mut self, key: u64, number: impl Display) {
        if !self.rows.named_gpus.contains(&key) {
            self.rows.named_gpus.insert(key);
            let label = format!("\"GPU {}\"", number);
            let place = Place::new(number, 0);
            self.meta("process_labels", &place.both, "labels", label.as_bytes());
        }
    }

    pub fn pid(&self, pid: i64) -> i64 {
        if self.rows.torch && pid == MASKED {
            -1
        } else {
            pid
        }
    }

    pub fn place(&self, track: &Track) -> Place {
        let mut tid = track.tid;
        if self.rows.torch {
            match negative_thread(&track.thread) {
                Some(number) if number.wrapping_neg() & MASKED == tid => tid = number,
                _ if tid == MASKED => tid = -1,
                _ => {}
            }
        }
        Place::new(self.pid(track.pid), tid)
    }

    pub fn place_of(&mut self, uuid: u64) -> Rc<Place> {
        match &self.rows.last_place {
            Some((last, place)) if *last == uuid => return place.clone(),
            _ => {}
        }
        let place = match self.rows.places.get(&uuid) {
            Some(place) => place.clone(),
            None => {
                let nothing = Track::default();
                let tracks = self.known.tracks;
                let track = tracks.get(&uuid).unwrap_or(&nothing);
                let place = Rc::new(if track.tid != -1 {
                    self.place(track)
                } else {
                    self.own_place(uuid, track)
                });
                self.rows.places.insert(uuid, place.clone());
                place
            }
        };
        self.rows.last_place = Some((uuid, place.clone()));
        place
    }

    /// A thread of its own for a track that is none, in the process above it.
    pub fn own_place(&mut self, uuid: u64, track: &Track) -> Place {
        let mut above = Some(track);
        for _ in 0..MOST_DEPTH {
            above = match above {
                Some(one) if one.pid == -1 => self.known.tracks.get(&one.parent),
                _ => break,
            };
        }
        let tid = format!("\"track {}\"", uuid);
        let place = match above {
            Some(one) if one.pid != -1 => Place::new(self.pid(one.pid), tid),
            _ => Place::new("\"tracks\"", tid),
        };
        let name = if track.name.is_empty() {
            &track.process
        } else {
            &track.name
        };
        if !name.is_empty() && self.rows.named.insert(uuid) {
            self.meta("thread_name", &place.both, "name", &quoted(name));
        }
        place
    }

    // --- events of tracks ---

    #[inline]
    pub fn begin(&mut self, event: &TrackEvent) -> Result<(), BadPacket> {
        let at = self.rows.slice;
        self.rows.slice += 1;
        let durations = self
            .rows
            .found
            .slices
            .as_ref()
            .map_or(&[][..], |all| all.durations());
        match durations.get(at).copied().unwrap_or(LOST) {
            OPEN => self.event(b",\n{\"ph\":\"B\",\"cat\":\"", event, None),
            LOST => self.event(SLICE, event, None),
            dur => self.event(SLICE, event, Some(dur)),
        }
    }

    /// Writes a row that begins with `head`, up to the text of its category.
    #[inline]
    pub fn event(
        &mut self,
        head: &[u8],
        event: &TrackEvent,
        dur: Option<i64>,
    ) -> Result<(), BadPacket> {
        let place = self.place_of(event.track);
        self.add(head);
        let before = self.out.len();
        match event.category {
            _ if event.more_categories => self.categories(event)?,
            Some(iid) => self.category(iid),
            None => {}
        }
        if self.rows.torch && self.out.len() == before {
            let implied = self.implied(event.track);
            self.add(implied.as_bytes());
        }
        self.add(b"\",\"name\":");
        if let Some(name) = event.name {
            quote_bytes(self.out, name);
        } else if let Some(iid) = event.name_iid {
            self.known
                .sequence
                .event_names
                .put(self.out, iid, &mut |iid| self.rows.lost(iid));
        } else {
            self.add(b"\"\"");
        }
        self.add(&place.both);
        self.ts(self.known.ts);
        if let Some(dur) = dur {
            self.add(b",\"dur\":");
            us(self.out, dur);
        }
        self.add(b",\"args\":{");
        for (index, one) in Parts::new(event.data, 4).enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            let Rows {
                written,
                notes,
                place,
                ..
            } = &mut *self.rows;
            let sequence = &self.known.sequence;
            written.put(self.out, one, sequence.state, |out| {
                let mut lost = false;
                let mut on_lost = |iid| {
                    lost = true;
                    notes.add(Odd::LostIid, *place, iid, 1);
                };
                argument(out, one, sequence, &mut on_lost, 0, true)?;
                Ok(!lost)
            })?;
        }
        self.add(b"}}");
        Ok(())
    }

    /// Appends the name of a category without its quotes.
    #[inline]
    pub fn category(&mut self, iid: u64) {
        match self.known.sequence.categories.get(iid) {
            Some(text) => self.out.extend_from_slice(&text[1..text.len() - 1]),
            None => {
                self.rows.lost(iid);
                put(self.out, format_args!("#{}", iid));
            }
        }
    }

    /// Appends the names of several categories, or of one that is no number.
    pub fn categories(&mut self, event: &TrackEvent) -> Result<(), BadPacket> {
        let message = Message::new(event.data, 0, event.data.len())?;
        let mut some = false;
        for iid in message.numbers(3)? {
            if some {
                self.add(b",");
            }
            some = true;
            self.category(iid);
        }
        for part in message.parts(22) {
            if some {
                self.add(b",");
            }
            some = true;
            escape(self.out, &String::from_utf8_lossy(part));
        }
        Ok(())
    }

    /// The category that torch's JSON has where its protobuf has none: told by the process.
    pub fn implied(&self, uuid: u64) -> &'static str {
        let parent = self.known.tracks.get(&uuid).map_or(0, |track| track.parent);
        match self.known.tracks.get(&parent) {
            Some(process) if process.pid == MASKED => "overhead",
            Some(process) if is_gpu(&process.process) => "cuda_sync",
            _ => "",
        }
    }

    /// Writes a value of a counter that is a track.
    pub fn value(&mut self, event: &TrackEvent) -> Result<(), BadPacket> {
        let uuid = event.track;
        let nothing = Track::default();
        let tracks = self.known.tracks;
        let track = tracks.get(&uuid).unwrap_or(&nothing);
        let place = self.place_of(uuid);
        let mut text = Vec::new();
        if let Some(real) = event.real {
            let mut real = real * track.unit_factor as f64;
            if track.incremental {
                let sum = self.rows.double_sums.entry(uuid).or_insert(0.0);
                *sum += real;
                real = *sum;
            }
            decimal(&mut text, real);
        } else if let Some(whole) = event.whole {
            let mut whole = whole.wrapping_mul(track.unit_factor) as i64;
            if track.incremental {
                let sum = self.rows.sums.entry(uuid).or_insert(0);
                *sum = sum.wrapping_add(whole);
                whole = *sum;
            }
            signed(&mut text, whole);
        } else {
            return Err(BadPacket);
        }
        self.add(b",\n{\"ph\":\"C\",\"name\":");
        quote(self.out, &track.name);
        self.add(b",\"pid\":");
        self.add(&place.pid);
        self.ts(self.known.ts);
        self.add(b",\"args\":{");
        let unit = if track.unit.is_empty() {
            "value"
        } else {
            &track.unit
        };
        quote(self.out, unit);
        self.add(b":");
        self.add(&text);
        self.add(b"}}");
        Ok(())
    }
}

impl Place {
    pub fn new(pid: impl Display, tid: impl Display) -> Place {
        let pid = pid.to_string().into_bytes();
        let mut both = b",\"pid\":".to_vec();
        both.extend_from_slice(&pid);
        put(&mut both, format_args!(",\"tid\":{}", tid));
        Place { pid, both }
    }
}

pub fn digits(text: &[u8], most: usize) -> bool {
    (1..=most).contains(&text.len()) && text.iter().all(u8::is_ascii_digit)
}

fn is_gpu(process: &str) -> bool {
    process
        .strip_prefix("GPU ")
        .map_or(false, |number| digits(number.as_bytes(), 9))
}

fn negative_thread(name: &str) -> Option<i64> {
    let number = name.strip_prefix("thread -")?;
    if !digits(number.as_bytes(), 18) {
        return None;
    }
    number.parse().ok()
}
