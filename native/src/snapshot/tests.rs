//! Tests of snapshots.

use super::{Reader, State};

const EVENT: &[u8] =
    b"}\x94(X\x06\x00\x00\x00actionX\x05\x00\x00\x00allocX\x04\x00\x00\x00sizeK\x07u";

fn whole() -> Vec<u8> {
    let mut data = b"\x80\x04}(X\x0d\x00\x00\x00device_traces](](".to_vec();
    data.extend(EVENT);
    data.extend(EVENT);
    data.extend(b"eeu.");
    data
}

#[test]
fn events_are_rows_however_the_bytes_come() {
    let data = whole();
    for step in [1, 3, data.len()] {
        let mut reader = Reader::new();
        let mut state = State::Reading;
        for piece in data.chunks(step) {
            state = reader.feed(piece);
        }
        assert_eq!(state, State::Done);
        assert_eq!(reader.size(2), 16);
    }
}

#[test]
fn names_of_code_are_stopped_at_and_old_instructions_left() {
    let mut reader = Reader::new();
    assert_eq!(reader.feed(b"\x80\x04cos\nsystem\n"), State::Cut);
    assert_eq!(reader.feed(b"."), State::Cut);
    let mut reader = Reader::new();
    assert_eq!(reader.feed(b"\x80\x04I1\n."), State::Left);
    assert_eq!(reader.end(), State::Left);
}

#[test]
fn what_stands_before_a_cut_is_there() {
    let data = whole();
    for (end, events) in [(data.len() - 1, 2), (data.len() - 8, 1), (60, 0)] {
        let mut reader = Reader::new();
        assert_eq!(reader.feed(&data[..end]), State::Reading);
        assert!(reader.take(0).is_none());
        assert_eq!(reader.end(), State::Cut);
        assert_eq!(reader.size(2), 8 * events);
    }
}
