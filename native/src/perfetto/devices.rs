//! Rows of devices: their work, what it waited for, their counters.

use super::json_values::{decimal, int, put, quote, quote_bytes, quoted, signed, us};
use super::messages::{CounterValue, Counters, Stage};
use super::packets::{counter_names, STAGES};
use super::rows::{digits, Of, Place, Rows};
use super::sequence::CounterNames;
use super::wire::{each_field, pair, BadPacket, Message, Parts, Wire};

const CATEGORIES: [&str; 6] = [
    "kernel",
    "gpu_memcpy",
    "gpu_memset",
    "gpu_user_annotation",
    "graph_event_node",
    "graph_host_node",
];
const HOST_NODE: &str = "HostNode";

impl Rows {
    /// Writes the pairs of texts of a device's work to `extras`, each behind a comma.
    #[inline]
    fn put_extras(&mut self, work: &Stage, lane: u64) -> Result<(), BadPacket> {
        let Rows {
            extras,
            written_extras,
            names,
            torch,
            ..
        } = self;
        extras.clear();
        for one in Parts::new(work.data, 6) {
            written_extras.put(extras, one, 0, |out| {
                let (key, value) = pair(one)?;
                let of_lane = *torch && key == b"stream id";
                if of_lane {
                    stream(out, value, lane);
                } else if *torch {
                    out.push(b',');
                    let int = names.put(out, key);
                    out.push(b':');
                    text_or_int(out, value, int && is_integer(value));
                } else {
                    out.push(b',');
                    quote_bytes(out, key);
                    out.push(b':');
                    quote_bytes(out, value);
                }
                Ok(!of_lane)
            })?;
        }
        Ok(())
    }
}

impl Of<'_> {
    /// Writes the work of a device.
    pub fn stage(&mut self, work: &Stage) -> Result<(), BadPacket> {
        let (lane, label) = self.known.sequence.lane(work.lane);
        if let Err(bad) = self.rows.put_extras(work, lane) {
            self.title(work); // notes a lost name; what is written goes with the packet
            return Err(bad);
        }
        let spec = self.known.sequence.specs.get(work.stage);
        let stage = spec.and_then(|spec| STAGES.iter().position(|one| *one == spec.text));
        let host_node = stage.map_or(false, |at| STAGES[at] == HOST_NODE);
        let category = match stage {
            Some(at) if self.rows.torch => CATEGORIES[at],
            _ => "gpu_render_stage",
        };
        if self.rows.torch {
            let lanes = &self.rows.named_lanes;
            let label = (!lanes.contains(&(work.gpu, lane))).then(|| quoted(&label));
            self.name_gpu(work.gpu, work.gpu);
            if let Some(label) = label {
                self.rows.named_lanes.insert((work.gpu, lane));
                let place = Place::new(work.gpu, lane);
                self.meta("thread_name", &place.both, "name", &label);
            }
        }
        self.add(b",\n{\"ph\":\"X\",\"cat\":\"");
        self.add(category.as_bytes());
        self.add(b"\",\"name\":");
        let before = self.out.len();
        self.title(work);
        if !self.rows.torch {
            self.foreign(work);
            return Ok(());
        }
        if host_node {
            if let Some(function) = host_function(work)? {
                let function = String::from_utf8_lossy(function);
                self.out.truncate(before);
                quote(self.out, &format!("{}: {}", HOST_NODE, function));
            }
        }
        self.add(b",\"pid\":");
        int(self.out, work.gpu);
        self.add(b",\"tid\":");
        int(self.out, lane);
        self.ts(self.known.ts);
        self.add(b",\"dur\":");
        us(self.out, work.dur as i64);
        self.add(b",\"args\":{");
        let before = self.out.len();
        if work.launched {
            self.launch(work)?;
        }
        self.out.extend_from_slice(&self.rows.extras);
        if self.out.len() > before {
            self.out.remove(before); // no comma before the first
        }
        self.add(b"}}");
        if work.waited {
            let message = Message::new(work.data, 0, work.data.len())?;
            for wait in message.numbers(18)? {
                self.waits(wait, work.gpu, lane);
            }
        }
        Ok(())
    }

    /// Writes the name of a device's work.
    fn title(&mut self, work: &Stage) {
        let sequence = &self.known.sequence;
        let mut on_lost = |iid| self.rows.lost(iid);
        if let Some(iid) = work.name_iid {
            sequence.event_names.put(self.out, iid, &mut on_lost);
        } else if let Some(iid) = work.kernel_iid {
            sequence.kernels.put(self.out, iid, &mut on_lost);
        } else {
            let spec = sequence.specs.get(work.stage);
            quote(self.out, spec.map_or("", |spec| &spec.text));
        }
    }

    /// Writes what is behind the name of a device's work in a file that is not of torch.
    fn foreign(&mut self, work: &Stage) {
        put(
            self.out,
            format_args!(",\"pid\":\"GPU {}\",\"tid\":", work.gpu),
        );
        match self.known.sequence.specs.get(work.lane) {
            Some(spec) => quote(self.out, &spec.text),
            None => put(self.out, format_args!("\"lane {}\"", work.lane)),
        }
        self.ts(self.known.ts);
        self.add(b",\"dur\":");
        us(self.out, work.dur as i64);
        self.add(b",\"args\":{");
        // Without the comma before the first.
        let extras = self.rows.extras.get(1..).unwrap_or_default();
        self.out.extend_from_slice(extras);
        self.add(b"}}");
    }

    fn waits(&mut self, event: u64, gpu: u64, lane: u64) {
        let number = self.rows.dependency;
        self.rows.dependency += 1;
        let flow = format!("\"id\":{},\"cat\":\"ac2g\",\"name\":\"ac2g\"", number);
        if let Some((ns, gpu, lane)) = self.rows.found.end_of(event) {
            put(self.out, format_args!(",\n{{\"ph\":\"s\",{}", flow));
            self.at(gpu, lane);
            self.ts(ns);
            self.add(b"}");
        }
        put(self.out, format_args!(",\n{{\"ph\":\"f\",{}", flow));
        self.at(gpu, lane);
        self.ts(self.known.ts);
        self.add(b",\"bp\":\"e\"}");
    }

    /// Grid, block and the numbers of a launch, each behind a comma.
    fn launch(&mut self, work: &Stage) -> Result<(), BadPacket> {
        for launch in Parts::new(work.data, 21) {
            let launch = Message::new(launch, 0, launch.len())?;
            for (number, name) in [(1, ",\"grid\":["), (2, ",\"block\":[")] {
                for size in launch.parts(number) {
                    let [x, y, z] = axes(size)?;
                    self.add(name.as_bytes());
                    int(self.out, x);
                    self.add(b",");
                    int(self.out, y);
                    self.add(b",");
                    int(self.out, z);
                    self.add(b"]");
                }
            }
            for one in launch.messages(3) {
                let one = one?;
                let iid = one.number(1);
                self.add(b",");
                match self.known.sequence.launch_args.get(iid) {
                    Some(key) => self.rows.names.put(self.out, key.as_bytes()),
                    None => {
                        let key = format!("#{}", iid);
                        self.rows.names.put(self.out, key.as_bytes())
                    }
                };
                self.add(b":");
                int(self.out, one.int(4).unwrap_or_else(|| one.number(3)));
            }
        }
        Ok(())
    }

    /// Writes the values of a device's counters.
    #[inline]
    pub fn counters(&mut self, values: &Counters) -> Result<(), BadPacket> {
        let Of { rows, known, out } = self;
        if values.described {
            let message = Message::new(values.data, 0, values.data.len())?;
            let names = counter_names(&message, 1)?;
            known.sequence.own_counters = Some(CounterNames::new(values.gpu, names));
        }
        let found = match values.descriptor {
            Some(iid) => known.sequence.counters.get(&iid),
            None => known.sequence.own_counters.as_ref(),
        };
        let nothing;
        let found = match found {
            Some(found) => found,
            None => {
                nothing = CounterNames::new(values.gpu, Default::default());
                &nothing
            }
        };
        for one in Parts::new(values.data, 2) {
            let one = CounterValue::new(one)?;
            out.extend_from_slice(b",\n{\"ph\":\"C\",\"name\":");
            let names = &found.names;
            names.put(out, one.counter, &mut |iid| rows.lost(iid));
            out.extend_from_slice(&found.place);
            us(out, known.ts.wrapping_sub(rows.subtract));
            out.extend_from_slice(b",\"args\":{\"\":");
            if let Some(value) = one.real {
                decimal(out, value);
            } else if let Some(value) = one.whole {
                signed(out, value as i64);
            } else {
                out.extend_from_slice(b"null");
            }
            out.extend_from_slice(b"}}");
        }
        Ok(())
    }
}

/// Appends the lane of a device's work, and its stream where that is another.
fn stream(out: &mut Vec<u8>, value: &[u8], lane: u64) {
    out.extend_from_slice(b",\"stream\":");
    let before = out.len();
    int(out, lane);
    if &out[before..] != value {
        out.extend_from_slice(b",\"original_stream\":");
        text_or_int(out, value, is_integer(value));
    }
}

fn text_or_int(out: &mut Vec<u8>, value: &[u8], integer: bool) {
    if integer {
        out.extend_from_slice(value);
    } else {
        quote_bytes(out, value);
    }
}

/// The function that the host runs in a graph.
fn host_function<'a>(work: &Stage<'a>) -> Result<Option<&'a [u8]>, BadPacket> {
    for one in Parts::new(work.data, 6) {
        let (key, value) = pair(one)?;
        if key == b"host fn" {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

/// The last integers with the numbers 1 to 3.
fn axes(data: &[u8]) -> Result<[u64; 3], BadPacket> {
    let mut found = [0; 3];
    each_field(data, |one| {
        if one.wire == Wire::Varint && (1..=3).contains(&one.number) {
            found[one.number as usize - 1] = one.value;
        }
    })?;
    Ok(found)
}

fn is_integer(value: &[u8]) -> bool {
    let number = value.strip_prefix(b"-").unwrap_or(value);
    digits(number, 18) && (number == b"0" || number[0] != b'0')
}
