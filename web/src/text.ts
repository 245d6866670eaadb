/** A piece of typeset text: plain, a subscript, a superscript or code. */
export interface Piece {
  kind: "text" | "sub" | "sup" | "code";
  text: string;
}

/** Text with its names typeset: `x_1` and `s2` with subscripts, `find^2` raised, code apart. */
export function pieces(text: string): Piece[] {
  const found: Piece[] = [];
  for (const word of text.split(/(\b[a-z]_?\d+\b|\^\d+|`[^`]*`)/)) {
    const name = /^([a-z])_?(\d+)$/.exec(word);
    if (name) found.push({ kind: "text", text: name[1] }, { kind: "sub", text: name[2] });
    else if (/^\^\d+$/.test(word)) found.push({ kind: "sup", text: word.slice(1) });
    else if (/^`.*`$/.test(word)) found.push({ kind: "code", text: word.slice(1, -1) });
    else if (word) found.push({ kind: "text", text: word });
  }
  return found;
}

const SUBS = "₀₁₂₃₄₅₆₇₈₉";

/** The same as plain letters, for drawings. */
export function plain(text: string): string {
  const small = (digits: string) => [...digits].map((digit) => SUBS[+digit]).join("");
  return pieces(text).map(({ kind, text: word }) => (kind === "sub" ? small(word) : word)).join("");
}

/** A number to three digits, zeros at the end included; a dash if there is none. */
export function number(value: number | null | undefined): string {
  if (value === null || value === undefined) return "—";
  const size = Math.abs(+value.toPrecision(3));
  if (size >= 1000) return whole(value);
  if (size > 0 && size < 1e-4) return value.toExponential(2).replace(/-(\d)$/, "-0$1");
  return value.toPrecision(3).replace(/\.$/, "");
}

/** A step or a count, with thousands set apart. */
export function whole(value: number | null | undefined): string {
  return value === null || value === undefined ? "—" : Math.round(value).toLocaleString("en");
}

/** The colour of a symbol; -1 stands for nothing new. */
export function ink(colour: number): string {
  return colour < 0 ? "var(--nothing)" : `var(--c${colour % 7})`;
}

/** Dashes that tell apart curves of one colour, and all curves in grey. */
export const DASHES = ["", "7 3", "2 3", "8 3 2 3", "12 4", "5 3 1 3 1 3"];
