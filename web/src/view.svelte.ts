import type { CircuitPath, Curve, RunPage } from "../data";
import { wayTo } from "./circuit";
import type { Edge, Example, Prepared } from "./run";

/** The state that a notebook's widget and the page share. */
export interface Traits {
  step: number | null;
  path: string | null;
  cut: boolean;
}

const REST = 200; // milliseconds

/** The state of a page: its data, and the choices of the reader. */
export class View {
  prepared = $state.raw<Prepared>({} as Prepared);
  at = $state(0);
  sequence = $state(0);
  query = $state(0);
  cut = $state<string | null>(null);
  chosen = $state<string | null>(null);
  pointed = $state<string | null>(null);
  playing = $state(false);
  connection = $state("");
  embedded = new URLSearchParams(location.search).get("embed") === "circuit";
  tell: ((traits: Traits) => void) | null = null;
  private resting = 0;

  constructor(prepared: Prepared) {
    this.prepared = prepared;
    this.show(null, 0, null, null, false);
  }

  get run(): RunPage {
    return this.prepared.page as RunPage;
  }

  get steps(): number[] {
    return this.run.steps ?? [];
  }

  get last(): number {
    return Math.max(0, this.steps.length - 1);
  }

  get step(): number | null {
    return this.steps[this.at] ?? null;
  }

  get paths(): CircuitPath[] {
    return this.run.circuit?.paths ?? [];
  }

  get example(): Example | null {
    return this.prepared.examples[this.sequence] ?? null;
  }

  /** The path that stands out: the one pointed at, or else the one chosen. */
  get lit(): string | null {
    return this.pointed ?? this.chosen;
  }

  path(key: string | null): CircuitPath | null {
    return this.paths.find((path) => path.key === key) ?? null;
  }

  goTo(index: number): void {
    this.at = Math.max(0, Math.min(this.last, index));
    this.changed();
  }

  choose(sequence: number, query?: number): void {
    const count = this.prepared.examples.length;
    this.sequence = (sequence + count) % count;
    this.query = query ?? this.fullest(this.sequence);
    this.changed();
  }

  /** Make a path stand out for a while; none if there is no key. */
  point = (key: string | null): void => {
    this.pointed = key || null;
  };

  /** Cut a path, or heal it if it is cut. */
  toggle(key: string | null): void {
    this.cut = this.chosen = this.cut === key ? null : key;
    this.changed();
  }

  /** Attention along an arrow over the sequence shown, at the step shown; as a share. */
  along({ number }: Edge): number {
    const { along, edges } = this.example!;
    return (along[this.at * edges.length + number] ?? 0) / 100;
  }

  /** The answers at a position, hop by hop, at the nearest step that has some, with what is cut;
   * null if one is not known. */
  answers(position: number) {
    const { answers, sequence } = this.example!;
    const variant = 1 + this.paths.findIndex(({ key }) => key === this.cut);
    const kept = this.run.answer_steps;
    const row = (variant * kept.length + nearest(kept, this.at)) * sequence.questions.length;
    return sequence.questions
      .map(({ hop, answer, ...question }, i) => ({
        ...question,
        ...this.run.task.hops[hop],
        given: sequence.names[answers[row + i]] ?? null,
        wanted: sequence.names[answer],
        right: answers[row + i] === answer,
      }))
      .filter((question) => question.position === position);
  }

  /** Take in the page as it is by now; time, sequence and cut stay where they were. */
  renew(prepared: Prepared): void {
    const [step, wasLast] = [this.step, this.at === this.last];
    this.prepared = prepared;
    this.show(wasLast ? null : step, this.sequence, this.query, this.chosen, this.cut !== null);
  }

  readAddress(): void {
    const given = new URLSearchParams(location.hash.slice(1));
    const count = (name: string) => {
      const text = given.get(name) ?? "";
      return /^\d{1,15}$/.test(text) ? +text : null;
    };
    this.show(count("step"), (count("sequence") ?? 1) - 1, count("asked"), given.get("cut"), true);
  }

  /** Show a step, a sequence, a query and a path, cut or whole; or what is nearest to them. */
  show(
    step: number | null, sequence: number, query: number | null, path: string | null, cut: boolean,
  ): void {
    this.at = step === null ? this.last : nearest(this.steps, step);
    this.sequence = Math.max(0, Math.min(sequence, this.prepared.examples.length - 1));
    const asked = query ?? this.fullest(this.sequence);
    this.query = Math.max(0, Math.min(asked, (this.example?.queries.length ?? 1) - 1));
    this.chosen = this.path(path)?.key ?? null;
    this.cut = cut ? this.chosen : null;
  }

  /** The number of a sequence's query that most arrows lead to, the first of several. */
  private fullest(sequence: number): number {
    const { edges, queries } = this.prepared.examples[sequence] ?? { edges: [], queries: [] };
    const ways = queries.map((query) => wayTo(edges, query).size);
    return Math.max(0, ways.indexOf(Math.max(...ways)));
  }

  /** The address that leads to what is shown. */
  get address(): string {
    const parts = new URLSearchParams();
    if (this.at < this.last) parts.set("step", String(this.step));
    if (this.sequence) parts.set("sequence", String(this.sequence + 1));
    if (this.query !== this.fullest(this.sequence)) parts.set("asked", String(this.query));
    if (this.cut) parts.set("cut", this.cut);
    return Object.assign(new URL(location.href), { hash: String(parts) }).href;
  }

  /** Tell a notebook at once; write the address at rest, as browsers refuse it every frame. */
  private changed(): void {
    this.tell?.({ step: this.step, path: this.chosen, cut: this.cut !== null });
    clearTimeout(this.resting);
    if (this.tell || this.playing || !/^(https?|file):$/.test(location.protocol)) return;
    this.resting = window.setTimeout(() => history.replaceState(null, "", this.address), REST);
  }
}

/** The last value of a curve until a step. */
export function latest(curve: Curve | undefined, step: number | null): number | null {
  return curve?.points.findLast(([at]) => at <= (step ?? -1))?.[1] ?? null;
}

/** The number of the value that is nearest. */
export function nearest(values: number[], value: number): number {
  const far = values.map((one) => Math.abs(one - value));
  return Math.max(0, far.indexOf(Math.min(...far)));
}
