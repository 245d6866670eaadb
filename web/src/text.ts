/** A number to three digits, zeros at the end included; a dash if there is none. */
export function number(value: number | null | undefined): string {
  if (value === null || value === undefined) return "—";
  const size = Math.abs(+value.toPrecision(3));
  if (size >= 1000) return whole(value);
  if (size > 0 && size < 1e-4) return value.toExponential(2).replace(/-(\d)$/, "-0$1");
  return value.toPrecision(3).replace(/\.$/, "");
}

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** A step or a count, with thousands set apart. */
export function whole(value: number | null | undefined): string {
  return value === null || value === undefined ? "—" : grouped.format(value);
}

/** Words as a list in a sentence. */
export function enumerated(words: string[]): string {
  return words.length > 1 ? `${words.slice(0, -1).join(", ")} and ${words.at(-1)}` : words.join("");
}

/** A place as it is printed, its number lowered. */
export function lowered(role: string): string {
  return role.replace(/\d/g, (digit) => "₀₁₂₃₄₅₆₇₈₉"[+digit]);
}

/** The colour of a symbol; -1 stands for nothing new, -2 for what is compared with. */
export function ink(colour: number): string {
  if (colour === -2) return "var(--soft)";
  return colour < 0 ? "var(--nothing)" : `var(--c${colour % 7})`;
}

/** Dashes that tell apart curves of one colour, and all curves in grey. */
export const DASHES = ["", "7 3", "2 3", "8 3 2 3", "12 4", "5 3 1 3 1 3"];

/** The sign, the words and the colour of a verdict. */
export function verdictLook(holds: boolean | null): [string, string, string] {
  if (holds === null) return ["?", "cannot be said", "soft"];
  return holds ? ["✓", "holds", "good"] : ["✗", "does not hold", "bad"];
}

const MEANINGS: Record<string, [string, string]> = {
  enough: ["these paths alone keep the answers", "these paths alone lose answers"],
  complete: ["no other part alone changes answers", "another part changes answers"],
  "nothing spare": ["each path changes answers", "a path changes hardly any answer"],
};

/** A verdict as it turned out. */
export function verdictName(name: string, holds: boolean | null): string {
  if (holds !== false) return name;
  return name === "nothing spare" ? "something spare" : `not ${name}`;
}

/** What a verdict says, in a few words. */
export function meaning(name: string, holds: boolean): string {
  return MEANINGS[name]?.[holds ? 0 : 1] ?? "";
}

let ruler: CanvasRenderingContext2D | null = null;

/** How wide a text is in drawings, in pixels. */
export function measured(text: string, bold = false): number {
  ruler ??= document.createElement("canvas").getContext("2d")!;
  ruler.font = `${bold ? 700 : 400} 12px system-ui, "Segoe UI", Roboto, Arial, sans-serif`;
  return ruler.measureText(text).width;
}

/** A text, its end left out if it is wider. */
export function fitted(text: string, width: number, bold = false): string {
  if (measured(text, bold) <= width) return text;
  const letters = [...text];
  while (letters.length > 1 && measured(`${letters.join("")}…`, bold) > width) letters.pop();
  return `${letters.join("").trimEnd()}…`;
}
