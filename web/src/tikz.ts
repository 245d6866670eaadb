import { columnsOf, wayTo } from "./circuit";
import type { View } from "./view.svelte";

const HEX = ["1d2228", "0a60b8", "cb4f05", "00532e", "b63b92", "5b2a06", "5440c4"];
const SUBS = "₀₁₂₃₄₅₆₇₈₉";
const GREY = "8a929a";

const oneLine = (text: string) => text.replace(/\s+/g, " ");

function escaped(text: string): string {
  const plain = text.replace(/[\\{}$&#%^~]/g, (letter) =>
    letter === "\\" || letter === "~" || letter === "^" ? `\\char\`\\${letter}{}` : `\\${letter}`);
  return plain
    .replace(/[₀-₉]/g, (digit) => `$_{${SUBS.indexOf(digit)}}$`)
    .replace(/_(?!\{\d)/g, "\\_");
}

/** The circuit over the sequence shown, at the step shown, as a TikZ picture. */
export function tikz(view: View): string {
  const { sequence, edges, queries } = view.example!;
  const layers = view.run.circuit!.layers;
  const columns = columnsOf(sequence.labels.length, new Set(), 0, 0.55 * sequence.labels.length);
  const way = wayTo(edges, queries[view.query] ?? sequence.labels.length - 1);
  const place = (column: number, level: number) =>
    `(${columns[column].x.toFixed(2)},${1.5 * level})`;
  const lines = edges.flatMap((edge, i) => {
    const path = view.paths[edge.path];
    if (path.key === view.cut) return [];
    const colour = way.has(edge) ? `c${path.colour < 0 ? "n" : path.colour % 7}` : "cn!50";
    const [thin, more] = way.has(edge) ? [0.4, 1.8] : [0.2, 0.4];
    const width = (thin + more * view.along(i)).toFixed(2);
    return [
      `  \\draw[->, ${colour}, line width=${width}pt] ${place(edge.from, edge.layer)}`
        + ` to[out=90, in=270] ${place(edge.to, edge.layer + 1)}; % ${oneLine(path.label)}`,
    ];
  });
  return [
    `% ${oneLine(view.run.name)}, step ${view.step}; needs \\usepackage{tikz,xcolor}`,
    ...HEX.map((hex, i) => `\\definecolor{c${i}}{HTML}{${hex.toUpperCase()}}`),
    `\\definecolor{cn}{HTML}{${GREY.toUpperCase()}}`,
    "\\begin{tikzpicture}",
    ...Array.from(
      { length: layers },
      (_, i) => `  \\node[left] at (-0.2,${1.5 * i + 0.75}) {layer ${i}};`,
    ),
    ...sequence.labels.map(
      (label, i) => `  \\node[below, font=\\small] at ${place(i, 0)} {${escaped(label)}};`,
    ),
    ...lines,
    "\\end{tikzpicture}",
    "",
  ].join("\n");
}
