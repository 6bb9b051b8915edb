//! The second pass over a file: packets as the JSON text of a trace.

use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

use super::json_values::{
    argument, decimal, escape, int, put, quote, quoted, signed, us, MOST_DEPTH,
};
use super::packets::{counter_names, CounterNames, Event, Kind, Packets, Sequence, Track, STAGES};
use super::slices::{LOST, OPEN};
use super::survey::{lane_of, Notes, Odd, Survey};
use super::wire::{pair, BadPacket, Frames, Message, Taken};

const FIRST_DEPENDENCY: u64 = 1 << 40;
const CATEGORIES: [&str; 6] = [
    "kernel",
    "gpu_memcpy",
    "gpu_memset",
    "gpu_user_annotation",
    "graph_event_node",
    "graph_host_node",
];
const HOST_NODE: &str = "HostNode";
const MASKED: i64 = 0x7fff_ffff;

/// How an argument of a device's work is written: its name as JSON, and whether it is an integer.
struct Known {
    name: Vec<u8>,
    int: bool,
}

/// Which arguments are integers, and which have another name in torch's JSON. Keys are not of the file, so a
/// simple hash does.
pub struct Names(HashMap<String, Known, BuildHasherDefault<Fnv>>);

#[derive(Default)]
pub struct Fnv(u64);

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl Names {
    /// `table` has lines "int\tkey" and "name\tkey\tname".
    pub fn new(table: &[u8]) -> Names {
        let text = String::from_utf8_lossy(table);
        let lines: Vec<Vec<&str>> = text
            .split('\n')
            .map(|one| one.split('\t').collect())
            .collect();
        let ints: HashSet<&str> = lines
            .iter()
            .filter(|line| line.len() == 2)
            .map(|line| line[1])
            .collect();
        let mut names = Names(HashMap::default());
        for line in &lines {
            if line.len() < 2 {
                continue;
            }
            let name = line[line.len() - 1];
            if line.len() == 3 || !names.0.contains_key(name) {
                let known = Known {
                    name: quoted(name),
                    int: ints.contains(name),
                };
                names.0.insert(line[1].to_owned(), known);
            }
        }
        names
    }

    /// Appends the name of an argument; whether it is an integer.
    fn put(&self, out: &mut Vec<u8>, key: &str) -> bool {
        match self.0.get(key) {
            Some(known) => {
                out.extend_from_slice(&known.name);
                known.int
            }
            None => {
                quote(out, key);
                false
            }
        }
    }
}

/// Process and thread of a row, as JSON.
type Place = Rc<(Vec<u8>, Vec<u8>)>;

pub struct RowWriter {
    pub survey: Survey,
    pub notes: Notes,
    frames: Frames,
    packets: Packets,
    rows: Rows,
    begun: bool,
}

/// Everything but the packets, so that both may be borrowed at once.
struct Rows {
    names: Names,
    torch: bool,
    subtract: i64,
    slice: usize,
    dependency: u64,
    places: HashMap<u64, Place>,
    named: HashSet<u64>,
    named_lanes: HashSet<(u64, u64)>,
    named_gpus: HashSet<u64>,
    sums: HashMap<u64, i64>,
    double_sums: HashMap<u64, f64>,
    scratch: Vec<u8>,
}

impl RowWriter {
    pub fn new(survey: Survey, names: Names, subtract: i64) -> RowWriter {
        let torch = survey.packets.from_torch;
        RowWriter {
            survey,
            notes: Notes::default(),
            frames: Frames::default(),
            packets: Packets::default(),
            rows: Rows {
                names,
                torch,
                subtract,
                slice: 0,
                dependency: FIRST_DEPENDENCY,
                places: HashMap::new(),
                named: HashSet::new(),
                named_lanes: HashSet::new(),
                named_gpus: HashSet::new(),
                sums: HashMap::new(),
                double_sums: HashMap::new(),
                scratch: Vec::new(),
            },
            begun: false,
        }
    }

    /// Takes the next bytes of the file, and appends the text of the rows that they end.
    pub fn feed(&mut self, piece: &[u8], last: bool, out: &mut Vec<u8>) {
        let start = out.len();
        let mut frames = std::mem::take(&mut self.frames);
        frames.feed(piece, last, |taken| self.take(taken, out));
        self.frames = frames;
        if !self.begun && out.len() > start {
            self.begun = true;
            out.remove(start); // no comma before the first row
        }
    }

    fn take(&mut self, taken: Taken, out: &mut Vec<u8>) {
        if let Taken::Packet {
            place,
            bytes,
            message,
        } = taken
        {
            let before = out.len();
            if self.packet(place as i64, &message, out).is_err() {
                out.truncate(before);
                self.notes.add(Odd::BadPacket, place as i64, bytes, 1);
            }
        }
    }

    fn packet(
        &mut self,
        place: i64,
        message: &Message,
        out: &mut Vec<u8>,
    ) -> Result<(), BadPacket> {
        let mut events = Vec::new();
        let number = self.packets.read(message, &mut events)?;
        let Packets {
            tracks, sequences, ..
        } = &mut self.packets;
        let sequence = match sequences.get_mut(&number) {
            Some(sequence) => sequence,
            None => return Ok(()),
        };
        let notes = &mut self.notes;
        for event in &events {
            let mut on_lost = |iid| notes.add(Odd::LostIid, place, iid, 1);
            let mut of = Of {
                rows: &mut self.rows,
                survey: &self.survey,
                tracks,
                sequence,
                out,
                on_lost: &mut on_lost,
            };
            match (event.kind, &event.message) {
                (Kind::Other, _) => notes.add(Odd::OtherPacket, place, event.track, 1),
                (Kind::Track, _) => of.describe(event.track),
                (Kind::Begin, Some(message)) => of.begin(event, message)?,
                (Kind::Instant, Some(message)) => {
                    of.event(b"\"ph\":\"i\",\"s\":\"t\"", event, message, None)?
                }
                (Kind::Value, Some(message)) => of.value(event, message)?,
                (Kind::Stage, Some(message)) => of.stage(event, message)?,
                (Kind::Counters, Some(message)) => of.counters(event, message)?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// What the rows of one event are made of.
struct Of<'a> {
    rows: &'a mut Rows,
    survey: &'a Survey,
    tracks: &'a HashMap<u64, Track>,
    sequence: &'a mut Sequence,
    out: &'a mut Vec<u8>,
    on_lost: &'a mut dyn FnMut(u64),
}

impl Of<'_> {
    fn add(&mut self, text: &[u8]) {
        self.out.extend_from_slice(text);
    }

    fn ts(&mut self, ns: i64) {
        self.add(b",\"ts\":");
        us(self.out, ns.wrapping_sub(self.rows.subtract));
    }

    fn at(&mut self, pid: &[u8], tid: &[u8]) {
        self.add(b",\"pid\":");
        self.add(pid);
        self.add(b",\"tid\":");
        self.add(tid);
    }

    // --- tracks ---

    /// Writes the names of a track's process and thread.
    fn describe(&mut self, uuid: u64) {
        self.rows.places.clear();
        let track = match self.tracks.get(&uuid) {
            Some(track) => track.clone(),
            None => return,
        };
        if track.tid != -1 {
            if !track.thread.is_empty() {
                let place = self.place(&track);
                self.meta(
                    "thread_name",
                    &place.0,
                    &place.1,
                    "name",
                    &quoted(&track.thread),
                );
            }
        } else if track.pid != -1 && !track.process.is_empty() {
            if self.rows.torch && is_gpu(&track.process) {
                self.name_gpu(track.pid as u64, track.pid);
            } else {
                let pid = self.pid(track.pid);
                self.meta("process_name", &pid, b"0", "name", &quoted(&track.process));
            }
        }
    }

    fn meta(&mut self, name: &str, pid: &[u8], tid: &[u8], key: &str, value: &[u8]) {
        put(
            self.out,
            format_args!(",\n{{\"ph\":\"M\",\"name\":\"{}\"", name),
        );
        self.at(pid, tid);
        put(self.out, format_args!(",\"args\":{{\"{}\":", key));
        self.add(value);
        self.add(b"}}");
    }

    /// Once for each GPU: `key` tells them apart, `number` is what is written.
    fn name_gpu(&mut self, key: u64, number: impl Display) {
        if self.rows.named_gpus.insert(key) {
            let (pid, label) = (number.to_string(), format!("\"GPU {}\"", number));
            self.meta(
                "process_labels",
                pid.as_bytes(),
                b"0",
                "labels",
                label.as_bytes(),
            );
        }
    }

    fn pid(&self, pid: i64) -> Vec<u8> {
        if self.rows.torch && pid == MASKED {
            b"-1".to_vec()
        } else {
            pid.to_string().into_bytes()
        }
    }

    fn place(&self, track: &Track) -> Place {
        let mut tid = track.tid;
        if self.rows.torch {
            match negative_thread(&track.thread) {
                Some(number) if number.wrapping_neg() & MASKED == tid => tid = number,
                _ if tid == MASKED => tid = -1,
                _ => {}
            }
        }
        Rc::new((self.pid(track.pid), tid.to_string().into_bytes()))
    }

    fn place_of(&mut self, uuid: u64) -> Place {
        if let Some(place) = self.rows.places.get(&uuid) {
            return place.clone();
        }
        let nothing = Track::default();
        let tracks = self.tracks;
        let track = tracks.get(&uuid).unwrap_or(&nothing);
        let place = if track.tid != -1 {
            self.place(track)
        } else {
            self.own_place(uuid, track)
        };
        self.rows.places.insert(uuid, place.clone());
        place
    }

    /// A thread of its own for a track that is none, in the process above it.
    fn own_place(&mut self, uuid: u64, track: &Track) -> Place {
        let mut above = Some(track);
        for _ in 0..MOST_DEPTH {
            above = match above {
                Some(one) if one.pid == -1 => self.tracks.get(&one.parent),
                _ => break,
            };
        }
        let pid = match above {
            Some(one) if one.pid != -1 => self.pid(one.pid),
            _ => b"\"tracks\"".to_vec(),
        };
        let tid = format!("\"track {}\"", uuid).into_bytes();
        let name = if track.name.is_empty() {
            &track.process
        } else {
            &track.name
        };
        if !name.is_empty() && self.rows.named.insert(uuid) {
            self.meta("thread_name", &pid, &tid, "name", &quoted(name));
        }
        Rc::new((pid, tid))
    }

    // --- events of tracks ---

    fn begin(&mut self, event: &Event, message: &Message) -> Result<(), BadPacket> {
        let at = self.rows.slice;
        self.rows.slice += 1;
        let durations = self
            .survey
            .slices
            .as_ref()
            .map_or(&[][..], |all| all.durations());
        let dur = durations.get(at).copied().unwrap_or(LOST);
        let phase: &[u8] = if dur == OPEN {
            b"\"ph\":\"B\""
        } else {
            b"\"ph\":\"X\""
        };
        let known = if dur == OPEN || dur == LOST {
            None
        } else {
            Some(dur)
        };
        self.event(phase, event, message, known)
    }

    fn event(
        &mut self,
        phase: &[u8],
        event: &Event,
        message: &Message,
        dur: Option<i64>,
    ) -> Result<(), BadPacket> {
        let place = self.place_of(event.track);
        let mut name = std::mem::take(&mut self.rows.scratch);
        name.clear();
        if message.has(23) {
            quote(&mut name, &message.text(23));
        } else if let Some(iid) = message.int(10) {
            self.sequence.event_names.put(&mut name, iid, self.on_lost);
        } else {
            name.extend_from_slice(b"\"\"");
        }
        self.add(b",\n{");
        self.add(phase);
        self.add(b",\"cat\":\"");
        let before = self.out.len();
        let mut some = false;
        for iid in message.numbers(3)? {
            if some {
                self.add(b",");
            }
            some = true;
            let at = self.out.len();
            self.sequence.categories.put(self.out, iid, self.on_lost);
            self.out.pop(); // its quotes
            self.out.remove(at);
        }
        for part in message.parts(22) {
            if some {
                self.add(b",");
            }
            some = true;
            escape(self.out, &String::from_utf8_lossy(part));
        }
        if self.rows.torch && self.out.len() == before {
            let implied = self.implied(event.track);
            self.add(implied.as_bytes());
        }
        self.add(b"\",\"name\":");
        self.add(&name);
        self.rows.scratch = name;
        self.at(&place.0, &place.1);
        self.ts(event.ts);
        if let Some(dur) = dur {
            self.add(b",\"dur\":");
            us(self.out, dur);
        }
        self.add(b",\"args\":{");
        for (index, one) in message.parts(4).enumerate() {
            if index > 0 {
                self.add(b",");
            }
            argument(self.out, one, self.sequence, self.on_lost, 0, true)?;
        }
        self.add(b"}}");
        Ok(())
    }

    /// The category that torch's JSON has where its protobuf has none: told by the process.
    fn implied(&self, uuid: u64) -> &'static str {
        let parent = self.tracks.get(&uuid).map_or(0, |track| track.parent);
        match self.tracks.get(&parent) {
            Some(process) if process.pid == MASKED => "overhead",
            Some(process) if is_gpu(&process.process) => "cuda_sync",
            _ => "",
        }
    }

    /// Writes a value of a counter that is a track.
    fn value(&mut self, event: &Event, message: &Message) -> Result<(), BadPacket> {
        let uuid = event.track;
        let track = self.tracks.get(&uuid).cloned().unwrap_or_default();
        let place = self.place_of(uuid);
        let mut text = Vec::new();
        if let Some(real) = message.double(44) {
            let mut real = real * track.unit_factor as f64;
            if track.incremental {
                let sum = self.rows.double_sums.entry(uuid).or_insert(0.0);
                *sum += real;
                real = *sum;
            }
            decimal(&mut text, real);
        } else if let Some(whole) = message.int(30) {
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
        self.add(&place.0);
        self.ts(event.ts);
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

    // --- devices ---

    /// Writes the work of a device.
    fn stage(&mut self, event: &Event, message: &Message) -> Result<(), BadPacket> {
        let gpu = message.number(11);
        let spec = self
            .sequence
            .specs
            .get(message.number(14))
            .cloned()
            .unwrap_or_default();
        let mut title = Vec::new();
        if let Some(iid) = message.int(20) {
            self.sequence.event_names.put(&mut title, iid, self.on_lost);
        } else if let Some(iid) = message.int(19) {
            self.sequence.kernels.put(&mut title, iid, self.on_lost);
        } else {
            quote(&mut title, &spec);
        }
        let mut extras = Vec::new();
        for one in message.parts(6) {
            extras.push(pair(one)?);
        }
        let dur = message.number(2) as i64;
        if !self.rows.torch {
            let lane = message.number(13);
            let label = self.sequence.specs.get(lane).cloned();
            self.add(b",\n{\"ph\":\"X\",\"cat\":\"gpu_render_stage\",\"name\":");
            self.add(&title);
            put(self.out, format_args!(",\"pid\":\"GPU {}\",\"tid\":", gpu));
            quote(self.out, &label.unwrap_or_else(|| format!("lane {}", lane)));
            self.ts(event.ts);
            self.add(b",\"dur\":");
            us(self.out, dur);
            self.add(b",\"args\":{");
            for (index, (key, value)) in extras.iter().enumerate() {
                if index > 0 {
                    self.add(b",");
                }
                quote(self.out, key);
                self.add(b":");
                quote(self.out, value);
            }
            self.add(b"}}");
            return Ok(());
        }
        if spec == HOST_NODE {
            if let Some((_, function)) = extras.iter().find(|(key, _)| key == "host fn") {
                title = quoted(&format!("{}: {}", HOST_NODE, function));
            }
        }
        let (lane, label) = lane_of(self.sequence, message.number(13));
        let label = (!self.rows.named_lanes.contains(&(gpu, lane))).then(|| label.into_owned());
        self.name_gpu(gpu, gpu);
        let (pid, tid) = (gpu.to_string(), lane.to_string());
        if let Some(label) = label {
            self.rows.named_lanes.insert((gpu, lane));
            self.meta(
                "thread_name",
                pid.as_bytes(),
                tid.as_bytes(),
                "name",
                &quoted(&label),
            );
        }
        let stage = STAGES.iter().position(|one| *one == spec);
        let category = stage.map_or("gpu_render_stage", |at| CATEGORIES[at]);
        put(
            self.out,
            format_args!(",\n{{\"ph\":\"X\",\"cat\":\"{}\",\"name\":", category),
        );
        self.add(&title);
        self.at(pid.as_bytes(), tid.as_bytes());
        self.ts(event.ts);
        self.add(b",\"dur\":");
        us(self.out, dur);
        self.add(b",\"args\":{");
        let before = self.out.len();
        self.launch(message)?;
        for (key, value) in &extras {
            self.extra(key, value, &tid);
        }
        if self.out.len() > before {
            self.out.remove(before); // no comma before the first
        }
        self.add(b"}}");
        for wait in message.numbers(18)? {
            self.waits(wait, &pid, &tid, event.ts);
        }
        Ok(())
    }

    fn waits(&mut self, event: u64, pid: &str, tid: &str, ts: i64) {
        let number = self.rows.dependency;
        self.rows.dependency += 1;
        let flow = format!("\"id\":{},\"cat\":\"ac2g\",\"name\":\"ac2g\"", number);
        let survey = self.survey;
        if let Some((ns, gpu, lane)) = survey.end_of(event) {
            put(self.out, format_args!(",\n{{\"ph\":\"s\",{}", flow));
            self.at(gpu.to_string().as_bytes(), lane.to_string().as_bytes());
            self.ts(ns);
            self.add(b"}");
        }
        put(self.out, format_args!(",\n{{\"ph\":\"f\",{}", flow));
        self.at(pid.as_bytes(), tid.as_bytes());
        self.ts(ts);
        self.add(b",\"bp\":\"e\"}");
    }

    /// Grid, block and the numbers of a launch, each behind a comma.
    fn launch(&mut self, message: &Message) -> Result<(), BadPacket> {
        for launch in message.messages(21) {
            let launch = launch?;
            for (number, name) in [(1, "grid"), (2, "block")] {
                for size in launch.messages(number) {
                    let size = size?;
                    put(self.out, format_args!(",\"{}\":[", name));
                    for axis in 1..=3 {
                        if axis > 1 {
                            self.add(b",");
                        }
                        int(self.out, size.number(axis));
                    }
                    self.add(b"]");
                }
            }
            for one in launch.messages(3) {
                let one = one?;
                let iid = one.number(1);
                let key = self.sequence.launch_args.get(iid).cloned();
                let key = key.unwrap_or_else(|| format!("#{}", iid));
                self.add(b",");
                self.rows.names.put(self.out, &key);
                self.add(b":");
                int(self.out, one.int(4).unwrap_or_else(|| one.number(3)));
            }
        }
        Ok(())
    }

    /// A pair of texts of a device's work, behind a comma.
    fn extra(&mut self, key: &str, value: &str, lane: &str) {
        let integer = is_integer(value);
        if key == "stream id" {
            put(self.out, format_args!(",\"stream\":{}", lane));
            if value != lane {
                self.add(b",\"original_stream\":");
                self.text_or_int(value, integer);
            }
            return;
        }
        self.out.push(b',');
        let int = self.rows.names.put(self.out, key);
        self.add(b":");
        self.text_or_int(value, integer && int);
    }

    fn text_or_int(&mut self, value: &str, integer: bool) {
        if integer {
            self.add(value.as_bytes());
        } else {
            quote(self.out, value);
        }
    }

    /// Writes the values of a device's counters.
    fn counters(&mut self, event: &Event, message: &Message) -> Result<(), BadPacket> {
        if message.has(1) {
            self.sequence.own_counters = Some(CounterNames {
                gpu: message.number(3),
                names: counter_names(message, 1)?,
            });
        }
        let nothing = CounterNames {
            gpu: message.number(3),
            names: Default::default(),
        };
        let Of {
            rows,
            sequence,
            out,
            on_lost,
            ..
        } = self;
        let found = match message.int(4) {
            Some(iid) => sequence.counters.get(&iid),
            None => sequence.own_counters.as_ref(),
        };
        let found = found.unwrap_or(&nothing);
        for one in message.messages(2) {
            let one = one?;
            out.extend_from_slice(b",\n{\"ph\":\"C\",\"name\":");
            found.names.put(out, one.number(1), on_lost);
            put(
                out,
                format_args!(",\"pid\":\"GPU {} Counters\",\"ts\":", found.gpu),
            );
            us(out, event.ts.wrapping_sub(rows.subtract));
            out.extend_from_slice(b",\"args\":{\"\":");
            if let Some(value) = one.double(3) {
                decimal(out, value);
            } else if let Some(value) = one.int(2) {
                signed(out, value as i64);
            } else {
                out.extend_from_slice(b"null");
            }
            out.extend_from_slice(b"}}");
        }
        Ok(())
    }
}

fn digits(text: &str, most: usize) -> bool {
    (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_gpu(process: &str) -> bool {
    process
        .strip_prefix("GPU ")
        .map_or(false, |number| digits(number, 9))
}

fn negative_thread(name: &str) -> Option<i64> {
    let number = name.strip_prefix("thread -")?;
    if !digits(number, 18) {
        return None;
    }
    number.parse().ok()
}

fn is_integer(value: &str) -> bool {
    let number = value.strip_prefix('-').unwrap_or(value);
    digits(number, 18) && (number == "0" || !number.starts_with('0'))
}
