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

    /// The node of a key, which becomes `new` where the key is.
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

/// What stands for nothing, and for no parent.
const NONE: i32 = -1;

/// Gives each row that has nothing what its parent has.
pub fn inherit(parent: &[i32], own: &mut [i32]) {
    for row in 0..own.len() {
        if own[row] == NONE && parent[row] != NONE {
            own[row] = own[before(parent[row], row)];
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
