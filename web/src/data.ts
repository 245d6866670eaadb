// By tests/report/typescript.py from src/headway/report/schema.py, which documents it.

export interface Attention {
  steps: number[];
  sequences: number;
  heads: FollowedHead[];
  packed: string;
  strays: Stray[];
}

export interface Circuit {
  layers: number;
  places: Place[];
  joined: boolean;
  paths: CircuitPath[];
}

export interface CircuitPath {
  key: string;
  layer: number;
  head: number;
  label: string;
  query: number | null;
  attended: number | null;
  colour: number;
  dashes: number;
  carries: string[];
  cells: [number, number][][];
  attention: (number | null)[];
  without: (number | null)[];
  born: number | null;
  needed: number | null;
  lost: string[];
  answers: string[];
}

export interface Curve {
  name: string;
  key: string;
  colour: number;
  dashes: number;
  points: [number, number][];
}

export interface FollowedHead {
  layer: number;
  head: number;
  useful: boolean;
  does: string;
}

export interface Hop {
  name: string;
  label: string;
  learnt: number | null;
  colour: number;
}

export interface ListPage {
  name: string;
  title: string;
  headline: string;
  summary: string[];
  live: string;
  kind: "list";
  groups: ListedGroup[];
  threshold: number;
  why: string | null;
  back: string | null;
}

export interface ListedGroup {
  name: string;
  link: string;
  runs: ListedRun[];
}

export interface ListedRun {
  name: string;
  link: string;
  key: string;
  status: string;
  message: string;
  task: string;
  model: string;
  step: number;
  steps: number | null;
  loss: number | null;
  solved: boolean;
  curve: [number, number][];
  circuit: string;
  changed: string | null;
}

export interface Losses {
  steps: number[];
  validation: (number | null)[];
  training: (number | null)[];
  hops: Record<string, (number | null)[]>;
}

export interface Member {
  key: string;
  name: string;
  link: string | null;
  note: string;
  hops: Hop[];
  circuit: Circuit | null;
}

export interface Panel {
  title: string;
  curves: Curve[];
}

export interface Place {
  role: string;
  label: string;
  colour: number;
}

export interface Question {
  position: number;
  hop: number;
  answer: number;
}

export interface RunPage {
  name: string;
  title: string;
  headline: string;
  summary: string[];
  live: string;
  kind: "run" | "widget";
  warning: string | null;
  birth: number;
  until: number;
  end: number;
  task: Task;
  steps: number[];
  losses: Losses;
  circuit: Circuit | null;
  model: (number | null)[];
  answer_steps: number[];
  sequences: Sequence[];
  attention: Attention | null;
  verdicts: Verdict[];
  evidence: Table | null;
  heads: Table | null;
  stream: Table | null;
  minimum: Section;
  details: Section[];
  missing: Record<string, string>;
  again: string;
  bibtex: string;
  config: string;
}

export interface RunsPage {
  name: string;
  title: string;
  headline: string;
  summary: string[];
  live: string;
  kind: "runs";
  setting: string[];
  members: Member[];
  table: Table;
  sections: Section[];
  panels: Panel[];
  learnt: Section;
  threshold: number;
  until: number;
  end: number;
  notes: string[];
}

export interface Section {
  title: string;
  sentences: string[];
  tables: Table[];
  text: string;
}

export interface Sequence {
  labels: string[];
  places: (number | null)[];
  chains: (number | null)[];
  questions: Question[];
  names: string[];
  answers: string;
  along: string;
}

export interface Stray {
  head: number | null;
  label: string;
  rise: number;
  needed: boolean;
  cells: [number, number][][];
}

export interface Table {
  title: string;
  head: string[];
  rows: ((string | boolean | number | null)[])[];
  keys: string[];
  note: string;
  shares: number[][];
}

export interface Task {
  reading: string;
  loss: string;
  hops: Hop[];
  references: Record<string, number>;
}

export interface Verdict {
  name: string;
  holds: boolean | null;
  because: string;
  next: string | null;
}

export type Page = RunPage | RunsPage | ListPage;
