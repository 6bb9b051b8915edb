//! What do the packets of a file say? Names, clocks and tracks, resolved packet by packet.

use std::collections::HashMap;

use super::json_values::quoted;
use super::messages::{Counters, Packet, Stage, TrackEvent};
use super::sequence::{Clock, CounterNames, Sequence, Spec, Table};
use super::wire::{BadPacket, Message};

const BOOT: u64 = 6;
const REAL: u64 = 1;
const CLEARED: u64 = 1;
/// Names of the render stages 1 to 6 in a file that torch wrote, and in no other.
pub const STAGES: [&str; 6] = [
    "Kernel",
    "Memcpy",
    "Memset",
    "Annotation",
    "EventRecord",
    "HostNode",
];
const HOUSEKEEPING: [u64; 18] = [
    2, 6, 9, 12, 33, 34, 35, 36, 41, 42, 43, 44, 45, 59, 60, 69, 87, 89,
];

/// A track as its descriptor says it; −1: not said.
#[derive(Clone)]
pub struct Track {
    pub name: String,
    pub parent: u64,
    pub pid: i64,
    pub tid: i64,
    pub process: String,
    pub thread: String,
    pub unit: String,
    pub unit_factor: u64,
    pub incremental: bool,
}

impl Default for Track {
    fn default() -> Track {
        Track {
            name: String::new(),
            parent: 0,
            pid: -1,
            tid: -1,
            process: String::new(),
            thread: String::new(),
            unit: String::new(),
            unit_factor: 1,
            incremental: false,
        }
    }
}

/// What happened.
pub enum Event<'e, 'a> {
    /// The track with this number was described.
    Track(u64),
    Begin(&'e TrackEvent<'a>),
    End(&'e TrackEvent<'a>),
    Instant(&'e TrackEvent<'a>),
    Value(&'e TrackEvent<'a>),
    Stage(&'e Stage<'a>),
    Counters(&'e Counters<'a>),
    /// A packet that is not read: the highest number of a field with bytes.
    Other(u64),
}

impl<'e, 'a> Event<'e, 'a> {
    /// None where it is of no kind that is known.
    #[inline(always)]
    fn of_track(event: &'e TrackEvent<'a>) -> Option<Event<'e, 'a>> {
        match event.kind {
            1 => Some(Event::Begin(event)),
            2 => Some(Event::End(event)),
            3 => Some(Event::Instant(event)),
            4 => Some(Event::Value(event)),
            _ => None,
        }
    }
}

/// What is known when something happens.
pub struct Known<'k> {
    pub ts: i64,
    pub from_torch: bool,
    pub tracks: &'k HashMap<u64, Track>,
    /// What the one who says it has said before.
    pub sequence: &'k mut Sequence,
}

/// Takes what happened.
pub trait Happened {
    fn take(&mut self, event: Event, known: Known) -> Result<(), BadPacket>;
}

/// Makes events of packets, in the order of the file.
#[derive(Default)]
pub struct Packets {
    pub from_torch: bool,
    tracks: HashMap<u64, Track>,
    sequences: Vec<Sequence>,
    places: HashMap<u64, usize>,
    last: Option<(u64, usize)>,
    states: u64,
    offsets: HashMap<u64, i64>,
    begun: bool,
    equal_clocks: bool,
}

impl Packets {
    /// Gives the events of a packet, if all of them can be read.
    #[inline(always)]
    pub fn read(&mut self, packet: &Packet, to: &mut impl Happened) -> Result<(), BadPacket> {
        let place = self.sequence(packet.sequence);
        if packet.flags & CLEARED > 0 {
            self.clear(place);
        }
        let first = !self.begun;
        self.begun = true;
        let (number, data) = match packet.event {
            Some(event) if !packet.more => event,
            _ => return self.read_any(packet, place, first, to),
        };
        let sequence = &mut self.sequences[place];
        let ts = time(sequence, &self.offsets, packet)?;
        let track = sequence.track;
        let known = Known {
            ts,
            from_torch: self.from_torch,
            tracks: &self.tracks,
            sequence,
        };
        match number {
            11 => {
                let event = TrackEvent::new(data, track)?;
                to.take(Event::of_track(&event).unwrap_or(Event::Other(11)), known)
            }
            53 => to.take(Event::Stage(&Stage::new(data)?), known),
            _ => to.take(Event::Counters(&Counters::new(data)?), known),
        }
    }

    /// As `read`, for what else packets hold.
    #[inline(never)]
    fn read_any(
        &mut self,
        packet: &Packet,
        place: usize,
        first: bool,
        to: &mut impl Happened,
    ) -> Result<(), BadPacket> {
        let message = Message::new(packet.data, 0, packet.data.len())?;
        let described = self.told(&message, place, first)?;
        let sequence = &mut self.sequences[place];
        let mut ts = 0;
        let (mut on_tracks, mut work, mut counters) = (Vec::new(), Vec::new(), Vec::new());
        let housekeeping = message
            .part_numbers()
            .all(|one| HOUSEKEEPING.contains(&one));
        if !housekeeping {
            ts = time(sequence, &self.offsets, packet)?;
            for part in message.parts(11) {
                on_tracks.push(TrackEvent::new(part, sequence.track)?);
            }
            for part in message.parts(53) {
                work.push(Stage::new(part)?);
            }
            for part in message.parts(52) {
                counters.push(Counters::new(part)?);
            }
        }
        let known_kind = on_tracks.iter().any(|one| (1..=4).contains(&one.kind));
        let other = !housekeeping && !known_kind && work.is_empty() && counters.is_empty();
        let most = message.part_numbers().max().unwrap_or(0);
        let events = described
            .into_iter()
            .map(Event::Track)
            .chain(on_tracks.iter().filter_map(Event::of_track))
            .chain(work.iter().map(Event::Stage))
            .chain(counters.iter().map(Event::Counters))
            .chain(other.then_some(Event::Other(most)));
        for event in events {
            let known = Known {
                ts,
                from_torch: self.from_torch,
                tracks: &self.tracks,
                sequence: &mut self.sequences[place],
            };
            to.take(event, known)?;
        }
        Ok(())
    }

    #[cold]
    fn clear(&mut self, place: usize) {
        let sequence = &mut self.sequences[place];
        self.states += 1;
        *sequence = Sequence {
            clocks: std::mem::take(&mut sequence.clocks),
            state: self.states,
            ..Sequence::default()
        };
    }

    /// Where the sequence with this number is.
    fn sequence(&mut self, number: u64) -> usize {
        match self.last {
            Some((last, place)) if last == number => place,
            _ => {
                let (sequences, states) = (&mut self.sequences, &mut self.states);
                let place = *self.places.entry(number).or_insert_with(|| {
                    *states += 1;
                    sequences.push(Sequence {
                        state: *states,
                        ..Sequence::default()
                    });
                    sequences.len() - 1
                });
                self.last = Some((number, place));
                place
            }
        }
    }

    /// Takes defaults, clocks, names and tracks; the numbers of the tracks.
    fn told(
        &mut self,
        message: &Message,
        place: usize,
        first: bool,
    ) -> Result<Vec<u64>, BadPacket> {
        let sequence = &mut self.sequences[place];
        let mut described = Vec::new();
        for part in message.messages(59) {
            let part = part?;
            sequence.clock = part.int(58);
            // Where it cannot be read, what was said before stays.
            let mut track = 0;
            for one in part.messages(11) {
                if let Some(told) = one?.int(11) {
                    track = told;
                    break;
                }
            }
            sequence.track = track;
        }
        for part in message.messages(6) {
            snapshot(
                sequence,
                &mut self.offsets,
                &part?,
                first.then_some(&mut self.equal_clocks),
            )?;
        }
        for part in message.messages(12) {
            self.states += 1;
            sequence.state = self.states;
            interned(sequence, &part?)?;
            if self.equal_clocks && !self.from_torch {
                self.from_torch = STAGES.iter().enumerate().all(|(iid, name)| {
                    let spec = sequence.specs.get(iid as u64 + 1);
                    spec.map(|one| one.text.as_str()) == Some(name)
                });
            }
        }
        for part in message.messages(60) {
            let (uuid, track) = track_of(&part?)?;
            self.tracks.insert(uuid, track);
            described.push(uuid);
        }
        Ok(described)
    }
}

fn snapshot(
    sequence: &mut Sequence,
    offsets: &mut HashMap<u64, i64>,
    part: &Message,
    equal: Option<&mut bool>,
) -> Result<(), BadPacket> {
    let mut order = Vec::new();
    let mut clocks: HashMap<u64, Clock> = HashMap::new();
    for one in part.messages(1) {
        let one = one?;
        let clock = Clock {
            offset: 0,
            unit_ns: one.number(4).max(1) as i64,
            incremental: one.number(3) > 0,
            value: one.number(2) as i64,
        };
        if clocks.insert(one.number(1), clock).is_none() {
            order.push(one.number(1));
        }
    }
    let boot = match clocks.get(&BOOT) {
        Some(clock) => clock.value,
        None => return Ok(()),
    };
    if let Some(equal) = equal {
        *equal = clocks.get(&REAL).map_or(false, |real| real.value == boot);
    }
    for number in order {
        let mut clock = clocks[&number];
        clock.offset = boot.wrapping_sub(clock.value.wrapping_mul(clock.unit_ns));
        if (64..128).contains(&number) {
            sequence.clocks.insert(number, clock);
        } else if number != BOOT {
            offsets.entry(number).or_insert(clock.offset);
        }
    }
    Ok(())
}

#[inline]
fn time(
    sequence: &mut Sequence,
    offsets: &HashMap<u64, i64>,
    packet: &Packet,
) -> Result<i64, BadPacket> {
    if packet.ts >= 1 << 63 {
        return Err(BadPacket);
    }
    let ts = packet.ts as i64;
    let number = packet.clock.or(sequence.clock).unwrap_or(BOOT);
    if number == BOOT {
        return Ok(ts);
    }
    match sequence.clocks.get_mut(&number) {
        None => Ok(ts.wrapping_add(offsets.get(&number).copied().unwrap_or(0))),
        Some(clock) => {
            let mut ts = ts;
            if clock.incremental {
                clock.value = clock.value.wrapping_add(ts);
                ts = clock.value;
            }
            Ok(clock.offset.wrapping_add(ts.wrapping_mul(clock.unit_ns)))
        }
    }
}

fn interned(sequence: &mut Sequence, part: &Message) -> Result<(), BadPacket> {
    let tables = [
        (1, &mut sequence.categories, 2),
        (2, &mut sequence.event_names, 2),
        (3, &mut sequence.arg_names, 2),
        (29, &mut sequence.arg_texts, 2),
        (1000, &mut sequence.kernels, 3),
    ];
    for (number, table, text) in tables {
        for one in part.messages(number) {
            let one = one?;
            table.set(one.number(1), quoted(&one.text(text)));
        }
    }
    for one in part.messages(24) {
        let one = one?;
        let spec = Spec::new(one.text(2).into_owned());
        sequence.specs.set(one.number(1), spec);
    }
    for one in part.messages(1001) {
        let one = one?;
        sequence
            .launch_args
            .set(one.number(1), one.text(2).into_owned());
    }
    for one in part.messages(47) {
        let one = one?;
        let names = counter_names(&one, 2)?;
        let counters = CounterNames::new(one.number(3), names);
        sequence.counters.insert(one.number(1), counters);
    }
    Ok(())
}

/// The quoted names of counters by their ids, from the descriptors with this number.
pub fn counter_names(message: &Message, number: u64) -> Result<Table<Vec<u8>>, BadPacket> {
    let mut names = Table::default();
    for descriptor in message.messages(number) {
        for spec in descriptor?.messages(1) {
            let spec = spec?;
            names.set(spec.number(1), quoted(&spec.text(2)));
        }
    }
    Ok(names)
}

fn track_of(part: &Message) -> Result<(u64, Track), BadPacket> {
    let mut track = Track {
        name: part.text(10).into_owned(),
        parent: part.number(5),
        ..Track::default()
    };
    if track.name.is_empty() {
        track.name = part.text(2).into_owned();
    }
    for one in part.messages(3) {
        let one = one?;
        track.pid = one.number(1) as i64;
        track.process = one.text(6).into_owned();
    }
    for one in part.messages(4) {
        let one = one?;
        track.pid = one.number(1) as i64;
        track.tid = one.number(2) as i64;
        track.thread = one.text(5).into_owned();
    }
    for one in part.messages(8) {
        let one = one?;
        track.unit = one.text(6).into_owned();
        track.unit_factor = one.number(4).max(1);
        track.incremental = one.number(5) > 0;
    }
    Ok((part.number(1), track))
}
