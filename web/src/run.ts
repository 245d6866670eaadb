import type { Answers, CircuitPath, Page, RunPage, Sequence } from "../data";

/** Bytes that Python packed, gzip as base64; none of an empty text. */
async function unpacked(text: string): Promise<Uint8Array> {
  if (!text) return new Uint8Array();
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** An arrow over one sequence: a path, from the position read to the one that reads. */
export interface Edge {
  number: number;
  path: number;
  from: number;
  to: number;
  layer: number;
}

/** What the circuit is drawn over. */
export interface Ground {
  sequence: Pick<Sequence, "labels" | "places" | "chains">;
  edges: Edge[];
  queries: number[];
}

/** A sequence with its packed numbers unpacked. */
export interface Example extends Ground {
  sequence: Sequence;
  /** Of the model as it is, and without every path. */
  answers: Told;
  /** Without several paths at once. */
  together: Told;
  along: Uint8Array;
}

/** Answers, and their probabilities if they have some. */
export interface Told {
  given: Uint8Array;
  chances: Uint8Array;
}

async function told({ given, chances }: Answers): Promise<Told> {
  return { given: await unpacked(given), chances: await unpacked(chances) };
}

export interface Prepared {
  page: Page;
  examples: Example[];
  maps: Uint8Array;
}

/** The arrows over one of the sequences. */
export function edgesOf(paths: CircuitPath[], sequence: number): Edge[] {
  return paths
    .flatMap(({ cells, layer }, path) =>
      (cells[sequence] ?? []).map(([to, from]) => ({ path, from, to, layer })))
    .map((edge, number) => ({ ...edge, number }));
}

async function example(page: RunPage, sequence: Sequence, index: number): Promise<Example> {
  return {
    sequence,
    edges: edgesOf(page.circuit?.paths ?? [], index),
    queries: [...new Set(sequence.questions.map((question) => question.position))],
    answers: await told(sequence.answers),
    together: await told(sequence.together),
    along: await unpacked(sequence.along),
  };
}

/** A page's data, with what is packed unpacked. */
export async function prepared(page: Page): Promise<Prepared> {
  const run = page.kind === "runs" ? null : page;
  return {
    page,
    examples: await Promise.all((run?.sequences ?? []).map((one, i) => example(run!, one, i))),
    maps: await unpacked(run?.attention?.packed ?? ""),
  };
}
