/** Binary frames for tests, written from the description of the format, column by column. */

const MAGIC = 0x31464c54;

type Numbers = readonly number[];

export interface BlockRecords {
  readonly track: number;
  readonly lane: number;
  readonly level: number;
  readonly tile: number;
  /** By lane of the block. */
  readonly rects: readonly (readonly {
    readonly x0: number;
    readonly x1: number;
    readonly slice: number;
    readonly name: number;
    readonly kind: number;
    readonly flags: number;
  }[])[];
  readonly buckets: readonly (readonly {
    readonly x: number;
    readonly count: number;
    readonly slice: number;
    readonly name: number;
    readonly kind: number;
    readonly busy: number;
  }[])[];
  readonly slices?: number;
  readonly sumNs?: number;
}

export interface CounterRecords {
  readonly series: number;
  readonly level: number;
  readonly tile: number;
  readonly before: number;
  readonly points: readonly {
    readonly x: number;
    readonly low: number;
    readonly high: number;
    readonly last: number;
    readonly mean: number;
  }[];
}

class Writer {
  private bytes = new Uint8Array(1 << 16);
  length: number;

  constructor(kind: number, entries: number) {
    this.length = 32 + 64 * entries;
    this.grow(this.length);
    this.view.setUint32(0, MAGIC, true);
    this.view.setUint16(4, 1, true);
    this.view.setUint16(6, kind, true);
    this.view.setUint32(8, entries, true);
    this.view.setFloat64(16, 123.5, true);
  }

  get view(): DataView {
    return new DataView(this.bytes.buffer);
  }

  private grow(length: number): void {
    if (length > this.bytes.length) {
      const larger = new Uint8Array(2 * length);
      larger.set(this.bytes);
      this.bytes = larger;
    }
  }

  /** Where the column begins. */
  column(
    values: Numbers,
    size: number,
    set: (view: DataView, place: number, value: number) => void,
  ): number {
    const begin = Math.ceil(this.length / 8) * 8;
    this.grow(begin + values.length * size);
    const { view } = this;
    values.forEach((value, i) => {
      set(view, begin + i * size, value);
    });
    this.length = begin + values.length * size;
    return begin;
  }

  u8 = (values: Numbers) => this.column(values, 1, (view, at, value) => view.setUint8(at, value));
  u16 = (values: Numbers) =>
    this.column(values, 2, (view, at, value) => view.setUint16(at, value, true));
  u32 = (values: Numbers) =>
    this.column(values, 4, (view, at, value) => view.setUint32(at, value, true));
  f32 = (values: Numbers) =>
    this.column(values, 4, (view, at, value) => view.setFloat32(at, value, true));
  f64 = (values: Numbers) =>
    this.column(values, 8, (view, at, value) => view.setFloat64(at, value, true));

  end(): ArrayBuffer {
    return this.bytes.slice(0, Math.ceil(this.length / 8) * 8).buffer;
  }
}

const offsets = (lanes: readonly (readonly unknown[])[]): number[] => {
  const first = [0];
  for (const lane of lanes) {
    first.push((first.at(-1) ?? 0) + lane.length);
  }
  return first;
};

export function tilesFrame(blocks: readonly BlockRecords[]): ArrayBuffer {
  const writer = new Writer(0, blocks.length);
  blocks.forEach((block, i) => {
    const entry = 32 + 64 * i;
    const rects = block.rects.flat();
    const buckets = block.buckets.flat();
    const rectOffset = writer.u32(offsets(block.rects));
    writer.f32(rects.map(({ x0 }) => x0));
    writer.f32(rects.map(({ x1 }) => x1));
    writer.u32(rects.map(({ slice }) => slice));
    writer.u32(rects.map(({ name }) => name));
    writer.u8(rects.map(({ kind }) => kind));
    writer.u8(rects.map(({ flags }) => flags));
    const bucketOffset = writer.u32(offsets(block.buckets));
    writer.u32(buckets.map(({ count }) => count));
    writer.u32(buckets.map(({ slice }) => slice));
    writer.u32(buckets.map(({ name }) => name));
    writer.u16(buckets.map(({ x }) => x));
    writer.u8(buckets.map(({ kind }) => kind));
    writer.u8(buckets.map(({ busy }) => busy));
    const { view } = writer;
    view.setUint32(entry, block.track, true);
    view.setUint16(entry + 4, block.lane, true);
    view.setUint8(entry + 6, block.rects.length);
    view.setUint8(entry + 7, block.level);
    view.setUint32(entry + 8, rects.length, true);
    view.setUint32(entry + 12, buckets.length, true);
    view.setFloat64(entry + 16, block.tile, true);
    view.setUint32(entry + 24, rectOffset, true);
    view.setUint32(entry + 28, bucketOffset, true);
    view.setFloat64(entry + 32, block.slices ?? 0, true);
    view.setFloat64(entry + 40, block.sumNs ?? 0, true);
  });
  return writer.end();
}

export function countersFrame(tiles: readonly CounterRecords[]): ArrayBuffer {
  const writer = new Writer(1, tiles.length);
  tiles.forEach(({ series, level, tile, before, points }, i) => {
    const entry = 32 + 64 * i;
    const offset = writer.u16(points.map(({ x }) => x));
    writer.f64(points.map(({ low }) => low));
    writer.f64(points.map(({ high }) => high));
    writer.f64(points.map(({ last }) => last));
    writer.f64(points.map(({ mean }) => mean));
    const { view } = writer;
    view.setUint32(entry, series, true);
    view.setUint8(entry + 7, level);
    view.setUint32(entry + 8, points.length, true);
    view.setFloat64(entry + 16, tile, true);
    view.setUint32(entry + 24, offset, true);
    view.setFloat64(entry + 32, before, true);
  });
  return writer.end();
}

export function namesFrame(first: number, texts: readonly string[]): ArrayBuffer {
  const writer = new Writer(2, 1);
  const encoded = texts.map((text) => new TextEncoder().encode(text));
  const ends = offsets(encoded.map((bytes) => [...bytes])).slice(1);
  const endsOffset = writer.u32(ends);
  const textOffset = writer.u8(encoded.flatMap((bytes) => [...bytes]));
  const { view } = writer;
  view.setUint32(32, first, true);
  view.setUint32(36, texts.length, true);
  view.setUint32(40, endsOffset, true);
  view.setUint32(44, textOffset, true);
  return writer.end();
}

export function minimapFrame(tracks: readonly (readonly [number, Numbers])[]): ArrayBuffer {
  const writer = new Writer(3, tracks.length);
  tracks.forEach(([track, busy], i) => {
    const entry = 32 + 64 * i;
    const offset = writer.u8(busy);
    const { view } = writer;
    view.setUint32(entry, track, true);
    view.setUint32(entry + 4, busy.length, true);
    view.setUint32(entry + 8, offset, true);
  });
  return writer.end();
}
