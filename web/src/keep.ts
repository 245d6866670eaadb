/** Offer a file to be kept. */
export function keep(name: string, content: BlobPart, type: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name.replace(/[^\w.-]+/g, "-");
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const FORMULA = /^[=+\-@\uff1d\uff0b\uff0d\uff20]/;
const UNWRITABLE = /[\x00-\x1f\x7f-\x9f\u2028\u2029]/g;

/** A cell as text: no spreadsheet takes a name for a formula, and no name breaks its line. */
function written(value: unknown): string {
  if (typeof value !== "string") return String(value ?? "");
  const text = value.replace(UNWRITABLE, (one) => {
    return `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
  return FORMULA.test(text) ? `'${text}` : text;
}

/** Keep rows as comma-separated values, numbers exact; RFC 4180. */
export function keepCsv(name: string, rows: unknown[][]): void {
  const cell = (value: unknown) => {
    const text = written(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const text = rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
  keep(`${name}.csv`, text, "text/csv");
}

const LOOKS = [
  "fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray",
  "paint-order", "opacity", "display", "font-family", "font-size", "font-weight", "text-anchor",
];

/** A drawing as a file of its own, as it looks now, but on white paper whatever the theme is. */
function standalone(svg: SVGSVGElement): string {
  const root = document.documentElement;
  const theme = root.style.colorScheme;
  root.style.colorScheme = "light";
  try {
    return asItLooks(svg);
  } finally {
    root.style.colorScheme = theme;
  }
}

function asItLooks(svg: SVGSVGElement): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const copies = [copy, ...copy.querySelectorAll<SVGElement>("*")];
  [svg, ...svg.querySelectorAll("*")].forEach((element, i) => {
    const look = getComputedStyle(element);
    copies[i].removeAttribute("style");
    for (const name of LOOKS) copies[i].style.setProperty(name, look.getPropertyValue(name));
    for (const name of ["class", "data-path", "role", "tabindex"]) copies[i].removeAttribute(name);
  });
  copy.style.background = "#ffffff";
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return new XMLSerializer().serializeToString(copy);
}

export function keepSvg(name: string, svg: SVGSVGElement): void {
  keep(`${name}.svg`, standalone(svg), "image/svg+xml");
}

/** Keep a drawing as pixels, two for each of the screen's. */
export async function keepPng(name: string, svg: SVGSVGElement): Promise<void> {
  const picture = new Image();
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(standalone(svg))}`;
  await picture.decode();
  const canvas = document.createElement("canvas");
  canvas.width = 2 * svg.width.baseVal.value;
  canvas.height = 2 * svg.height.baseVal.value;
  canvas.getContext("2d")!.drawImage(picture, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((pixels) => pixels && keep(`${name}.png`, pixels, "image/png"), "image/png");
}
