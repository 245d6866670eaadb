import type { Edge } from "./run";

/** The arrows that an answer at a position comes by, found from the top layer down. */
export function wayTo(edges: Edge[], position: number): Set<Edge> {
  const needed = new Set([position]);
  const way = new Set<Edge>();
  const layers = [...new Set(edges.map((edge) => edge.layer))].sort((a, b) => b - a);
  for (const layer of layers) {
    const here = edges.filter((edge) => edge.layer === layer && needed.has(edge.to));
    for (const edge of here) {
      way.add(edge);
      needed.add(edge.from);
    }
  }
  return way;
}

/** A row of the drawing: one layer, or idle layers in a line of their own. */
export interface Row {
  first: number;
  last: number;
  idle: boolean;
  top: number;
  bottom: number;
}

/** Rows of layers from the bottom up; neighbours without a path fold into one. */
export function rowsOf(layers: number, used: Set<number>, top: number, bottom: number): Row[] {
  const rows: Row[] = [];
  for (let layer = 0; layer < layers; layer++) {
    const before = rows.at(-1);
    if (before?.idle && !used.has(layer)) before.last = layer;
    else rows.push({ first: layer, last: layer, idle: !used.has(layer), top: 0, bottom: 0 });
  }
  const idle = rows.filter((row) => row.idle).length;
  const line = Math.min(16, (bottom - top) / rows.length / 2);
  const height = (bottom - top - idle * line) / Math.max(1, rows.length - idle);
  let y = bottom;
  for (const row of rows) {
    row.bottom = y;
    y -= row.idle ? line : height;
    row.top = y;
  }
  return rows;
}

/** The height of the stream before a layer, or after the last. */
export function level(rows: Row[], layer: number): number {
  const row = rows.find(({ first, last }) => first <= layer && layer <= last);
  return row ? row.bottom : (rows.at(-1)?.top ?? 26);
}

/** Columns with their middles and widths; those on the way are given room for their names first. */
export function columnsOf(count: number, wide: Set<number>, left: number, right: number) {
  const room = right - left;
  const even = room / count;
  const name = Math.min(26, room / Math.max(1, wide.size));
  const rest = count - wide.size;
  const narrow = even >= 24 || rest === 0 ? even : (room - name * wide.size) / rest;
  let x = left;
  return Array.from({ length: count }, (_, i) => {
    const width = narrow === even ? even : wide.has(i) ? name : narrow;
    x += width;
    return { x: x - width / 2, width };
  });
}

/** The upright pieces of arrows on the way, each in its column from the layer where it arrives to
 * where it is last used; in every column a lane for each colour. */
export function uprights(way: Edge[], position: number, layers: number, colours: number[]) {
  const found: { column: number; from: number; to: number; path: number; lane: number }[] = [];
  const add = (column: number, from: number, to: number, path: number) => {
    if (to <= from) return;
    const here = found.filter((one) => one.column === column);
    const known = here.find((one) => colours[one.path] === colours[path]);
    if (!known) found.push({ column, from, to, path, lane: here.length });
    else Object.assign(known, { from: Math.min(from, known.from), to: Math.max(to, known.to) });
  };
  for (const edge of way) {
    const uses = way.filter((other) => other.layer > edge.layer
      && (other.from === edge.to || other.to === edge.to));
    const end = edge.to === position ? layers : Math.max(0, ...uses.map((other) => other.layer));
    add(edge.to, edge.layer + 1, end, edge.path);
    const brought = way.some((other) => other.to === edge.from && other.layer < edge.layer
      && colours[other.path] === colours[edge.path]);
    if (!brought) add(edge.from, 0, edge.layer, edge.path);
  }
  return found;
}
