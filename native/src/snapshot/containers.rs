//! Dicts, lists and tuples of a pickle while it is read, and what becomes of complete ones.

use super::{Column, Container, Reader, Stop::Left, Taken, Value, DEPTH, KEPT};

impl Reader {
    pub(super) fn container(&mut self, items: Vec<Value>) -> u32 {
        let made = Container {
            items,
            depth: 1,
            size: 1,
            ..Container::default()
        };
        match self.unused.pop() {
            Some(number) => {
                self.containers[number as usize] = made;
                number
            }
            None => {
                self.containers.push(made);
                self.containers.len() as u32 - 1
            }
        }
    }

    pub(super) fn push_container(&mut self, kind: impl Fn(u32) -> Value) {
        let number = self.container(Vec::new());
        self.stack.push(kind(number));
    }

    pub(super) fn push_tuple(&mut self, items: Vec<Value>) -> Taken<()> {
        let value = self.tuple(items)?;
        self.stack.push(value);
        Ok(())
    }

    /// A tuple; of plain values each is kept once.
    pub(super) fn tuple(&mut self, items: Vec<Value>) -> Taken<Value> {
        let is_plain = items.iter().all(|item| {
            matches!(
                item,
                Value::None | Value::Bool(_) | Value::Int(_) | Value::Text(_)
            )
        });
        if is_plain {
            if let Some(&known) = self.tuples.get(items.as_slice()) {
                return Ok(Value::Tuple(known));
            }
        }
        let items = self.folded(items)?;
        let number = self.container(items.clone());
        self.weigh(number as usize, &items)?;
        if is_plain {
            self.tuples.insert(items.into_boxed_slice(), number);
        }
        Ok(Value::Tuple(number))
    }

    pub(super) fn remember(&mut self, index: usize) -> Taken<()> {
        self.own(1)?;
        let value = *self.stack.last().ok_or(Left)?;
        match index.cmp(&self.memo.len()) {
            std::cmp::Ordering::Less => self.memo[index] = value,
            std::cmp::Ordering::Equal => self.memo.push(value),
            std::cmp::Ordering::Greater => return Err(Left),
        }
        if let Value::List(one) | Value::Dict(one) = value {
            let found = &mut self.containers[one as usize];
            // A second number would name the container after it became a row.
            found.is_shared |= found.slot.is_some();
            found.slot = Some(index);
        }
        Ok(())
    }

    pub(super) fn append(&mut self, one: usize, items: Vec<Value>) -> Taken<()> {
        self.is_open(one)?;
        let items = self.folded(items)?;
        self.is_open(one)?;
        self.weigh(one, &items)?;
        self.containers[one].items.extend(items);
        Ok(())
    }

    /// Adds values to the depth and the size of a container.
    pub(super) fn weigh(&mut self, one: usize, items: &[Value]) -> Taken<()> {
        let (mut deepest, mut size) = (0, items.len());
        for item in items {
            if let Value::Tuple(inner) | Value::List(inner) | Value::Dict(inner) = item {
                let found = &self.containers[*inner as usize];
                deepest = deepest.max(found.depth);
                size = size.saturating_add(found.size);
            }
        }
        let target = &mut self.containers[one];
        target.depth = target.depth.max(deepest + 1);
        target.size = target.size.saturating_add(size);
        if deepest >= DEPTH || target.size > KEPT {
            return Err(Left);
        }
        Ok(())
    }

    /// Checks that a container was not put into another: then it is complete, and nothing holds itself.
    pub(super) fn is_open(&self, one: usize) -> Taken<()> {
        let found = &self.containers[one];
        if found.is_plain || found.small.is_some() {
            return Err(Left);
        }
        Ok(())
    }

    /// Puts keys and values in turn into a dict.
    pub(super) fn put_pairs(&mut self, one: usize, mut items: Vec<Value>) -> Taken<()> {
        self.is_open(one)?;
        let values = items.iter().skip(1).step_by(2).copied().collect();
        let values = self.folded(values)?;
        self.weigh(one, &values)?;
        for (place, value) in values.into_iter().enumerate() {
            items[2 * place + 1] = value;
        }
        self.is_open(one)?;
        self.kept += items.len() / 2;
        for pair in items.chunks_exact(2) {
            // Keys of other types are for the reference, which may refuse them.
            if !matches!(pair[0], Value::Text(_)) {
                return Err(Left);
            }
            let known = &mut self.containers[one].items;
            let mut before = None;
            if known.len() < 128 {
                before = known.chunks_exact_mut(2).find(|old| old[0] == pair[0]);
            }
            match before {
                Some(old) => old[1] = pair[1],
                None => known.extend_from_slice(pair),
            }
        }
        Ok(())
    }

    // --- what is open at the end of a damaged file, as the reference closes it ---

    pub(super) fn close(&mut self) -> Taken<()> {
        let top = self.top();
        let cut = vec![
            self.taken as i64,
            self.stop as i64,
            i64::from(!self.marks.is_empty()),
        ];
        while !self.marks.is_empty() {
            self.close_marked()?;
        }
        let mut chain = std::mem::take(&mut self.stack);
        self.close_chain(&mut chain)?;
        self.stack = chain;
        if self.kept > KEPT || self.stack.is_empty() {
            return Err(Left);
        }
        self.finish()?;
        self.columns.push(Column::Wide(cut));
        self.columns
            .push(Column::Bytes(std::mem::take(&mut self.rest)));
        self.columns.push(Column::Bytes(top));
        Ok(())
    }

    /// Up to two texts on top of the stack, as a pickle: they may name code.
    pub(super) fn top(&self) -> Vec<u8> {
        let least = self.floor(0).max(self.stack.len().saturating_sub(2));
        let mut made = vec![0x80, 4, b'('];
        for &value in &self.stack[least..] {
            let value = match value {
                Value::Text(_) => value,
                _ => Value::None,
            };
            // A text cannot be written wrongly.
            let _ = self.write(value, &mut made, 0);
        }
        made.extend(b"t.");
        made
    }

    pub(super) fn close_marked(&mut self) -> Taken<()> {
        let mut items = self.marked()?;
        let target = match self.stack.len() > self.floor(0) {
            true => self.stack.last().copied(),
            false => None,
        };
        match target {
            Some(Value::List(one)) => self.append(one as usize, items),
            Some(target @ Value::Dict(one)) => {
                let last = (0..items.len())
                    .step_by(2)
                    .rev()
                    .find(|&at| matches!(items[at], Value::Text(_)))
                    .unwrap_or(0);
                let mut chain = items.split_off(last);
                self.put_pairs(one as usize, items)?;
                chain.insert(0, target);
                self.close_chain(&mut chain)
            }
            _ => Ok(()),
        }
    }

    /// Puts what stands above a container into it.
    pub(super) fn close_chain(&mut self, chain: &mut Vec<Value>) -> Taken<()> {
        while chain.len() > 1 {
            let value = chain.pop().ok_or(Left)?;
            let below = chain.len() - 1;
            if let Value::List(one) = chain[below] {
                self.append(one as usize, vec![value])?;
            } else if below > 0 {
                if let Value::Dict(one) = chain[below - 1] {
                    let key = chain.pop().ok_or(Left)?;
                    self.put_pairs(one as usize, vec![key, value])?;
                }
            }
        }
        Ok(())
    }

    /// The items as they go into a container: each dict and list has had its chance to become a row.
    pub(super) fn folded(&mut self, mut items: Vec<Value>) -> Taken<Vec<Value>> {
        self.kept += items.len();
        for item in &mut items {
            let number = match *item {
                Value::Dict(one) | Value::List(one) => one,
                _ => continue,
            };
            if self.containers[number as usize].is_plain {
                continue;
            }
            if let Some(small) = self.containers[number as usize].small {
                *item = small;
                continue;
            }
            let small = match *item {
                Value::Dict(_) => self.record(number)?,
                _ => self.call_stack(number),
            };
            let found = &mut self.containers[number as usize];
            let small = match small {
                None => {
                    found.is_plain = true;
                    continue;
                }
                Some(small) => small,
            };
            self.kept = self.kept.saturating_sub(found.items.len() + 1);
            if let Some(slot) = found.slot {
                self.memo[slot] = small;
            }
            found.small = Some(small);
            // A frame that is twice in its first stack is met again.
            if !found.is_shared {
                *found = Container::default();
                self.unused.push(number);
            }
            *item = small;
        }
        Ok(items)
    }
}
