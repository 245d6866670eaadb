// Made by tests/report/typescript.py from src/headway/report/schema.py.

/**
 * What is answered to the questions of a sequence, in their order.
 *
 * Attributes:
 *     tokens: the likeliest, by number; empty for vectors. It is right if it is the question's.
 *     scores: of tokens, the probability of the right one; of vectors, the loss, which counts as
 *         right below `BIRTH`.
 */
export interface Answers {
  tokens: number[];
  scores: number[];
}

/**
 * The attention of heads on the examples, through training.
 *
 * Attributes:
 *     steps: for which it is kept, as indices into the steps of the page.
 *     sequences: of how many examples, from the first.
 *     heads: the heads.
 *     size: positions shown of a sequence, the last of it.
 *     first: the position that the first of them is.
 *     packed: one byte a value, in hundredths, [step, sequence, head, query, key]; by gzip, as
 *         base64.
 *     strays: the strongest attention that is no path, the strongest first.
 */
export interface Attention {
  steps: number[];
  sequences: number;
  heads: FollowedHead[];
  size: number;
  first: number;
  packed: string;
  strays: Stray[];
}

/**
 * A field that varies by itself.
 *
 * Attributes:
 *     field: its dotted name.
 *     name: the last part of it, or all if that is ambiguous.
 *     values: those that occur, as text, in order.
 *     numbers: the same as numbers; None if one is none.
 *     along: the fields whose value follows from this one's.
 */
export interface Axis {
  field: string;
  name: string;
  values: string[];
  numbers: number[] | null;
  along: string[];
}

/**
 * What the heads of a model do.
 *
 * Attributes:
 *     layers: of the model.
 *     heads: of every layer.
 *     places: the roles of one chain; empty if the task has none.
 *     joined: whether all paths lead from place to place, so that places can be columns.
 *     paths: in the order in which information flows.
 *     idle: the heads without a path.
 *     stream: for the stream before the first layer and after each, and every place, the labels of
 *         the symbols that stand there if heads copy all that they find; empty if not known.
 *     loss: with every head replaced.
 *     intact: of the model as it is.
 *     threshold: that the loss was to stay below.
 *     ablation: what stands in rows without a path, in words.
 *     faithful: whether the loss is below the threshold.
 */
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

/**
 * A head that attends along a relation.
 *
 * Attributes:
 *     key: by which all else on the page names it.
 *     name: the head, `L1.H0`.
 *     layer: of the head.
 *     head: its number in the layer.
 *     relation: along which it attends.
 *     label: head and relation as they are printed.
 *     query: the place that attends; None if the relation is not one between roles.
 *     attended: the place attended to; None likewise.
 *     colour: 0 to 6, of the symbol carried that is nearest to the answer, or of the head where no
 *         symbols are known; -1 if the path brings nothing new.
 *     dashes: 0 to 5, which tells apart curves of one colour.
 *     carries: the symbols that it brings, as they are printed; empty if none are known.
 *     cells: where it leads in every example: pairs of positions, query and key.
 *     attention: mean attention along it, at every step of the page; empty if it was not dated.
 *     without: the loss of the model of that step with this attention set to zero; likewise.
 *     born: the step at which its attention first passes `BIRTH`; None if it never does.
 *     needed: the step from which the loss depends on it; None if it never does.
 *     cut: the loss of the circuit without it, None if that was not measured.
 *     free: the same with the useful heads of the layers above attending freely.
 *     lost: the keys of the paths that then do not find their key, by the flow of information.
 *     answers: the labels of the hops that the query then lacks, likewise.
 */
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
  attention: number[];
  without: number[];
  born: number | null;
  needed: number | null;
  cut: number | null;
  free: number | null;
  lost: string[];
  answers: string[];
}

/**
 * Several runs side by side.
 *
 * Attributes:
 *     kind: `comparison`.
 *     name: with which files begin that are kept.
 *     title: the task, if all have the same.
 *     headline: how many solved it, in sentences.
 *     summary: the same in plain lines, for readers without scripts.
 *     setting: what all runs have in common, in parts.
 *     varies: the fields that vary.
 *     facts: key numbers.
 *     members: the runs.
 *     runs: a row for every run.
 *     shared: what the circuits of each task have in common, with tables by relation and of how
 *         alike every two are.
 *     learnt: when hops were learnt, run by run.
 *     birth: as on the page of a run.
 *     threshold: the loss below which a task counts as solved.
 *     until: the last step worth showing at first.
 *     end: the last step that there is.
 *     live: whether the page is served, and is to follow the runs as they change.
 */
export interface ComparisonPage {
  kind: "comparison";
  name: string;
  title: string;
  headline: string;
  summary: string[];
  setting: string[];
  varies: string[];
  facts: Fact[];
  members: Member[];
  runs: Table;
  shared: Section[];
  learnt: Table;
  birth: number;
  threshold: number;
  until: number;
  end: number;
  live: boolean;
}

/**
 * What a path is needed for.
 *
 * Attributes:
 *     key: of the path.
 *     attention: the model's own along it, at its last step.
 *     cut: the loss with every head replaced and this path cut.
 *     free: the same, while the useful heads of the layers above attend as they like.
 *     alone: the loss with this path's head alone replaced by what it does.
 *     needed: whether the worse of the two losses is at or above the threshold; None if the
 *         circuit is not faithful.
 */
export interface EvidenceRow {
  key: string;
  attention: number;
  cut: number;
  free: number;
  alone: number | null;
  needed: boolean | null;
}

/**
 * A key number, as text, with a note on it.
 */
export interface Fact {
  name: string;
  value: string;
  note: string;
}

/**
 * A head whose attention the page shows.
 *
 * Attributes:
 *     layer: of the head.
 *     head: its number in the layer.
 *     useful: whether it is in the circuit, or none is known.
 *     does: its mechanism in the circuit, in words; empty without one.
 */
export interface FollowedHead {
  layer: number;
  head: number;
  useful: boolean;
  does: string;
}

/**
 * Two axes across each other.
 *
 * Attributes:
 *     title: the values of all other axes; empty if there are none.
 *     down: the number of the axis of rows.
 *     across: that of columns.
 *     cells: row by row; None where there is no run.
 */
export interface Grid {
  title: string;
  down: number;
  across: number;
  cells: ((GridCell | null)[])[];
}

/**
 * The runs of two values.
 *
 * Attributes:
 *     runs: how many there are.
 *     done: how many of them are done.
 *     solved: how many of them solved the task.
 *     failed: how many failed.
 *     median: of the losses of those that are done; None if none is.
 *     side: whether the layers are too few by the theory (`below`), just enough (`least`) or more
 *         (`above`); empty if that is not known or differs.
 */
export interface GridCell {
  runs: number;
  done: number;
  solved: number;
  failed: number;
  median: number | null;
  side: string;
}

/**
 * Something that a query must predict.
 *
 * Attributes:
 *     name: as in the code.
 *     label: as it is printed.
 *     judged: whether it can be predicted without error, so that circuits are judged by it.
 *     learnt: the step at which its loss first passes below `BIRTH`; None if it never does.
 *     colour: 0 to 6, that of the symbol that it asks for.
 */
export interface Hop {
  name: string;
  label: string;
  judged: boolean;
  learnt: number | null;
  colour: number;
}

/**
 * A head without a path, and what it does instead, such as `uniform`.
 */
export interface IdleHead {
  layer: number;
  head: number;
  does: string;
}

/**
 * The runs in a folder; or why something has no page.
 *
 * Attributes:
 *     kind: `list`.
 *     name: with which files begin that are kept.
 *     title: the folder's name, or that of what has no page.
 *     headline: how many runs of every status there are.
 *     summary: the same in plain lines, for readers without scripts.
 *     groups: the runs.
 *     threshold: the loss below which a task counts as solved.
 *     why: why there is nothing to show; None if there is.
 *     back: the address of the list of all runs; None on that list itself.
 *     live: whether the page is served, and is to follow the runs as they change.
 */
export interface ListPage {
  kind: "list";
  name: string;
  title: string;
  headline: string;
  summary: string[];
  groups: ListedGroup[];
  threshold: number;
  why: string | null;
  back: string | null;
  live: boolean;
}

/**
 * The runs of a sweep, with the address of its page; those outside of any have no name.
 */
export interface ListedGroup {
  name: string;
  link: string;
  runs: ListedRun[];
}

/**
 * A run in the list of runs.
 *
 * Attributes:
 *     name: of its folder.
 *     link: the address of its page.
 *     key: its name as a part of the address of a comparison, `/compare/KEY/KEY/`.
 *     status: `done`, `failed`, `running`, `stopped` or `unreadable`.
 *     message: why it failed or cannot be read; perhaps empty.
 *     task: its kind and size.
 *     model: its size, and the seed.
 *     step: of the last evaluation.
 *     steps: that its config allows; None if it was trained elsewhere.
 *     loss: the validation loss then, None before the first evaluation.
 *     solved: whether the task counts as solved.
 *     curve: steps and validation losses, at most 48.
 *     circuit: useful heads and layers, with the flow minimum, in words; perhaps empty.
 *     changed: when it was last written to, as in ISO 8601; None if that is not known.
 */
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

/**
 * Losses on held-out sequences by step, and what training itself saw.
 *
 * Attributes:
 *     steps: of the evaluations.
 *     validation: the mean over hops.
 *     training: on the batch of that step.
 *     hops: of one hop alone, by its name.
 */
export interface Losses {
  steps: number[];
  validation: (number | null)[];
  training: (number | null)[];
  hops: Record<string, (number | null)[]>;
}

/**
 * One of several runs that are compared.
 *
 * Attributes:
 *     number: from 1 on.
 *     name: its folder's, with those above it as far as they are not common to all.
 *     link: the address of its own page; None if there is none.
 *     status: `done`, `failed`, `running` or `stopped`.
 *     note: what it lacks, in sentences; perhaps empty.
 *     hops: with the steps at which they were learnt.
 *     in_order: whether hops were learnt in chain order; None if there is nothing to compare.
 *     losses: by step.
 *     circuit: without examples and curves; None if none is known.
 */
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

/**
 * The least number of layers by the theory.
 *
 * Attributes:
 *     layers: that are enough; None if no number is, or it is not known.
 *     used: layers with a useful head; None without a circuit.
 *     sentences: in words.
 *     query: after every number of layers, from none on, the labels of the symbols that the query
 *         holds at best, and along the circuit (None without one).
 */
export interface Minimum {
  layers: number | null;
  used: number | null;
  sentences: string[];
  query: ([string[], string[] | null])[];
}

/**
 * Why a part of a run's page is not there, in sentences with the command that would help; None
 * if it is there.
 */
export interface Missing {
  evaluations: string | null;
  circuit: string | null;
  births: string | null;
  attention: string | null;
}

/**
 * A role of one chain, as a column of the circuit; in the order of the sequence.
 *
 * Attributes:
 *     role: its name.
 *     symbol: what stands there; empty if the task does not say.
 *     label: the symbol, or else the role, as it is printed.
 *     group: the number of its pair, fact or row.
 *     colour: of its symbol, 0 to 6; 0 where none is known.
 */
export interface Place {
  role: string;
  symbol: string;
  label: string;
  group: number;
  colour: number;
}

/**
 * Something that a sequence asks for.
 *
 * Attributes:
 *     position: where it is asked.
 *     hop: the number of the hop.
 *     token: the right one, by number; None for vectors.
 */
export interface Question {
  position: number;
  hop: number;
  token: number | null;
}

/**
 * A run.
 *
 * Attributes:
 *     kind: `run`, or `widget` in a notebook.
 *     name: of the folder.
 *     title: the task in a few words.
 *     headline: what came out, in a sentence.
 *     summary: the same in plain lines, for readers without scripts.
 *     setting: what decides the run, in parts.
 *     facts: key numbers.
 *     warning: why the page may be of another task or model than the run's; None if it is not.
 *     status: `done`, `failed`, `running` or `stopped`.
 *     seed: of the run.
 *     versions: of Python and the main packages it was computed with, by name.
 *     commands: that find and show what is on this page, to be run on the folder.
 *     python: code that trains the run again.
 *     config: of the run, as JSON text.
 *     birth: the attention at which a path counts as born, and the loss at which a hop is learnt.
 *     task: what was learnt.
 *     steps: at which the model is shown, in order; empty without a checkpoint.
 *     until: the last step worth showing at first.
 *     end: the last step that there is.
 *     losses: by step.
 *     circuit: None if none is known.
 *     model: the loss at every step of the page, on the sequences of the paths' losses; empty if
 *         the paths were not dated.
 *     sequences: examples; empty where the model cannot be run.
 *     attention: on the examples; None where there is none to show.
 *     verdicts: on the circuit.
 *     evidence: path by path.
 *     minimum: of layers.
 *     story: the way to the answer, in sentences.
 *     details: all else that was measured.
 *     missing: why parts are not there.
 *     live: whether the page is served, and is to follow the run as it changes.
 */
export interface RunPage {
  kind: "run" | "widget";
  name: string;
  title: string;
  headline: string;
  summary: string[];
  setting: string[];
  facts: Fact[];
  warning: string | null;
  status: string;
  seed: number;
  versions: Record<string, string>;
  commands: string[];
  python: string;
  config: string;
  birth: number;
  task: Task;
  steps: number[];
  until: number;
  end: number;
  losses: Losses;
  circuit: Circuit | null;
  model: number[];
  sequences: Sequence[];
  attention: Attention | null;
  verdicts: Verdict[];
  evidence: EvidenceRow[];
  minimum: Minimum;
  story: string[];
  details: Section[];
  missing: Missing;
  live: boolean;
}

/**
 * Sentences and tables about one question, for the closed part of a page.
 *
 * Attributes:
 *     name: a short name, for an address.
 *     title: the question.
 *     sentences: the answer, perhaps none.
 *     tables: what it rests on, perhaps none.
 */
export interface Section {
  name: string;
  title: string;
  sentences: string[];
  tables: Table[];
}

/**
 * A held-out sequence.
 *
 * Attributes:
 *     labels: what stands at every position that is shown, as it is printed.
 *     places: the place that each of them plays in its chain; None where it plays none.
 *     chains: the number of that chain; None likewise.
 *     questions: what is asked for.
 *     answers: of the model, at every step of the page.
 *     circuit: of the model with every head replaced, at the last step; None without a circuit.
 *     without: the same with one path cut, in the order of the circuit's paths.
 */
export interface Sequence {
  labels: string[];
  places: (number | null)[];
  chains: (number | null)[];
  questions: Question[];
  answers: Answers[];
  circuit: Answers | null;
  without: Answers[];
}

/**
 * Strong attention, at the last step, that no path of the circuit stands for.
 *
 * Attributes:
 *     head: its number among the followed heads; None if it is not followed.
 *     label: head and relation as they are printed.
 *     attention: along the relation, averaged over sequences and rows.
 *     rise: of the model's loss with this attention at zero.
 *     needed: whether that rise is large enough to matter.
 *     cells: where it leads in every example: pairs of positions, query and key.
 */
export interface Stray {
  head: number | null;
  label: string;
  attention: number;
  rise: number;
  needed: boolean;
  cells: [number, number][][];
}

/**
 * All runs of a folder.
 *
 * Attributes:
 *     kind: `sweep`.
 *     name: of the folder.
 *     title: likewise.
 *     headline: how many are done and solved their task, in sentences.
 *     summary: the same in plain lines, for readers without scripts.
 *     setting: what all runs have in common, in parts.
 *     facts: key numbers.
 *     axes: the fields that vary, besides the seed.
 *     runs: in natural order.
 *     panels: the number of the axis that divides curves into panels; None for one panel.
 *     coloured: the number of the axis that curves are coloured by; None if there is none.
 *     table: a row for every run.
 *     fields: what came out by every value of each axis, a table for each.
 *     grids: two axes across each other, perhaps none.
 *     bounds: what the theory allows and what came out, in sentences; perhaps none.
 *     learnt: when hops were learnt, over all runs.
 *     order: in how many runs hops were learnt in order, in a sentence.
 *     waiting: the names of runs of the plan that have not been started.
 *     unreadable: what could not be read, each with the reason.
 *     birth: as on the page of a run.
 *     threshold: the loss below which a task counts as solved.
 *     until: the last step worth showing at first.
 *     end: the last step that there is.
 *     live: whether the page is served, and is to follow the runs as they change.
 */
export interface SweepPage {
  kind: "sweep";
  name: string;
  title: string;
  headline: string;
  summary: string[];
  setting: string[];
  facts: Fact[];
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
  birth: number;
  threshold: number;
  until: number;
  end: number;
  live: boolean;
}

/**
 * A run of a sweep.
 *
 * Attributes:
 *     number: from 1 on.
 *     name: of its folder.
 *     link: the address of its own page; None if there is none.
 *     status: `done`, `failed`, `running` or `stopped`.
 *     values: on every axis, as indices into the values of the axis.
 *     loss: the validation loss at the end, or so far; None before the first evaluation.
 *     done: whether it came to its end, with a loss.
 *     solved: whether it is done and solved its task.
 *     steps: the steps of its curve.
 *     losses: the validation losses there.
 *     learnt: the steps at which hops were learnt, by hop; None where one was not.
 *     in_order: whether they were learnt in chain order; None if there is nothing to compare.
 */
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

/**
 * A table.
 *
 * Attributes:
 *     title: its title.
 *     head: the names of its columns.
 *     rows: its cells, row by row.
 *     keys: for every row what it is about, `path:KEY` or `run:NUMBER`, to be found elsewhere on
 *         the page; empty if the rows are about neither.
 *     note: what the columns mean, in sentences; perhaps empty.
 */
export interface Table {
  title: string;
  head: string[];
  rows: ((string | boolean | number | null)[])[];
  keys: string[];
  note: string;
}

/**
 * What was learnt.
 *
 * Attributes:
 *     kind: the name of the task.
 *     reading: how to read a sequence, in sentences.
 *     loss: what losses are, such as `MSE`.
 *     tokens: whether sequences are made of tokens; else of vectors.
 *     vocabulary: the names of the tokens, by number; empty for vectors.
 *     length: positions in a sequence.
 *     hops: what is asked for, in chain order.
 *     references: losses of predictors that follow no chain, by what they predict.
 */
export interface Task {
  kind: string;
  reading: string;
  loss: string;
  tokens: boolean;
  vocabulary: string[];
  length: number;
  hops: Hop[];
  references: Record<string, number>;
}

/**
 * Whether a circuit has a property.
 *
 * Attributes:
 *     name: of the property.
 *     holds: whether it has it; None if that cannot be said.
 *     because: why, in sentences.
 *     next: what would help, as a command or a sentence; None if nothing would.
 */
export interface Verdict {
  name: string;
  holds: boolean | null;
  because: string;
  next: string | null;
}

export type Page = RunPage | ComparisonPage | SweepPage | ListPage;
