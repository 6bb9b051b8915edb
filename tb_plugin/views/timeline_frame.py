"""Bulk data of the Trace view as it travels (contract): little-endian columns, nothing to parse.

    header, 32 bytes
      0 u32 magic 0x31464C54 "TLF1"     4 u16 version 1       6 u16 kind: 0 tiles, 1 counters,
      8 u32 entries in the directory   12 u32 reserved               2 names, 3 minimap
     16 f64 server time in µs          24 u64 reserved
    directory, 64 bytes each, then the columns; every offset counts from the start of the frame and
    is a multiple of 8.

    tiles: one entry per tile and lane block
      0 u32 track    4 u16 first lane   6 u8 lanes (≤ 16)   7 u8 level
      8 u32 rects   12 u32 buckets     16 f64 tile
     24 u32 offset of the rects        28 u32 offset of the buckets
     32 f64 slices that start here     40 f64 their summed ns (exact below 2^53)   48 … 63 reserved
      rects    lane_first u32[lanes + 1] | x0 f32[n] | x1 f32[n] | slice u32[n] | name u32[n]
               | kind u8[n] | flags u8[n]
      buckets  lane_first u32[lanes + 1] | count u32[n] | slice u32[n] | name u32[n] | x u16[n]
               | kind u8[n] | busy u8[n]
      x0, x1 and x count in buckets from the left edge of the tile; slice, name and kind of a bucket
      are those of its longest slice. Flags: 1 overlap, 2 incomplete, 4 flow, 8 children,
      16 goes on to the left, 32 goes on to the right.

    counters: one entry per tile and series
      0 u32 series   4 u16 reserved     6 u8 reserved       7 u8 level
      8 u32 points  12 u32 reserved    16 f64 tile         24 u32 offset
     32 f64 value that holds at the left edge of the tile (NaN: none)   40 … 63 reserved
      x u16[n] | low f64[n] | high f64[n] | last f64[n] | mean f64[n]

    names: one entry
      0 u32 first code   4 u32 count   8 u32 offset of the ends   12 u32 offset of the UTF-8
      end u32[count] (offset behind each text within the UTF-8) | UTF-8, texts cut to 512 bytes

    minimap: one entry per track
      0 u32 track   4 u32 columns   8 u32 offset
      busy u8[columns]: 0 … 255 of the column is busy (union over the track's slices)

Each column begins at a multiple of 8 bytes.
"""
