import type { Circuit, Hop, RunPage, Sequence } from "../data";
import { View } from "./view.svelte";

/** A circuit over one chain instead of a sequence, for runs of which only the circuit is known. */
export function sketch(circuit: Circuit, hops: Hop[]): View | null {
  const { joined, places, paths } = circuit;
  if (!joined || !places.length) return null;
  const sequence: Sequence = {
    labels: places.map((place) => place.label),
    places: places.map((_, place) => place),
    chains: places.map(() => 0),
    questions: [],
    names: [],
    answers: "",
    along: "",
  };
  const page = { kind: "widget", steps: [0], answer_steps: [0], circuit, task: { hops } };
  const edges = paths.map(({ layer, query, attended }, path) =>
    ({ path, layer, to: query ?? 0, from: attended ?? 0 }));
  return new View({
    page: page as unknown as RunPage,
    maps: new Uint8Array(),
    examples: [{
      sequence,
      edges,
      queries: [places.length - 1],
      answers: new Uint8Array(),
      along: new Uint8Array(edges.length).fill(100),
    }],
  });
}
