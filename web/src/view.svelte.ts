import type { CircuitPath, Curve, RunPage } from "../data";
import { wayTo } from "./circuit";
import type { Edge, Example, Prepared } from "./run";
import { enumerated } from "./text";

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
  cuts = $state.raw<string[]>([]);
  chosen = $state<string | null>(null);
  pointed = $state<string | null>(null);
  playing = $state(false);
  connection = $state("");
  embedded = new URLSearchParams(location.search).get("embed") === "circuit";
  tell: ((traits: Traits) => void) | null = null;
  private resting = 0;

  constructor(prepared: Prepared) {
    this.prepared = prepared;
    this.show(null, 0, null, []);
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

  /** The heads that attend by table, in a sentence; empty if there are none. */
  get byTable(): string {
    const names = (this.run.circuit?.tables ?? []).map(([layer, head]) => `L${layer}.H${head}`);
    if (!names.length) return "";
    return `${enumerated(names)} ${names.length > 1 ? "attend" : "attends"} by table: no relation in`
      + " words tells where.";
  }

  get example(): Example | null {
    return this.prepared.examples[this.sequence] ?? null;
  }

  /** The path that stands out: the one pointed at, or else the one chosen. */
  get lit(): string | null {
    return this.pointed ?? this.chosen;
  }

  /** The last path that was chosen, and whether it is cut. */
  get traits(): Traits {
    const cut = this.chosen !== null && this.cuts.includes(this.chosen);
    return { step: this.step, path: this.chosen, cut };
  }

  /** Take over what a notebook says. */
  take({ step, path, cut }: Traits): void {
    const now = this.traits;
    if (path !== now.path || cut !== now.cut) {
      this.chosen = this.path(path)?.key ?? null;
      this.cuts = cut && this.chosen ? [this.chosen] : [];
    }
    if (step !== null) this.at = nearest(this.steps, step);
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

  /** Cut a path beside what is cut already, or heal it if it is. */
  toggle(key: string): void {
    const isCut = this.cuts.includes(key);
    this.cuts = isCut ? this.cuts.filter((one) => one !== key) : [...this.cuts, key];
    this.chosen = this.cuts.at(-1) ?? null;
    this.changed();
  }

  /** Heal all that is cut. */
  heal(): void {
    this.cuts = [];
    this.chosen = null;
    this.changed();
  }

  /** Attention along an arrow over the sequence shown, at the step shown; as a share. */
  along({ number }: Edge): number {
    const { along, edges } = this.example!;
    return (along[this.at * edges.length + number] ?? 0) / 100;
  }

  /** The answers with what is cut, at the nearest step that has some; null if this cut was not
   * tried. */
  told = $derived.by(() => {
    if (!this.example) return null;
    const { answers, together, sequence } = this.example;
    const numbers = this.paths.flatMap(({ key }, i) => (this.cuts.includes(key) ? [i] : []));
    const several = numbers.length > 1;
    const kept = several ? this.run.cut_steps : this.run.answer_steps;
    const cut = several
      ? this.run.cuts.findIndex((set) => String(set) === String(numbers))
      : 1 + (numbers[0] ?? -1);
    if (cut < 0 || !kept.length) return null;
    const at = nearest(kept, this.at);
    const start = (cut * kept.length + at) * sequence.questions.length;
    return { ...(several ? together : answers), start, step: this.steps[kept[at]] };
  });

  /** The answers at a position, hop by hop; null if one is not known. */
  answers(position: number) {
    const { sequence } = this.example!;
    return sequence.questions
      .map(({ hop, answer, ...question }, i) => {
        const given = this.told?.given[this.told.start + i] ?? 255;
        const chance = this.told?.chances[this.told.start + i];
        return {
          ...question,
          ...this.run.task.hops[hop],
          known: this.told !== null,
          given: sequence.names[given] ?? null,
          chance: chance === undefined ? null : chance / 100,
          wanted: sequence.names[answer],
          right: given === answer,
        };
      })
      .filter((question) => question.position === position);
  }

  /** Take in the page as it is by now; time, sequence and cut stay where they were. */
  renew(prepared: Prepared): void {
    const [step, wasLast] = [this.step, this.at === this.last];
    this.prepared = prepared;
    this.show(wasLast ? null : step, this.sequence, this.query, this.cuts);
  }

  readAddress(): void {
    const given = new URLSearchParams(location.hash.slice(1));
    const count = (name: string) => {
      const text = given.get(name) ?? "";
      return /^\d{1,15}$/.test(text) ? +text : null;
    };
    const sequence = (count("sequence") ?? 1) - 1;
    this.show(count("step"), sequence, count("asked"), given.getAll("cut"));
  }

  /** Show a step, a sequence, a query and cuts; or what is nearest to them. */
  show(step: number | null, sequence: number, query: number | null, cuts: string[]): void {
    this.at = step === null ? this.last : nearest(this.steps, step);
    this.sequence = Math.max(0, Math.min(sequence, this.prepared.examples.length - 1));
    const asked = query ?? this.fullest(this.sequence);
    this.query = Math.max(0, Math.min(asked, (this.example?.queries.length ?? 1) - 1));
    this.cuts = [...new Set(cuts)].filter((key) => this.path(key));
    this.chosen = this.cuts.at(-1) ?? null;
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
    for (const key of this.cuts) parts.append("cut", key);
    return Object.assign(new URL(location.href), { hash: String(parts) }).href;
  }

  /** Tell a notebook at once; write the address at rest, as browsers refuse it every frame. */
  private changed(): void {
    this.tell?.(this.traits);
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
