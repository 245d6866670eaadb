import { uprights, wayTo } from "./circuit";
import type { CircuitPath } from "../data";
import type { Edge } from "./run";
import { ink, measured } from "./text";
import type { View } from "./view.svelte";

/** Centimetres: a column of a paper, its margin for layers, a layer, and between stripes. */
const [PAPER, MARGIN, LAYER, STRIPE] = [8.2, 1.4, 1.5, 0.09];
const WIDEST = 1.4;

const oneLine = (text: string) => text.replace(/\s+/g, " ");

const SIGNS: Record<string, string> = {
  "←": "$\\leftarrow$", "→": "$\\rightarrow$", "·": "$\\cdot$", "…": "\\dots{}", "⁻": "$^{-}$",
};

/** Text as TeX reads it; small digits are subscripts. */
function escaped(text: string): string {
  return oneLine(text).replace(/[\\{}$&#%^~_₀-₉²³←→·…⁻]/g, (sign) => {
    const digit = "₀₁₂₃₄₅₆₇₈₉".indexOf(sign);
    if (digit >= 0) return `$_{${digit}}$`;
    if (SIGNS[sign]) return SIGNS[sign];
    if (sign === "²" || sign === "³") return `$^{${sign === "²" ? 2 : 3}}$`;
    return "\\^~".includes(sign) ? `\\char\`\\${sign}{}` : `\\${sign}`;
  });
}

/** A colour of the page on white paper, whatever the theme is, as xcolor writes it. */
function onPaper(colour: number): string {
  const probe = document.createElement("i");
  probe.style.cssText = `color-scheme: light; color: ${ink(colour)}`;
  document.body.append(probe);
  const [red, green, blue] = getComputedStyle(probe).color.match(/\d+/g)!;
  probe.remove();
  return `{RGB}{${red},${green},${blue}}`;
}

const named = (colour: number) => `headway${colour < 0 ? "none" : colour}`;

/** The circuit over the sequence shown, at the step shown, as a TikZ picture as wide as a column:
 * arrows on the way to the query with a stripe for every symbol, and what places keep. */
export function tikz(view: View): string {
  const { sequence, edges, queries } = view.example!;
  const { layers, places } = view.run.circuit!;
  const query = queries[view.query] ?? sequence.labels.length - 1;
  const isWhole = (edge: Edge) => !view.cuts.includes(view.paths[edge.path].key);
  const way = [...wayTo(edges, query)].filter(isWhole);
  const column = Math.min(WIDEST, (PAPER - MARGIN) / sequence.labels.length);
  const place = (at: number, layer: number, aside = 0) =>
    `(${(column * at + aside).toFixed(2)},${(LAYER * layer).toFixed(2)})`;
  const coloursOf = ({ carries, colour }: CircuitPath) => carries.length
    ? carries.map((symbol) => places.find(({ label }) => label === symbol)?.colour ?? colour)
    : [colour];
  const arrows = way.flatMap((edge) => {
    const path = view.paths[edge.path];
    const width = (0.4 + 1.4 * view.along(edge)).toFixed(2);
    const colours = coloursOf(path);
    const lines = colours.map((colour, i) => {
      const aside = STRIPE * ((colours.length - 1) / 2 - i) * (edge.to > edge.from ? -1 : 1);
      const ends = `${place(edge.from, edge.layer, aside)} to[out=90, in=270]`
        + ` ${place(edge.to, edge.layer + 1, aside)}`;
      return `  \\draw[->, ${named(colour)}, line width=${width}pt] ${ends}; % ${oneLine(path.label)}`;
    });
    const head = /^H\d+/.exec(path.name);
    return head ? [...lines, `  \\node[below left, font=\\tiny, ${named(path.colour)}] at`
      + ` ${place(edge.to, edge.layer + 1)} {${head[0]}};`] : lines;
  });
  const isSymbolic = view.paths.some(({ carries }) => carries.length);
  const colours = view.paths.map(({ colour }) => colour);
  const kept = isSymbolic ? uprights(way, query, layers, colours) : [];
  const lines = kept.map(({ column: at, from, to, path, lane }) =>
    `  \\draw[${named(colours[path])}!50, line width=1pt] ${place(at, from, 0.1 * lane)} --`
      + ` ${place(at, to, 0.1 * lane)};`);
  const names = Array.from({ length: layers }, (_, i) =>
    `  \\node[left, font=\\footnotesize] at ${place(0, i + 0.5, -0.4)} {layer ${i}};`);
  const isSlanted = Math.max(...sequence.labels.map((label) => measured(label))) / 30 > column;
  const turned = isSlanted ? "anchor=north east, rotate=45" : "below";
  const tokens = sequence.labels.map((label, i) =>
    `  \\node[${turned}, font=\\footnotesize] at ${place(i, 0)} {\\strut ${escaped(label)}};`);
  return [
    `% ${oneLine(view.run.name)}, step ${view.step}; needs \\usepackage{tikz}`,
    ...[-1, 0, 1, 2, 3, 4, 5, 6].map((colour) => `\\definecolor{${named(colour)}}${onPaper(colour)}`),
    "\\begin{tikzpicture}",
    ...names,
    ...tokens,
    ...lines,
    ...arrows,
    "\\end{tikzpicture}",
    "",
  ].join("\n");
}
