// By tests/report/typescript.py from src/headway/report/schema.py, which documents it.

export interface Attention {
  steps: number[];
  sequences: number;
  heads: FollowedHead[];
  packed: string;
  strays: Stray[];
}

export interface Axis {
  field: string;
  name: string;
  values: string[];
  numbers: number[] | null;
  along: string[];
}

export interface Circuit {
  layers: number;
  heads: number;
  places: Place[];
  joined: boolean;
  paths: CircuitPath[];
  idle: IdleHead[];
  stream: string[][][];
  loss: number;
  intact: number;
  threshold: number;
  ablation: string;
  faithful: boolean;
}

export interface CircuitPath {
  key: string;
  name: string;
  layer: number;
  head: number;
  relation: string;
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
  cut: number | null;
  free: number | null;
  lost: string[];
  answers: string[];
}

export interface ComparisonPage {
  name: string;
  title: string;
  headline: string;
  summary: string[];
  live: string;
  setting: string[];
  facts: Fact[];
  birth: number;
  threshold: number;
  until: number;
  end: number;
  kind: "comparison";
  varies: string[];
  members: Member[];
  runs: Table;
  shared: Section[];
  learnt: Table;
}

export interface EvidenceRow {
  key: string;
  attention: number;
  cut: number;
  free: number;
  alone: number | null;
  needed: boolean | null;
}

export interface Fact {
  name: string;
  value: string;
  note: string;
}

export interface FollowedHead {
  layer: number;
  head: number;
  useful: boolean;
  does: string;
}

export interface Grid {
  title: string;
  down: number;
  across: number;
  cells: ((GridCell | null)[])[];
}

export interface GridCell {
  runs: number;
  done: number;
  solved: number;
  failed: number;
  median: number | null;
  side: string;
}

export interface Hop {
  name: string;
  label: string;
  judged: boolean;
  learnt: number | null;
  colour: number;
}

export interface IdleHead {
  layer: number;
  head: number;
  does: string;
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
  number: number;
  name: string;
  link: string | null;
  status: string;
  note: string;
  hops: Hop[];
  in_order: boolean | null;
  losses: Losses;
  circuit: Circuit | null;
}

export interface Minimum {
  layers: number | null;
  used: number | null;
  sentences: string[];
  query: ([string[], string[] | null])[];
}

export interface Missing {
  evaluations: string | null;
  circuit: string | null;
  births: string | null;
  attention: string | null;
}

export interface Place {
  role: string;
  symbol: string;
  label: string;
  group: number;
  colour: number;
}

export interface Question {
  position: number;
  hop: number;
  chain: number | null;
  answer: number;
}

export interface RunPage {
  name: string;
  title: string;
  headline: string;
  summary: string[];
  live: string;
  setting: string[];
  facts: Fact[];
  birth: number;
  threshold: number;
  until: number;
  end: number;
  kind: "run" | "widget";
  warning: string | null;
  status: string;
  seed: number;
  versions: Record<string, string>;
  commands: string[];
  python: string;
  config: string;
  task: Task;
  steps: number[];
  losses: Losses;
  circuit: Circuit | null;
  model: (number | null)[];
  first: number;
  answer_steps: number[];
  sequences: Sequence[];
  attention: Attention | null;
  verdicts: Verdict[];
  evidence: EvidenceRow[];
  minimum: Minimum;
  story: string[];
  details: Section[];
  missing: Missing;
}

export interface Section {
  name: string;
  title: string;
  sentences: string[];
  tables: Table[];
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
  attention: number;
  rise: number;
  needed: boolean;
  cells: [number, number][][];
}

export interface SweepPage {
  name: string;
  title: string;
  headline: string;
  summary: string[];
  live: string;
  setting: string[];
  facts: Fact[];
  birth: number;
  threshold: number;
  until: number;
  end: number;
  kind: "sweep";
  axes: Axis[];
  runs: SweepRun[];
  panels: number | null;
  coloured: number | null;
  table: Table;
  fields: Table[];
  grids: Grid[];
  bounds: string[];
  learnt: Table;
  order: string;
  waiting: string[];
  unreadable: string[];
}

export interface SweepRun {
  number: number;
  name: string;
  link: string | null;
  status: string;
  values: number[];
  loss: number | null;
  done: boolean;
  solved: boolean;
  steps: number[];
  losses: number[];
  learnt: Record<string, number | null>;
  in_order: boolean | null;
}

export interface Table {
  title: string;
  head: string[];
  rows: ((string | boolean | number | null)[])[];
  keys: string[];
  note: string;
}

export interface Task {
  kind: string;
  reading: string;
  loss: string;
  vocabulary: number | null;
  length: number;
  hops: Hop[];
  references: Record<string, number>;
}

export interface Verdict {
  name: string;
  holds: boolean | null;
  because: string;
  next: string | null;
}

export type Page = RunPage | ComparisonPage | SweepPage | ListPage;
