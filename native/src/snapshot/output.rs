//! What a memory snapshot becomes: columns, and the outermost value as a pickle of its own.

use super::{Codes, Column, Reader, Stop::Left, Taken, Value, DEPTH, ROOT, ROOT_RATIO};

impl Reader {
    /// Makes the columns of what is there.
    pub(super) fn finish(&mut self) -> Taken<()> {
        let mut root = vec![0x80, 4];
        self.memo = Vec::new();
        self.write(self.stack[0], &mut root, 0)?;
        root.push(b'.');
        let events = std::mem::take(&mut self.events);
        let blocks = std::mem::take(&mut self.blocks);
        let order = &self.frames.order;
        let frames: [Vec<i32>; 2] = [
            order.iter().map(|&(name, _, _)| name as i32).collect(),
            order.iter().map(|&(_, file, _)| file as i32).collect(),
        ];
        let lines = order.iter().map(|&(_, _, line)| line).collect();
        let [names, files] = frames;
        let codes = |found: &Codes<u32>| found.order.iter().map(|&text| text as i32).collect();
        let pools = &self.pools.order;
        self.columns = vec![
            Column::Codes(events.action),
            Column::Wide(events.address),
            Column::Wide(events.size),
            Column::Wide(events.stream),
            Column::Wide(events.time),
            Column::Codes(events.stack),
            Column::Codes(events.pool),
            Column::Codes(events.context),
            Column::Codes(events.metadata),
            Column::Wide(blocks.address),
            Column::Wide(blocks.size),
            Column::Wide(blocks.requested),
            Column::Codes(blocks.state),
            Column::Codes(blocks.stack),
            Column::Codes(names),
            Column::Codes(files),
            Column::Wide(lines),
            Column::Wide(std::mem::take(&mut self.stack_starts)),
            Column::Codes(std::mem::take(&mut self.stack_frames)),
            Column::Codes(codes(&self.actions)),
            Column::Codes(codes(&self.states)),
            Column::Codes(codes(&self.notes)),
            Column::Wide(pools.iter().flat_map(|&(a, b)| [a, b]).collect()),
            Column::Wide(std::mem::take(&mut self.texts.ends)),
            Column::Bytes(std::mem::take(&mut self.texts.bytes)),
            Column::Bytes(root),
        ];
        self.containers = Vec::new();
        Ok(())
    }

    /// Takes a column out, by its place in the list above.
    pub fn take(&mut self, number: usize) -> Option<Column> {
        let column = self.columns.get_mut(number)?;
        Some(std::mem::replace(column, Column::Bytes(Vec::new())))
    }

    /// Bytes of a column.
    pub fn size(&self, number: usize) -> usize {
        self.columns.get(number).map_or(0, Column::size)
    }

    /// The value as a pickle without numbers; a row is a tuple: bytes that say of what, the first row, the one behind the
    /// last. Rows of a list that follow each other are one tuple.
    pub(super) fn write(&self, value: Value, to: &mut Vec<u8>, depth: usize) -> Taken<()> {
        // A value may be named many times, each time by two others.
        if depth > DEPTH || to.len() > ROOT + ROOT_RATIO * self.taken {
            return Err(Left);
        }
        match value {
            Value::None => to.push(b'N'),
            Value::Bool(is_true) => to.push(if is_true { 0x88 } else { 0x89 }),
            Value::Int(number) => {
                to.extend([0x8a, 8]);
                to.extend(number.to_le_bytes());
            }
            // Any number that no column holds.
            Value::Big => to.extend([0x8a, 9, 0, 0, 0, 0, 0, 0, 0, 0x80, 0]),
            Value::Float(bits) => {
                to.push(b'G');
                to.extend(bits.to_be_bytes());
            }
            Value::Text(code) => {
                let end = self.texts.ends[code as usize] as usize;
                let start = match code {
                    0 => 0,
                    _ => self.texts.ends[code as usize - 1] as usize,
                };
                to.push(b'X');
                to.extend(((end - start) as u32).to_le_bytes());
                to.extend(&self.texts.bytes[start..end]);
            }
            Value::Tuple(one) | Value::List(one) | Value::Dict(one) => {
                let items = &self.containers[one as usize].items;
                let (open, close): (&[u8], u8) = match value {
                    Value::Tuple(_) => (b"(", b't'),
                    Value::List(_) => (b"](", b'e'),
                    _ => (b"}(", b'u'),
                };
                to.extend(open);
                let mut at = 0;
                while at < items.len() {
                    let many = if matches!(value, Value::List(_)) {
                        run_of(&items[at..])
                    } else {
                        1
                    };
                    self.write_rows(items[at], many as u32, to, depth)?;
                    at += many;
                }
                to.push(close);
            }
            _ => self.write_rows(value, 1, to, depth)?,
        }
        Ok(())
    }

    fn write_rows(&self, value: Value, many: u32, to: &mut Vec<u8>, depth: usize) -> Taken<()> {
        let (kind, first): (u8, u32) = match value {
            Value::Event(row) => (b'e', row),
            Value::Block(row) => (b'b', row),
            Value::Frame(row) => (b'f', row),
            Value::Stack(row) => (b's', row),
            _ => return self.write(value, to, depth + 1),
        };
        to.extend([b'C', 1, kind]);
        for row in [first, first + many] {
            to.extend([0x8a, 8]);
            to.extend(i64::from(row).to_le_bytes());
        }
        to.push(0x87);
        Ok(())
    }
}

/// How many of the first items are rows that follow each other.
fn run_of(items: &[Value]) -> usize {
    let following = |many: u32| match items[0] {
        Value::Event(row) => Some(Value::Event(row + many)),
        Value::Block(row) => Some(Value::Block(row + many)),
        _ => None,
    };
    let mut many = 1;
    while many < items.len() && Some(items[many]) == following(many as u32) {
        many += 1;
    }
    many
}
