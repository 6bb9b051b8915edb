//! The call path of every row, what rows take over from the row around them, and what they add up to.
//!
//! The rules, and the references, are in `tb_plugin/analysis/call_tree/paths.py`. Parents come before their rows.

/// Nodes by (node of the parent, name): open addressing, half full at most.
struct Nodes {
    slots: Vec<(u64, i32)>,
    used: usize,
}

const FREE: i32 = -1;
const FIRST_SLOTS: usize = 1 << 12;

impl Nodes {
    fn new() -> Self {
        Nodes {
            slots: vec![(0, FREE); FIRST_SLOTS],
            used: 0,
        }
    }

    /// The node of a key; a key that is not there yet gets the node `new`.
    fn get_or(&mut self, key: u64, new: i32) -> i32 {
        if self.used * 2 >= self.slots.len() {
            self.grow();
        }
        let at = self.slot(key);
        if self.slots[at].1 == FREE {
            self.slots[at] = (key, new);
            self.used += 1;
        }
        self.slots[at].1
    }

    fn slot(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        // Neighbouring keys are far from each other in the upper half of the product.
        let mut at = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & mask;
        while self.slots[at].1 != FREE && self.slots[at].0 != key {
            at = (at + 1) & mask;
        }
        at
    }

    fn grow(&mut self) {
        let larger = vec![(0, FREE); self.slots.len() * 2];
        let old = std::mem::replace(&mut self.slots, larger);
        for (key, node) in old.into_iter().filter(|slot| slot.1 != FREE) {
            let at = self.slot(key);
            self.slots[at] = (key, node);
        }
    }
}

/// Parents come before their rows, −1 where there is none. Writes the node of each row, and for each
/// node its parent and its first row, by the order of their first rows; returns how many there are.
pub fn find(
    parent: &[i32],
    name: &[i32],
    node: &mut [i32],
    node_parent: &mut [i32],
    first: &mut [i32],
) -> usize {
    let mut nodes = Nodes::new();
    let mut count = 0;
    for row in 0..parent.len() {
        let above = usize::try_from(parent[row]).map_or(-1, |at| node[at]);
        let key = (above as u32 as u64) << 32 | name[row] as u32 as u64;
        let found = nodes.get_or(key, count as i32);
        if found as usize == count {
            node_parent[count] = above;
            first[count] = row as i32;
            count += 1;
        }
        node[row] = found;
    }
    count
}

/// No parent, and no value.
const NONE: i32 = -1;

/// The paths of the rows that are kept, as a trie by the order of their first rows, and for each row
/// its path: a kept row's includes itself, any other row has that of its parent. Returns how many.
pub fn find_kept(
    kept: &[u8],
    label: &[i32],
    parent: &[i32],
    around: &mut [i32],
    node_parent: &mut [i32],
    node_label: &mut [i32],
) -> usize {
    let mut nodes = Nodes::new();
    let mut count = 0;
    for row in 0..parent.len() {
        let above = match parent[row] {
            NONE => NONE,
            inner => around[before(inner, row)],
        };
        if kept[row] == 0 {
            around[row] = above;
            continue;
        }
        let key = (above as u32 as u64) << 32 | label[row] as u32 as u64;
        let found = nodes.get_or(key, count as i32);
        if found as usize == count {
            node_parent[count] = above;
            node_label[count] = label[row];
            count += 1;
        }
        around[row] = found;
    }
    count
}

/// Calls as they come: sorted by thread, start, and length, the longest first.
#[derive(Clone, Copy)]
pub struct Calls<'a> {
    pub thread: &'a [i32],
    pub ts: &'a [i64],
    pub dur: &'a [i64],
    pub name: &'a [i32],
}

/// The innermost call that contains each one; own times; and the row that counts for each: the
/// outermost of a chain of only children of one name. A row that does not count has 0.
pub fn call_tree(calls: Calls, parent: &mut [i32], own: &mut [i64], survivor: &mut [i32]) {
    let mut children = vec![0u32; parent.len()];
    // What may contain a call to come. Ends only fall from the bottom to the top: whoever starts
    // later and ends no earlier contains whatever those before it do.
    let mut open: Vec<(i64, i32)> = Vec::new();
    for row in 0..parent.len() {
        if row > 0 && calls.thread[row] != calls.thread[row - 1] {
            open.clear();
        }
        let (ts, dur) = (calls.ts[row], calls.dur[row]);
        let end = ts.wrapping_add(dur);
        while matches!(open.last(), Some(&(stop, _)) if stop <= ts || stop < end) {
            open.pop();
        }
        own[row] = dur;
        parent[row] = match open.last() {
            None => NONE,
            Some(&(_, above)) => {
                own[above as usize] = own[above as usize].wrapping_sub(dur);
                children[above as usize] += 1;
                above
            }
        };
        open.push((end, row as i32));
    }
    for row in 0..parent.len() {
        survivor[row] = row as i32;
        if parent[row] == NONE {
            continue;
        }
        let above = parent[row] as usize;
        if children[above] == 1 && calls.name[above] == calls.name[row] {
            let outermost = survivor[above];
            survivor[row] = outermost;
            own[outermost as usize] = own[outermost as usize].wrapping_add(own[row]);
            own[row] = 0;
        }
    }
}

/// Gives each row that has nothing what its parent has.
pub fn inherit<T: Copy + PartialEq + From<i8>>(parent: &[i32], own: &mut [T]) {
    let nothing = T::from(-1);
    for row in 0..own.len() {
        if own[row] == nothing && parent[row] != NONE {
            own[row] = own[before(parent[row], row)];
        }
    }
}

/// Marks some rows and all above them. A row that is marked already has those above it marked.
pub fn mark_above(parent: &[i32], below: &[i32], mark: &mut [u8]) {
    for &row in below {
        let mut row = row as usize;
        while mark[row] == 0 {
            mark[row] = 1;
            if parent[row] == NONE {
                break;
            }
            row = before(parent[row], row);
        }
    }
}

/// Adds to each row what is below it.
pub fn sum_up(parent: &[i32], value: &mut [i64]) {
    for row in (0..value.len()).rev() {
        if parent[row] != NONE {
            let above = before(parent[row], row);
            value[above] = value[above].wrapping_add(value[row]);
        }
    }
}

/// The parent as a place, which is before the row's.
#[inline(always)]
fn before(parent: i32, row: usize) -> usize {
    let above = parent as usize;
    assert!(above < row, "a parent behind its row");
    above
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_rows_and_those_above_them() {
        // a ─ b, b ─ b; a ─ b, c
        let (parent, mut mark) = ([-1, 0, 0, 2, -1, 4, 4], [0; 7]);
        mark_above(&parent, &[3, 2, 6], &mut mark);
        assert_eq!(mark, [1, 0, 1, 1, 1, 0, 1]);
    }

    #[test]
    #[should_panic]
    fn nothing_is_above_itself() {
        mark_above(&[0], &[0], &mut [0]);
    }

    #[test]
    fn equal_paths_share_a_node() {
        // a ─ b, b ─ b; a ─ b, c
        let parent = [-1, 0, 0, 2, -1, 4, 4];
        let name = [7, 8, 8, 8, 7, 8, 9];
        let (mut node, mut above, mut first) = ([0; 7], [0; 7], [0; 7]);
        assert_eq!(find(&parent, &name, &mut node, &mut above, &mut first), 4);
        assert_eq!(node, [0, 1, 1, 2, 0, 1, 3]);
        assert_eq!(above[..4], [-1, 0, 1, 0]);
        assert_eq!(first[..4], [0, 1, 3, 6]);
    }

    #[test]
    fn more_nodes_than_there_were_slots() {
        let rows = 3 * FIRST_SLOTS;
        let parent: Vec<i32> = (0..rows as i32).map(|row| row - 1).collect();
        let name = vec![1; rows];
        let (mut node, mut above, mut first) = (vec![0; rows], vec![0; rows], vec![0; rows]);
        assert_eq!(
            find(&parent, &name, &mut node, &mut above, &mut first),
            rows
        );
        assert_eq!(node, (0..rows as i32).collect::<Vec<_>>());
        assert_eq!(above, parent);
    }

    //  0 ─ 1 ─ 2     4 ─ 5
    //    └ 3
    const PARENT: [i32; 6] = [-1, 0, 1, 0, -1, 4];

    #[test]
    fn what_is_not_kept_has_the_path_around_it() {
        let kept = [1, 0, 1, 1, 0, 1];
        let label = [7, 9, 8, 8, 9, 7];
        let (mut around, mut above, mut labels) = ([9; 6], [9; 6], [9; 6]);
        assert_eq!(
            find_kept(&kept, &label, &PARENT, &mut around, &mut above, &mut labels),
            2
        );
        assert_eq!(around, [0, 0, 1, 1, -1, 0]);
        assert_eq!(above[..2], [-1, 0]);
        assert_eq!(labels[..2], [7, 8]);
    }

    #[test]
    fn calls_contain_each_other_and_only_children_are_one_with_their_parent() {
        // 0 ████████████████████   1 and 2: one call; 3 outlives 2 and hangs below 0; 4 and 5: one
        // 1  ███████████           6: of another thread; 7 begins where 6 ends
        // 2   ██████
        // 3       ███████████
        // 4        ███████
        // 5        ███
        let ts = [0, 1, 2, 6, 7, 7, 0, 3];
        let dur = [20, 11, 6, 11, 7, 3, 3, 1];
        let name = [1, 2, 2, 9, 4, 4, 1, 1];
        let thread = [0, 0, 0, 0, 0, 0, 1, 1];
        let (mut parent, mut own, mut survivor) = ([9; 8], [9; 8], [9; 8]);
        let calls = Calls {
            thread: &thread,
            ts: &ts,
            dur: &dur,
            name: &name,
        };
        call_tree(calls, &mut parent, &mut own, &mut survivor);
        assert_eq!(parent, [-1, 0, 1, 0, 3, 4, -1, -1]);
        assert_eq!(survivor, [0, 1, 1, 3, 4, 4, 6, 7]);
        assert_eq!(own, [-2, 11, 0, 4, 7, 0, 3, 1]);
    }

    #[test]
    fn the_innermost_counts() {
        let mut own = [7, -1, 8, -1, -1, 9];
        inherit(&PARENT, &mut own);
        assert_eq!(own, [7, 7, 8, 7, -1, 9]);
    }

    #[test]
    fn sums_reach_the_root() {
        let mut value = [1, 10, 100, 1000, -1, 3];
        sum_up(&PARENT, &mut value);
        assert_eq!(value, [1111, 110, 100, 1000, 2, 3]);
    }

    #[test]
    #[should_panic]
    fn a_parent_comes_first() {
        inherit(&[1, -1], &mut [-1, 0]);
    }
}
