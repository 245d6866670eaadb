import type { Circuit, Hop, RunPage, Sequence } from "../data";
import { View } from "./view.svelte";

/** A circuit over one chain instead of a sequence, for runs of which only the circuit is known. */
export function sketch(circuit: Circuit, hops: Hop[]): View | null {
  if (!circuit.joined || !circuit.places.length) return null;
  const paths = circuit.paths.map((path) => ({
    ...path,
    cells: [[[path.query ?? 0, path.attended ?? 0] as [number, number]]],
  }));
  const sequence = {
    labels: circuit.places.map((place) => place.label),
    places: circuit.places.map((_, place) => place),
    chains: circuit.places.map(() => 0),
    questions: [],
    names: [],
    answers: "",
    along: "",
  } as Sequence;
  const page = {
    kind: "widget", steps: [0], answer_steps: [0], circuit: { ...circuit, paths }, task: { hops },
  } as unknown as RunPage;
  const edges = paths.map(({ cells, layer }, path) =>
    ({ path, layer, to: cells[0][0][0], from: cells[0][0][1] }));
  return new View({
    page,
    maps: new Uint8Array(),
    examples: [{
      sequence,
      edges,
      queries: [circuit.places.length - 1],
      answers: new Uint8Array(),
      along: new Uint8Array(edges.length).fill(100),
    }],
  });
}
