/** Paints the address map: blocks in the colours of what they hold, shares of cells, bands, time. */
import type { AddressMap } from "../../../api/types.gen";
import { mix, parseHex } from "../../../base/style/color";
import { documentTokens } from "../../../base/style/kind_hues";
import { timeTicks } from "../curve/frame";
import type { DecodedTile, MapView, TileName } from "./tiles";

/** Height of the axis of time below the map. */
export const AXIS = 22;
const FONT = "11px system-ui, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif";
const PX_PER_TICK = 110;
/** A block of so many pixels has a line of the ground beside it. */
const PARTED_PX = 3;
const OTHER = "#888888";

export interface ShownTile {
  readonly name: TileName;
  readonly tile: DecodedTile;
}

export interface MapScene {
  readonly map: AddressMap;
  readonly view: MapView;
  readonly shown: readonly ShownTile[];
  /** By number, as tiles name categories. */
  readonly tokens: readonly string[];
  readonly picked: number | null;
}

interface Places {
  readonly x: (ts: number) => number;
  readonly y: (offset: number) => number;
}

interface CellPicture {
  readonly colors: string;
  readonly canvas: HTMLCanvasElement;
}

/** Reserved and free: the ink of the page, thin. */
const freeFill = () => mix(documentTokens("--ink-3"), documentTokens("--surface"), 0.38);

/** Pictures of cells, made once for each tile and theme. */
const pictures = new WeakMap<DecodedTile, CellPicture>();

/** The shares of the cells of a tile as a picture of one pixel each. */
function cellPicture(map: AddressMap, tile: DecodedTile, hexes: readonly string[]) {
  const colors = hexes.join();
  const known = pictures.get(tile);
  if (known?.colors === colors) {
    return known.canvas;
  }
  const canvas = document.createElement("canvas");
  canvas.width = map.tile_buckets;
  canvas.height = map.tile_rows;
  const context = canvas.getContext("2d");
  if (context === null) {
    return null;
  }
  const image = context.createImageData(canvas.width, canvas.height);
  const rgb = hexes.map(parseHex);
  for (const [at, cell] of tile.cell.entries()) {
    const row = map.tile_rows - 1 - Math.floor(cell / map.tile_buckets);
    const place = 4 * (row * map.tile_buckets + (cell % map.tile_buckets));
    image.data.set(rgb[tile.cellCategory[at] ?? 0] ?? parseHex(OTHER), place);
    image.data[place + 3] = tile.covered[at] ?? 0;
  }
  context.putImageData(image, 0, 0);
  pictures.set(tile, { colors, canvas });
  return canvas;
}

interface DrawnBlock {
  readonly from: number;
  readonly top: number;
  readonly wide: number;
  readonly tall: number;
  readonly isEnd: boolean;
  readonly isPicked: boolean;
  readonly color: string;
}

function paintBlock(context: CanvasRenderingContext2D, block: DrawnBlock) {
  const { from, top, wide, tall, isEnd } = block;
  context.fillStyle = block.color;
  const width = isEnd && wide > PARTED_PX ? wide - 0.5 : wide;
  context.fillRect(from, top, width, tall > PARTED_PX ? tall - 0.5 : tall);
  if (block.isPicked) {
    context.fillStyle = documentTokens("--ink");
    for (const edge of [top, top + tall - 2]) {
      context.fillRect(from, edge, wide, 2);
    }
  }
}

/** What is reserved, so that what is free in it shows between the blocks. */
function paintSegments(
  context: CanvasRenderingContext2D,
  { map }: MapScene,
  { name, tile }: ShownTile,
  { x, y }: Places,
) {
  const [cellNs, rowBytes] = [2 ** name.level, 2 ** name.rowLevel];
  const left = name.tile * map.tile_buckets * cellNs;
  const low = name.rowTile * map.tile_rows * rowBytes;
  const [x0, x1, y0, y1] = tile.segments;
  for (let at = 0; at < x0.length; at += 1) {
    const from = x(left + (x0[at] ?? 0) * cellNs);
    const top = y(low + (y1[at] ?? 0) * rowBytes);
    const tall = y(low + (y0[at] ?? 0) * rowBytes) - top;
    context.fillRect(
      from,
      top,
      x(left + (x1[at] ?? 0) * cellNs) - from,
      tall > PARTED_PX ? tall - 0.5 : tall,
    );
  }
}

function paintTile(
  context: CanvasRenderingContext2D,
  { map, picked }: MapScene,
  { name, tile }: ShownTile,
  { x, y }: Places,
  hexes: readonly string[],
) {
  const [cellNs, rowBytes] = [2 ** name.level, 2 ** name.rowLevel];
  const left = name.tile * map.tile_buckets * cellNs;
  const low = name.rowTile * map.tile_rows * rowBytes;
  const [right, high] = [left + map.tile_buckets * cellNs, low + map.tile_rows * rowBytes];
  const picture = tile.cell.length === 0 ? null : cellPicture(map, tile, hexes);
  if (picture !== null) {
    context.drawImage(picture, x(left), y(high), x(right) - x(left), y(low) - y(high));
  }
  for (const [at, block] of tile.block.entries()) {
    const [x0, x1] = [tile.x0[at] ?? 0, tile.x1[at] ?? 0];
    const from = x(left + x0 * cellNs);
    const top = y(low + (tile.y1[at] ?? 0) * rowBytes);
    paintBlock(context, {
      from,
      top,
      wide: x(left + x1 * cellNs) - from,
      tall: y(low + (tile.y0[at] ?? 0) * rowBytes) - top,
      // What goes on in the next tile is not parted from there.
      isEnd: x1 < map.tile_buckets,
      isPicked: block === picked,
      color: hexes[tile.category[at] ?? 0] ?? OTHER,
    });
  }
}

/** Where one band ends and the next begins: the addresses between were never used. */
function paintBands(context: CanvasRenderingContext2D, { map }: MapScene, y: Places["y"]) {
  context.strokeStyle = documentTokens("--line-strong");
  context.lineWidth = 1;
  for (const { offset } of map.bands.slice(1)) {
    const edge = Math.round(y(offset)) + 0.5;
    context.beginPath();
    context.moveTo(0, edge);
    context.lineTo(context.canvas.width, edge);
    context.stroke();
  }
}

export function paintMap(
  context: CanvasRenderingContext2D,
  width: number,
  height: number,
  scene: MapScene,
) {
  const { view, shown, tokens } = scene;
  const bottom = height - AXIS;
  const places: Places = {
    x: (ts) => ((ts - view.start) / (view.end - view.start)) * width,
    y: (offset) => bottom - ((offset - view.low) / (view.high - view.low)) * bottom,
  };
  const hexes = tokens.map(documentTokens);
  context.save();
  context.beginPath();
  context.rect(0, 0, width, bottom);
  context.clip();
  context.fillStyle = documentTokens("--surface-2");
  context.fillRect(0, 0, width, bottom);
  context.imageSmoothingEnabled = false;
  context.fillStyle = freeFill();
  for (const tile of shown) {
    paintSegments(context, scene, tile, places);
  }
  for (const tile of shown) {
    paintTile(context, scene, tile, places, hexes);
  }
  paintBands(context, scene, places.y);
  context.restore();
  context.font = FONT;
  context.fillStyle = documentTokens("--ink-3");
  context.textBaseline = "alphabetic";
  context.textAlign = "center";
  for (const { value, text } of timeTicks(view, width / PX_PER_TICK)) {
    const half = context.measureText(text).width / 2;
    context.fillText(text, Math.max(half, Math.min(width - half, places.x(value))), height - 6);
  }
}
