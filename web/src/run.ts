import type { CircuitPath, Page, RunPage, Sequence } from "../data";

/** Bytes that Python packed: gzip, as base64. */
async function unpacked(text: string): Promise<Uint8Array> {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** An arrow over one sequence: a path, from the position read to the one that reads. */
export interface Edge {
  path: number;
  from: number;
  to: number;
  layer: number;
}

/** A sequence with its packed numbers unpacked. */
export interface Example {
  sequence: Sequence;
  edges: Edge[];
  queries: number[];
  answers: Uint8Array;
  along: Uint8Array;
}

export interface Prepared {
  page: Page;
  examples: Example[];
  maps: Uint8Array;
}

const NOTHING = new Uint8Array();

function edgesOf(paths: CircuitPath[], index: number): Edge[] {
  return paths.flatMap(({ cells, layer }, path) =>
    (cells[index] ?? []).map(([to, from]) => ({ path, from, to, layer })));
}

async function example(page: RunPage, sequence: Sequence, index: number): Promise<Example> {
  return {
    sequence,
    edges: edgesOf(page.circuit?.paths ?? [], index),
    queries: [...new Set(sequence.questions.map((question) => question.position))],
    answers: sequence.answers ? await unpacked(sequence.answers) : NOTHING,
    along: sequence.along ? await unpacked(sequence.along) : NOTHING,
  };
}

/** A page's data, with what is packed unpacked. */
export async function prepared(page: Page): Promise<Prepared> {
  if (page.kind !== "run" && page.kind !== "widget") return { page, examples: [], maps: NOTHING };
  return {
    page,
    examples: await Promise.all(page.sequences.map((one, i) => example(page, one, i))),
    maps: page.attention ? await unpacked(page.attention.packed) : NOTHING,
  };
}
