import { wayTo } from "./circuit";
import { ink } from "./text";
import type { View } from "./view.svelte";

const [COLUMN, LAYER] = [0.55, 1.5];

const oneLine = (text: string) => text.replace(/\s+/g, " ");

/** Text as TeX reads it; small digits are subscripts. */
function escaped(text: string): string {
  return oneLine(text).replace(/[\\{}$&#%^~_₀-₉]/g, (sign) => {
    const digit = "₀₁₂₃₄₅₆₇₈₉".indexOf(sign);
    if (digit >= 0) return `$_{${digit}}$`;
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

/** The circuit over the sequence shown, at the step shown, as a TikZ picture. */
export function tikz(view: View): string {
  const { sequence, edges, queries } = view.example!;
  const way = wayTo(edges, queries[view.query] ?? sequence.labels.length - 1);
  const place = (column: number, layer: number) =>
    `(${(COLUMN * column).toFixed(2)},${(LAYER * layer).toFixed(2)})`;
  const arrows = edges.flatMap((edge) => {
    const { key, colour, label } = view.paths[edge.path];
    if (view.cuts.includes(key)) return [];
    const look = way.has(edge) ? `headway${colour < 0 ? "none" : colour}` : "headwaynone!50";
    const width = way.has(edge) ? 0.4 + 1.8 * view.along(edge) : 0.2 + 0.4 * view.along(edge);
    return [
      `  \\draw[->, ${look}, line width=${width.toFixed(2)}pt] ${place(edge.from, edge.layer)}`
        + ` to[out=90, in=270] ${place(edge.to, edge.layer + 1)}; % ${oneLine(label)}`,
    ];
  });
  const colours = [-1, 0, 1, 2, 3, 4, 5, 6].map((colour) =>
    `\\definecolor{headway${colour < 0 ? "none" : colour}}${onPaper(colour)}`);
  const layers = Array.from({ length: view.run.circuit!.layers }, (_, i) =>
    `  \\node[left] at ${place(-1, i + 0.5)} {layer ${i}};`);
  const tokens = sequence.labels.map((label, i) =>
    `  \\node[below, font=\\small] at ${place(i, 0)} {\\strut ${escaped(label)}};`);
  return [
    `% ${oneLine(view.run.name)}, step ${view.step}; needs \\usepackage{tikz}`,
    ...colours,
    "\\begin{tikzpicture}",
    ...layers,
    ...tokens,
    ...arrows,
    "\\end{tikzpicture}",
    "",
  ].join("\n");
}
