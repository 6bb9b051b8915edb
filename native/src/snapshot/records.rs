//! Records of a memory snapshot as rows: frames, call stacks, events and blocks.

use super::{Reader, Stop::Left, Taken, Value, MISSING};

impl Reader {
    pub(super) fn call_stack(&mut self, number: u32) -> Option<Value> {
        let items = &self.containers[number as usize].items;
        let mut frames = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Value::Frame(frame) => frames.push(*frame),
                _ => return None,
            }
        }
        if frames.is_empty() {
            return Some(self.nothing);
        }
        if let Some(&known) = self.stacks.get(frames.as_slice()) {
            return Some(Value::Stack(known));
        }
        let code = self.stacks.len() as u32;
        self.stack_frames
            .extend(frames.iter().map(|&one| one as i32));
        self.stack_starts.push(self.stack_frames.len() as i64);
        self.stacks.insert(frames.into_boxed_slice(), code);
        Some(Value::Stack(code))
    }

    /// The row of a dict that is a record.
    pub(super) fn record(&mut self, number: u32) -> Taken<Option<Value>> {
        let items = std::mem::take(&mut self.containers[number as usize].items);
        let made = {
            let get = |key: u32| value_of(&items, key);
            let keys = &self.keys;
            let size = get(keys.size);
            if let (Some(action), Some(size)) = (get(keys.action), size) {
                Some(self.event(action, size, &get)?)
            } else if let (Some(filename), Some(name)) = (get(keys.filename), get(keys.name)) {
                match (name, filename) {
                    (Value::Text(name), Value::Text(filename)) => {
                        let line = int(get(keys.line), 0)?;
                        let code = self.frames.code((name, filename, line));
                        Some(Value::Frame(code as u32))
                    }
                    _ => return Err(Left),
                }
            } else if let (Some(state), Some(size)) = (get(keys.state), size) {
                Some(self.block(state, size, &get)?)
            } else {
                None
            }
        };
        self.containers[number as usize].items = items;
        Ok(made)
    }

    fn event(
        &mut self,
        action: Value,
        size: Value,
        get: &dyn Fn(u32) -> Option<Value>,
    ) -> Taken<Value> {
        let keys = &self.keys;
        let action = match action {
            Value::Text(text) => self.actions.code(text),
            _ => return Err(Left),
        };
        let address = int(get(keys.addr).or_else(|| get(keys.device_free)), MISSING)?;
        let size = int(Some(size), MISSING)?;
        let stream = int(get(keys.stream), 0)?;
        let time = int(get(keys.time_us), MISSING)?;
        let stack = stack_of(get(keys.frames));
        let pool = get(keys.pool_id).or_else(|| get(keys.segment_pool_id));
        let (context, metadata) = (get(keys.compile_context), get(keys.user_metadata));
        let pool = self.pool(pool)?;
        let (context, metadata) = (self.note(context)?, self.note(metadata)?);
        let events = &mut self.events;
        events.action.push(action);
        events.address.push(address);
        events.size.push(size);
        events.stream.push(stream);
        events.time.push(time);
        events.stack.push(stack);
        events.pool.push(pool);
        events.context.push(context);
        events.metadata.push(metadata);
        Ok(Value::Event(events.size.len() as u32 - 1))
    }

    fn note(&mut self, text: Option<Value>) -> Taken<i32> {
        let text = match text {
            None => self.keys.empty,
            Some(Value::None) => self.keys.none,
            Some(Value::Text(text)) => text,
            _ => return Err(Left),
        };
        Ok(self.notes.code(text))
    }

    fn pool(&mut self, pool: Option<Value>) -> Taken<i32> {
        if let Some(Value::Tuple(one) | Value::List(one)) = pool {
            let items = &self.containers[one as usize].items;
            if let [first, second] = items[..] {
                let both = (int(Some(first), 0)?, int(Some(second), 0)?);
                return Ok(self.pools.code(both));
            }
        }
        Ok(MISSING as i32)
    }

    fn block(
        &mut self,
        state: Value,
        size: Value,
        get: &dyn Fn(u32) -> Option<Value>,
    ) -> Taken<Value> {
        let keys = &self.keys;
        // Torch 2.0 kept the request and the frames of a block in its history.
        let first = match get(keys.history) {
            Some(Value::List(all)) => self.containers[all as usize].items.first(),
            _ => None,
        };
        let before = |key: u32| match first {
            Some(&Value::Dict(one)) => value_of(&self.containers[one as usize].items, key),
            _ => None,
        };
        let state = match state {
            Value::Text(text) if text == keys.awaiting => keys.pending,
            Value::Text(text) => text,
            _ => return Err(Left),
        };
        let address = int(get(keys.address), MISSING)?;
        let requested = get(keys.requested_size).or_else(|| before(keys.real_size));
        let requested = int(requested, MISSING)?;
        let size = int(Some(size), MISSING)?;
        let stack = stack_of(get(keys.frames).or_else(|| before(keys.frames)));
        let state = self.states.code(state);
        let blocks = &mut self.blocks;
        blocks.address.push(address);
        blocks.size.push(size);
        blocks.requested.push(requested);
        blocks.state.push(state);
        blocks.stack.push(stack);
        Ok(Value::Block(blocks.size.len() as u32 - 1))
    }
}

/// A whole number that int64 holds, else what stands for a missing one.
fn int(value: Option<Value>, missing: i64) -> Taken<i64> {
    match value {
        Some(Value::Int(number)) if number != i64::MIN => Ok(number),
        Some(Value::Bool(_)) => Err(Left),
        _ => Ok(missing),
    }
}

/// The value of a key in the items of a dict.
fn value_of(items: &[Value], key: u32) -> Option<Value> {
    let mut pairs = items.chunks_exact(2);
    pairs
        .find(|pair| pair[0] == Value::Text(key))
        .map(|pair| pair[1])
}

fn stack_of(value: Option<Value>) -> i32 {
    match value {
        Some(Value::Stack(row)) => row as i32,
        _ => MISSING as i32,
    }
}
