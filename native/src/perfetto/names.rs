//! Names of arguments of a device's work, and which of them are integers.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use super::json_values::{quote_bytes, quoted};

/// How an argument of a device's work is written: its name as JSON, and whether it is an integer.
struct ArgName {
    name: Vec<u8>,
    int: bool,
}

/// Which arguments are integers, and which have another name in torch's JSON. Keys are not of the file, so a
/// simple hash does.
pub struct Names(HashMap<Vec<u8>, ArgName, BuildHasherDefault<Fnv>>);

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
            if line.len() == 3 || !names.0.contains_key(name.as_bytes()) {
                let known = ArgName {
                    name: quoted(name),
                    int: ints.contains(name),
                };
                names.0.insert(line[1].as_bytes().to_vec(), known);
            }
        }
        names
    }

    /// Appends the name of an argument; whether it is an integer.
    pub fn put(&self, out: &mut Vec<u8>, key: &[u8]) -> bool {
        match self.0.get(key) {
            Some(known) => {
                out.extend_from_slice(&known.name);
                known.int
            }
            None => {
                quote_bytes(out, key);
                false
            }
        }
    }
}
