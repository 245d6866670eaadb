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

export interface Column {
  x: number;
  width: number;
}

const [PLAIN, LEAST] = [26, 4];

/** Columns as wide as their labels; if these are too wide, those on the way come first, and if even
 * they have no room, labels are to be slanted. */
export function columnsOf(wants: number[], wide: Set<number>, left: number, right: number) {
  const [room, count] = [right - left, wants.length];
  const sum = (widths: number[]) => widths.reduce((total, width) => total + width, 0);
  let widths = wants.map(() => room / count);
  let slanted = false;
  if (Math.max(...wants) > room / count) {
    const apart = (room - sum(wants)) / count;
    widths = wants.map((want) => want + apart);
    if (apart < 0) {
      const rest = count - wide.size;
      const needed = (want: number[]) => sum(want.filter((_, i) => wide.has(i))) + LEAST * rest;
      slanted = needed(wants) > room;
      const most = wants.map((want) => (slanted ? Math.min(want, PLAIN) : want));
      const scale = Math.min(1, room / needed(most));
      const narrow = rest ? (room - scale * (needed(most) - LEAST * rest)) / rest : 0;
      widths = most.map((want, i) => (wide.has(i) ? scale * want : narrow));
    }
  }
  let x = left;
  const columns = widths.map((width): Column => ({ x: (x += width) - width / 2, width }));
  return { columns, slanted };
}

/** An arrow of the drawing: a path to one position, from one or, as a band, from many in a row. */
export interface Arrow {
  path: number;
  layer: number;
  to: number;
  edges: Edge[];
  /** How far its foot and its tip stand beside the middles of their columns. */
  foot: number;
  tip: number;
}

const BAND = 4; // positions in a row

/** The arrows along edges. Those that share a line stand apart, and so do tips at one position. */
export function arrowsOf(edges: Edge[], gap: number): Arrow[] {
  const arrows: Arrow[] = [];
  for (const same of grouped(edges, ({ layer, to, path }) => `${layer} ${to} ${path}`)) {
    const sorted = [...same].sort((one, other) => one.from - other.from);
    const runs: Edge[][] = [];
    for (const edge of sorted) {
      const run = runs.at(-1);
      if (run && run.at(-1)!.from === edge.from - 1) run.push(edge);
      else runs.push([edge]);
    }
    const parts = runs.flatMap((run) => (run.length < BAND ? run.map((edge) => [edge]) : [run]));
    const { path, layer, to } = same[0];
    arrows.push(...parts.map((edges) => ({ path, layer, to, edges, foot: 0, tip: 0 })));
  }
  for (const here of grouped(arrows, ({ layer, to }) => `${layer} ${to}`)) {
    const from = ({ edges }: Arrow) => edges[0].from + edges.at(-1)!.from;
    here.sort((one, other) => from(one) - from(other) || one.path - other.path);
    const paths = [...new Set(here.map(({ path }) => path))];
    for (const arrow of here) arrow.tip = aside(paths.indexOf(arrow.path), paths.length, gap);
    for (const same of grouped(here, ({ edges }) => `${edges[0].from} ${edges.length}`)) {
      same.forEach((arrow, i) => (arrow.foot = aside(i, same.length, gap)));
    }
  }
  return arrows;
}

/** The place of one of several beside their middle. */
const aside = (i: number, count: number, gap: number) =>
  (i - (count - 1) / 2) * Math.min(gap, (4 * gap) / count);

/** Things with one key each, together. */
function grouped<T>(things: T[], key: (thing: T) => string): T[][] {
  const groups = new Map<string, T[]>();
  for (const thing of things) {
    const known = groups.get(key(thing));
    if (known) known.push(thing);
    else groups.set(key(thing), [thing]);
  }
  return [...groups.values()];
}

export type Point = [number, number];

/** A curve of Bézier from a point upwards to another; `bulge` moves its middle down. */
export interface Line {
  from: Point;
  to: Point;
  bulge: number;
}

const middle = ({ from, to, bulge }: Line) => (from[1] + to[1]) / 2 + bulge;

/** A line as a path of SVG. */
export function curve(line: Line): string {
  const { from, to } = line;
  const y = middle(line);
  return `M${from[0]} ${from[1]}C${from[0]} ${y} ${to[0]} ${y} ${to[0]} ${to[1]}`;
}

/** The area between two lines with one tip. */
export function area(one: Line, other: Line): string {
  const { from, to } = other;
  const y = middle(other);
  return `${curve(one)}L${to[0]} ${to[1]}C${to[0]} ${y} ${from[0]} ${y} ${from[0]} ${from[1]}Z`;
}

/** The point of a line at a share of its course. */
export function pointAt(line: Line, share: number): Point {
  const back = 1 - share;
  const [first, second] = [back ** 2 * (1 + 2 * share), share ** 2 * (1 + 2 * back)];
  const y = middle(line);
  return [
    first * line.from[0] + second * line.to[0],
    back ** 3 * line.from[1] + 3 * share * back * y + share ** 3 * line.to[1],
  ];
}

export interface Label {
  /** Of its texts, the longest first. */
  widths: number[];
  line: Line;
}

export interface Placed {
  x: number;
  y: number;
  /** The number of the text that there is room for. */
  text: number;
}

interface Box {
  x: number;
  y: number;
  width: number;
}

export const TALL = 19; // a label, in pixels

/** Places for labels on their lines where none covers another, by their middles; null for a label
 * without one. Their texts are the longest of which as many have room as of the shortest. */
export function placed(
  labels: Label[], left: number, right: number, blocked: Point[] = [],
): (Placed | null)[] {
  const last = Math.max(0, ...labels.map(({ widths }) => widths.length - 1));
  const tries = Array.from({ length: last + 1 }, (_, text) => {
    const boxes = blocked.map(([x, y]) => ({ x, y, width: 14 }));
    return labels.map(({ line, widths }) => {
      const number = Math.min(text, widths.length - 1);
      const width = widths[number];
      const spot = freeSpot(line, width, left, right, boxes);
      if (!spot) return null;
      const [x, y] = spot;
      boxes.push({ x, y, width });
      return { x, y, text: number };
    });
  });
  const count = (at: (Placed | null)[]) => at.filter(Boolean).length;
  return tries.find((at) => count(at) >= count(tries[last]))!;
}

/** A point on a line where a label covers no box; null if there is none. */
function freeSpot(
  line: Line, width: number, left: number, right: number, boxes: Box[],
): Point | null {
  for (const aside of [0, 0.5, -0.5]) {
    for (const share of [0.5, 0.6, 0.4, 0.7, 0.3, 0.8, 0.2, 0.88, 0.12]) {
      const [on, y] = pointAt(line, share);
      const x = Math.max(left + width / 2, Math.min(right - width / 2, on + aside * width));
      if (Math.abs(x - on) > width / 2 + 6) continue;
      const covers = boxes.some((box) =>
        Math.abs(box.y - y) < TALL && Math.abs(box.x - x) < (box.width + width) / 2 + 3);
      if (!covers) return [x, y];
    }
  }
  return null;
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
