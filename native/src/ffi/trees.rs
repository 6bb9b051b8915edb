//! Functions for C: nesting, lanes and call paths.

#![allow(unsafe_code)]
#![allow(clippy::too_many_arguments)]

use crate::lanes::{assign, share};
use crate::nest::{nest, Nesting, Rows, Tolerance};
use crate::paths::{call_tree, find as find_paths, find_kept, inherit, mark_above, sum_up, Calls};

exported! {
    /// Returns the number of overruns.
    kinetoscope_nest(
        ts: read(i64; rows),
        dur: read(i64; rows),
        first: read(u8; rows),
        clock: read(i8; rows),
        rows: number,
        tolerance: raw(i64),
        two_clocks: raw(i64),
        outer: write(i32; rows),
        parent: write(i32; rows),
        depth: write(i16; rows),
        self_ns: write(i64; rows),
        overrun_row: write(i32; rows),
        overrun_ns: write(i64; rows),
    ) {
        let rows = Rows { ts, dur, first, clock };
        let mut to = Nesting { outer, parent, depth, self_ns, overrun_row, overrun_ns };
        let tolerance = Tolerance { any: tolerance, two_clocks };
        nest(rows, tolerance, &mut to) as i64
    }

    /// Returns 0.
    kinetoscope_lanes(
        ts: read(i64; rows),
        dur: read(i64; rows),
        first: read(u8; rows),
        rows: number,
        tolerance: raw(i64),
        lane: write(u16; rows),
        displaced: write(u8; rows),
    ) {
        assign(ts, dur, first, tolerance, lane, displaced);
        0
    }

    /// Returns 0; panics where a node is not below `nodes`.
    kinetoscope_shared_lanes(
        ts: read(i64; rows),
        dur: read(i64; rows),
        node: read(i32; rows),
        rows: number,
        nodes: number,
        lane: write(u16; rows),
    ) {
        share(ts, dur, node, nodes, lane);
        0
    }

    /// Returns the number of nodes.
    kinetoscope_paths(
        parent: read(i32; rows),
        name: read(i32; rows),
        rows: number,
        node: write(i32; rows),
        node_parent: write(i32; rows),
        first: write(i32; rows),
    ) {
        find_paths(parent, name, node, node_parent, first) as i64
    }

    /// Returns the number of nodes; panics where a parent is behind its row.
    kinetoscope_kept_paths(
        kept: read(u8; rows),
        label: read(i32; rows),
        parent: read(i32; rows),
        rows: number,
        around: write(i32; rows),
        node_parent: write(i32; rows),
        node_label: write(i32; rows),
    ) {
        find_kept(kept, label, parent, around, node_parent, node_label) as i64
    }

    /// Returns 0.
    kinetoscope_call_tree(
        thread: read(i32; rows),
        ts: read(i64; rows),
        dur: read(i64; rows),
        name: read(i32; rows),
        rows: number,
        parent: write(i32; rows),
        own: write(i64; rows),
        survivor: write(i32; rows),
    ) {
        call_tree(Calls { thread, ts, dur, name }, parent, own, survivor);
        0
    }

    /// Returns 0; panics where a parent is behind its row.
    kinetoscope_tree_inherit(parent: read(i32; rows), own: write(i32; rows), rows: number) {
        inherit(parent, own);
        0
    }

    /// Returns 0; panics where a parent is behind its row.
    kinetoscope_tree_inherit_bytes(parent: read(i32; rows), own: write(i8; rows), rows: number) {
        inherit(parent, own);
        0
    }

    /// Returns 0; panics where a parent is behind its row, or a row not there.
    kinetoscope_tree_mark_above(
        parent: read(i32; rows), rows: number, below: read(i32; count), count: number, mark: write(u8; rows),
    ) {
        mark_above(parent, below, mark);
        0
    }

    /// Returns 0; panics where a parent is behind its row.
    kinetoscope_tree_sum_up(parent: read(i32; rows), value: write(i64; rows), rows: number) {
        sum_up(parent, value);
        0
    }
}
