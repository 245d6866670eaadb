"""Planted faults: `make fuzz-mutants` plants each in a copy of the package, and a check must fail.

A check is a part of what `make fuzz` tries, or a test. It must pass without the fault.
"""

import multiprocessing
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, NoReturn

CHECKOUT = Path(__file__).resolve().parents[2]
PACKAGE = CHECKOUT / "src" / "headway"
AT_A_TIME = 2
PATIENCE = 300
"""Seconds that a check may take."""

FORKING = multiprocessing.get_context("forkserver")
PRELOADED = [
    *("beartype.door", "filelock", "hypothesis.strategies", "jaxtyping", "numpy", "pydantic"),
    *("pytest", "safetensors.torch", "scipy.special", "torch"),
]
"""What all tests need but the package itself: imported once, in the process that those of tests are
forked from, as it takes most of a check's time."""


class Mutant(NamedTuple):
    """A planted fault.

    Attributes:
        what: it does.
        file: of the package.
        old: text that stands once in the file.
        new: text in its place.
    """

    what: str
    file: str
    old: str
    new: str

    @property
    def planted(self) -> str:
        """The file's text with the fault.

        Raises:
            ValueError: if the text to be replaced does not stand there just once.
            SyntaxError: if the file is no Python with it.
        """
        text = (PACKAGE / self.file).read_text()
        if text.count(self.old) != 1:
            raise ValueError(f"{self.what}: {self.old!r} stands {text.count(self.old)} times")
        text = text.replace(self.old, self.new)
        compile(text, self.file, "exec")  # else any check would notice
        return text


FILES, RUN = "training/files.py", "training/run.py"
READING, FIELDS, TRAINER = "reading.py", "fields.py", "training/loop.py"
USERFILE = "userfile.py"
PAGE, SERVER = "report/page.py", "report/server.py"
OWN_TASK, RESUME = "tests/test_cli_own_task.py", "tests/training/test_resume.py"
SEARCH, EVIDENCE, VERDICT = (f"circuits/{name}.py" for name in ("search", "evidence", "verdicts"))
LIMITS, STEPS, EVIDENCES, PATTERNS, EMERGENCE, VERDICTS, CORRUPTED = (
    f"tests/circuits/test_{name}.py"
    for name in (
        *("limits", "search_steps", "evidence", "patterns", "emergence", "verdicts"),
        "corrupted",
    )
)
SHARES, FITTED, EDGES, COMPOSED = (
    f"tests/relations/test_{name}.py" for name in ("shares", "fitted", "edges", "composed")
)
FLOW, SIMULATION, COUNTING = (
    f"tests/theory/test_{name}.py" for name in ("flow", "simulation", "counting")
)
OPTIMISERS, DEEPENING = (f"tests/training/test_{name}.py" for name in ("optimisers", "deepening"))
BOARD, TABLE, PLAN = (f"tests/sweeps/test_{name}.py" for name in ("board", "table", "plan"))
MEASURES, YARDSTICKS, FLOWS, EXHAUSTIVE = (
    f"tests/circuits/test_{name}.py" for name in ("measures", "yardstick", "flows", "exhaustive")
)
YARDSTICK = "circuits/yardstick.py"
TARGETS, INTERVALS = "tests/tasks/test_targets.py", "tests/test_intervals.py"
FIELDS_TESTS = "tests/test_fields.py"
LINKS, HEADERS, SET, BATCHES = (
    f"tests/training/test_{name}.py" for name in ("links", "headers", "fixed_set", "data")
)
SIZES, SETTINGS_TESTS = "tests/training/test_too_large.py", "tests/test_settings.py"
ROWS, THREADS, NO_NUMBERS = (
    f"tests/circuits/test_{name}.py" for name in ("rows", "one_thread", "no_numbers")
)
SITES, GRADIENTS = (f"tests/models/test_{name}.py" for name in ("tapped_sites", "gradients"))
TRUE_CAUSES = "tests/tasks/test_true_causes.py"
REWOUND = "tests/training/test_run.py::test_rewinding_forgets_all_that_was_found_out"
MUTANTS: dict[tuple[str, str], dict[str, tuple[str, str]]] = {
    ("power --cuts 120", FILES): {
        "a file is not flushed": (
            "fsync(file.fileno())\n            os",
            "stat('.')\n            os",
        ),
        "an evaluation is not flushed": (
            "fsync(file.fileno())\n        sync",
            "stat('.')\n        sync",
        ),
        "a file's folder is not flushed": (
            "sync_folder(path.parent)\n        finally",
            "pass\n        finally",
        ),
    },
    ("power --cuts 120", RUN): {
        "a new run's folder is not flushed": ("files.sync_folder(folder.parent)", "pass")
    },
    ("calls --calls 250", FILES): {
        "a disk's error is a traceback": (
            'except OSError as error:\n        raise HeadwayError(f"cannot {doing}',
            'except BlockingIOError as error:\n        raise HeadwayError(f"cannot {doing}',
        )
    },
    ("crashes --every 2", FILES): {
        "a file is written in place": ("os.replace(draft, path)", "path.write_bytes(content)")
    },
    ("crashes --every 2", TRAINER): {
        "optimisers forget at a resume": ("self.optimisers.load(tensors)", "pass")
    },
    ("altered --altered 300", FILES): {
        "half a line counts": ('split(b"\\n")[:-1]', "splitlines()"),
        "a checksum is ignored": (
            "header.checksum not in (None, checksum(tensors, header.about))",
            "False",
        ),
        "a checksum must be there": ("not in (None, ", "not in ("),
    },
    ("altered --altered 300", RUN): {
        "evaluations may be in any order": ("require(step > last,", "require(True,"),
        "an outcome need not agree": ('outcome["step"] != last', "False"),
    },
    ("altered --altered 300", TRAINER): {
        "a lost evaluation is passed over": ("if lacking:", "if False:")
    },
    ("altered --altered 300", FIELDS): {
        "numbers may be texts": ("to_json(data), strict=True", "to_json(data)"),
        "an unknown setting is passed over": (" or name not in hints):", "):"),
    },
    ("tests/test_reading.py", READING): {
        "JSON may be of any depth": (
            "data = from_json(",
            "return __import__('json').loads(content)\n        data = from_json(",
        ),
        "NaN is a number": (
            "data = from_json(",
            "return from_json(content.decode())\n        data = from_json(",
        ),
        "numbers need not be finite": ("json.dumps(data, allow_nan=False)", "json.dumps(data)"),
        "files may have 2 GiB": ("MOST = 256 * 2**20", "MOST = 2 * 2**30"),
        "large files are refused": ("MOST = 256 * 2**20", "MOST = 2**20"),
        "pipes and devices are read": ("if not stat.S_ISREG", "if 0 and stat.S_ISREG"),
    },
    ("tests/training/test_files.py", FILES): {
        "a checksum is of bytes alone": (
            r'digest.update(f"\n{name} {tensor.dtype} {list(tensor.shape)}\n".encode())',
            "pass",
        ),
        "drafts are left on a full disk": (
            "finally:\n            draft.unlink(missing_ok=True)",
            "finally:\n            pass",
        ),
    },
    ("tests/training/test_durable.py", RUN): {
        "drafts of killed writers are left": ("files.remove_drafts(self.folder / name)", "pass"),
        "drafts beside a run are left": ("glob.escape(folder.name)", "''"),
    },
    ("tests/training/test_durable.py", FILES): {
        "a new file's folder is not flushed": ("sync_folder(path.parent)\n\n", "pass\n\n")
    },
    ("tests/training/test_run.py", FILES): {"no lock is taken": ("lock.acquire()", "pass")},
    ("tests/training/test_run.py", RUN): {
        "a rewound run keeps later checkpoints": ("self.drop_checkpoint(after)", "pass")
    },
    (f"{RESUME}::test_what_was_found_in_weights_that_are_trained_on_is_forgotten", RUN): {
        "a rewound run keeps its circuit": ("self.remove(name)", "pass")
    },
    ("tests/training/test_data.py", "training/data.py"): {
        "a batch ignores its step": ('"step", step))', '"step"))')
    },
    ("tests/test_cli_runs.py::test_an_interrupted_run_can_be_resumed", TRAINER): {
        "an interrupted run has failed": ("stop.add_note(", "run.end('') or stop.add_note(")
    },
    ("tests/test_trust.py", USERFILE): {
        "a file that a folder names is executed": ("{*_known, *listed()}", "{line}"),
        "a trusted file is executed although it has changed": ("line not in known", "False"),
        "any function of a trusted file may build a model": (
            ' + (f":{builder}" if builder else "")',
            "",
        ),
    },
    ("tests/models/test_tapped_kinds.py", "models/trial.py"): {
        "attention that is not seen is passed over": ("if found.is_joint:", "if False:"),
        "positions may stand anywhere in a pattern": ("bool(differs.any()) and", "True or"),
    },
    (OWN_TASK, "tasks/registry.py"): {
        "a digest is not compared": ('defined.get("sha256") == now.sha256', "True")
    },
    ("tests/test_elsewhere.py", RUN): {
        "a model stays on the CPU": ("        ).to(place)", "        )"),
        "a module of one's own stays on the CPU": (
            "(plain(built), step, load_weights).to(self.device)",
            "(plain(built), step, load_weights)",
        ),
    },
    ("tests/test_elsewhere.py", "tasks/retrieval.py"): {
        "a rotation stays on the CPU": (".Q.to(device)", ".Q")
    },
    ("tests/test_elsewhere.py", "tasks/hops.py"): {
        "hops are asked on the CPU": ("self.asked, device=which.device", "self.asked")
    },
    ("tests/test_elsewhere.py", "models/transformer.py"): {
        "places are counted on the CPU": (
            "inputs.shape[1], device=inputs.device",
            "inputs.shape[1]",
        )
    },
    ("tests/test_elsewhere.py", "training/data.py"): {
        "a fixed set stays on the CPU": (
            "tuple(drawn.to(self.device) for drawn in known.draws)",
            "known.draws",
        )
    },
    ("tests/test_elsewhere.py", TRAINER): {
        "a fixed set is judged on the CPU": (
            "[: self.config.eval_examples].to(self.device)",
            "[: self.config.eval_examples]",
        )
    },
    ("tests/report/test_hostile_names.py", PAGE): {
        "text is put into a page as it is": ("escape(plain(page.title))", "plain(page.title)")
    },
    ("tests/report/test_hostile_names.py", "report/schema.py"): {
        "data are put into a page as they are": ('.replace("<", "\\\\u003c")', "")
    },
    ("tests/report/test_run_page.py::test_the_page_is_whole_and_runs_its_own_script_only", PAGE): {
        "a page may run any script": ("script-src 'sha256-{digest}'", "script-src 'unsafe-inline'")
    },
    ("tests/report/test_serve_security.py", PAGE): {
        "a page may ask anybody": ("default-src 'none'", "default-src *")
    },
    ("tests/report/test_serve_security.py", SERVER): {
        "any host is answered": ("if len(hosts) != 1 or", "if False and")
    },
    ("tests/test_output.py::test_names_do_not_command_the_terminal", "terminal/output.py"): {
        "control characters are printed as they are": ("else plain(text)", "else text")
    },
    (STEPS, SEARCH): {
        "the last number that may hold is never tried": ("range(1, most)", "range(1, most - 1)"),
        "what is not read is a candidate in the last layer": (
            "(layer < last or",
            "(layer <= last or",
        ),
        "a relation with just enough attention is none": (
            ">= least\n            and",
            "> least\n            and",
        ),
        "the least alike relation comes first": ("key=lambda name: -like", "key=lambda name: like"),
        "what stays is never a candidate": ("if circuit and uses_stays", "if False and uses_stays"),
        "of two paths the upper decides which heads are free": (
            "(min(path.layer for path in paths)",
            "(max(path.layer for path in paths)",
        ),
        "a head never loses one of several paths": (
            "for name in sorted(has) if len(has) > 1]",
            "for name in sorted(has) if len(has) > 2]",
        ),
        "heads are made idle in any order": (
            "in sorted(zip(each, bench.heads",
            "in (zip(each, bench.heads",
        ),
        "heads above may lose what they look for": ("max(now, loss)", "min(now, loss)"),
        "where nothing has a slope nothing is tried": ("if any(gains.values()):", "if True:"),
        "changes that do harm are tried": ("if gains[one] > 0]", "if gains[one] < 0]"),
        "any change is worthwhile": ("loss - WORTHWHILE * more", "loss"),
        "heads of a layer are free with those above": ("head[0] <= layer or", "head[0] < layer or"),
        "heads by table are never free": ("mechanism, Paths | Tabled)", "mechanism, Paths)"),
        "idle heads may spend all": ("IDLE_BUDGET = 0.8", "IDLE_BUDGET = 1.0"),
        "heads that get a mechanism may spend no more than idle ones": (
            "(IDLE_BUDGET + (1 - IDLE_BUDGET) * count / total)",
            "IDLE_BUDGET",
        ),
        "a head gets one path at most": ("names[: n + 1]", "names[n : n + 1]"),
    },
    (LIMITS, SEARCH): {
        "two paths never go together": ("if pairs else []", "if False else []"),
        "pairs are not tried where it counts": ("pairs=judge is every", "pairs=False"),
        "a circuit may be just below the threshold": ("MARGIN = 0.97", "MARGIN = 1.0"),
        "a draft may be just below the threshold": ("DRAFT_MARGIN = 0.9", "DRAFT_MARGIN = 1.0"),
    },
    (LIMITS, "circuits/ablation.py"): {
        "a candidate with bad luck is given up": ("HOPELESS = 3", "HOPELESS = 0.5"),
        "no candidate is given up": ("mean - HOPELESS", "mean - 9 * HOPELESS"),
        "the spread of few sequences is taken for smaller": ("/ (seen - 1))", "/ seen)"),
        "what helps is taken for harm": ("found[i] -= (slopes", "found[i] += (slopes"),
        "gains are of one sequence": (".mean(1).sum() / count", ".mean(1).mean() / count"),
        "gains are of more sequences than asked for": (
            "min(start + FEW, count)",
            "min(start + FEW, self.sequences)",
        ),
        "backward passes cost nothing": ("self._computed += 3 * ", "0 * "),
        "a path may lead where attention is only measured": ('use == "measured"', 'use == ""'),
    },
    (LIMITS, EVIDENCE): {
        "a back-up need not attend there": ("least: float = 0.3", "least: float = 0.0"),
        "every path is feasible": ("if not is_possible(path)]", "if False]"),
        "a path to what the mask hides is feasible": (" & flow.visible(causal)", ""),
        "intervals are of 90 %": ("inv_cdf(0.975)", "inv_cdf(0.95)"),
        "an interval reaches farther where the tail is not": (
            "cubed = 1 + skew",
            "cubed = 1 - skew",
        ),
    },
    (
        f"{VERDICTS}::test_a_path_between_positions_that_share_nothing_by_then_is_not_feasible",
        EVIDENCE,
    ): {
        "the flow minimum is that without a mask": (
            "flow.minimum_layers(patterns.causal)",
            "flow.minimum_layers(not patterns.causal)",
        ),
    },
    (
        f"{CORRUPTED}::test_a_head_below_is_named_only_if_much_of_the_attention_above_is_lost_without_it",
        "circuits/corrupted.py",
    ): {
        "what brings nothing is named": ("BRINGS = 0.1", "BRINGS = -1"),
        "what brings little is not named": ("BRINGS = 0.1", "BRINGS = 0.5"),
    },
    (INTERVALS, "intervals.py"): {
        "an interval reaches beyond 0 and 1": (
            "max(0.0, middle - half), min(1.0, middle + half)",
            "middle - half, middle + half + 1e-6",
        ),
        "no success is a success": ("if successes else 0.0", "if successes else 1e-3"),
        "fewer draws are enough than failures": (
            "bdtrin(failures, 1 - conf",
            "bdtrin(failures, conf",
        ),
        "a bound is of the failures": (
            "betaincinv(successes, failures + 1,",
            "betaincinv(failures + 1, successes + 1,",
        ),
        "Wilson's interval has a wrong term": ("square / (4 * count)", "square / count"),
        "Wilson's interval is about the share itself": (
            "(share + square / 2) / (1 + square)",
            "share",
        ),
    },
    (f"{VERDICTS}::test_what_fails_is_named_and_so_is_what_helps", "circuits/discovery.py"): {
        "a path that costs just the threshold is not necessary": (
            "any(n.worst < self",
            "any(n.worst <= self",
        ),
    },
    ("tests/circuits/test_pipeline.py::test_in_chain_order", "circuits/emergence.py"): {
        "hops that are learnt at once are out of order": ("first <= second", "first < second"),
    },
    (f"{REWOUND}[dependence]", RUN): {
        "a rewound run keeps its dependences": ('"dependence.json", ', ""),
    },
    (f"{REWOUND}[certificate]", RUN): {
        "a rewound run keeps its certificate": ('"certificate.json", ', ""),
    },
    (
        f"{EVIDENCES} -k 'intervals_are or one_by_one or its_own or every_way or seed_decides'",
        EVIDENCE,
    ): {
        "heads are replaced all at once": (
            "{head: circuit.mechanisms[head]}",
            "circuit.mechanisms",
        ),
        "the intervals are exchanged": ("own, its = map(", "its, own = map("),
        "intervals are on the same sequences whatever the seed": (
            "Subject(bench.model, bench.task, seed)",
            "Subject(bench.model, bench.task, 0)",
        ),
        "the loss without a path is another's": ("*losses[i::n])", "*losses[2 * i : 2 * i + 2])"),
        "attention along a path is that in the first layer": (
            "attention[path.relation][path.layer]",
            "attention[path.relation][0]",
        ),
        "no path is cut": ("[circuit.without(path) for path", "[circuit for path"),
        "rows without a path are never filled": ("circuit.filled(rows) for", "circuit for"),
        "heads of the layer above are not free": (
            "free_above(one, path.layer)",
            "free_above(one, path.layer + 1)",
        ),
        "the cheaper way to do without a path counts": (
            "return max(self.loss",
            "return min(self.loss",
        ),
    },
    (STEPS, EVIDENCE): {
        "two paths are cut with the upper's heads free": (
            "min(a.layer, b.layer)",
            "max(a.layer, b.layer)",
        ),
    },
    (PATTERNS, "circuits/patterns.py"): {
        "a head is resampled from its own sequence": (".roll(1, 0)", ".roll(0, 0)"),
        "relations share a row that some do not leave from": (
            "/ leaving.clamp(min=1)",
            "/ max(len(found), 1)",
        ),
        "a head without a path is filled": (
            'if mechanism.relations else "zero"',
            'if True else "zero"',
        ),
        "uniform rows are too small": (
            "visible.sum(-1, keepdim=True).clamp(min=1)",
            "visible.shape[-1]",
        ),
        "a mean is the first sequence": ("return self.own.mean(0)", "return self.own[0]"),
        "weights of keys are passed over": (
            "share = share * relation.weights",
            "share = share + 0 * relation.weights",
        ),
        "the wrong queries are knocked out": (
            "[part, start:] > 0, 0.0)",
            "[part, : own.shape[1]] > 0, 0.0)",
        ),
        "the first queries are replaced by the last": (
            "self.dense(mechanism, head, part)[:, start:]",
            "self.dense(mechanism, head, part)[:, : None if own is None else own.shape[1]]",
        ),
        "a knock-out does not depend on the head": ("or isinstance(one, KnockOut)\n", "or False\n"),
        "the bench's fill is stronger than the circuit's": (
            "(mechanism.rows or self.rows)",
            "(self.rows or mechanism.rows)",
        ),
    },
    (PATTERNS, "circuits/looks.py"): {
        "a head with just enough attention strays": (
            "look.explained < share}",
            "look.explained <= share}",
        ),
        "a head strays that follows nothing": ("min(EXPLAINED, max(", "max(EXPLAINED, max("),
    },
    (PATTERNS, "circuits/reading.py"): {
        "rows weigh what their mean moves, though that is nothing": (
            "HARDLY * next(most), by_zero, by_mean",
            "HARDLY * next(most), by_mean, by_zero",
        ),
        "heads without a slope have no weights": ("most <= FLAT * most.max()", "most < 0"),
    },
    (EMERGENCE, "circuits/emergence.py"): {
        "half is of the largest attention": ("one.attention[-1] / 2", "max(one.attention) / 2"),
        "a path that hardly matters was needed": ("if max(rise) > MATTERS", "if max(rise) > 0"),
        "a path is needed where the rise is largest": (
            "min(max(rise) / 2,",
            "min(0.99 * max(rise),",
        ),
        "two checkpoints may be of one step": (
            "before < step for before",
            "before <= step for before",
        ),
        "a path is dated after it emerged": (
            "(level - low) / (value - low)",
            "(value - level) / (value - low)",
        ),
        "a path emerges at less": ("EMERGES_AT = 0.5", "EMERGES_AT = 0.4"),
        "a curve may be shorter than its steps": ("lengths == {len(steps)}", "True"),
    },
    (
        "tests/circuits/test_pipeline.py::test_crossing_is_the_first_one_interpolated",
        "circuits/emergence.py",
    ): {
        "a level that is touched is passed": ("if value > level)", "if value >= level)"),
    },
    (f"{VERDICTS} -k no_other", VERDICT): {
        "a circuit that was found in another order is another": (
            "if set(one) != set(found.circuit.paths)",
            "if list(one) != found.circuit.paths[::-1]",
        ),
        "what was not judged is unique": ("if not every.complete:", "if False:"),
    },
    (f"{VERDICTS} -k what_fails", VERDICT): {
        "a path that costs just the threshold is spared": ("if n.worst < at]", "if n.worst <= at]"),
        "one sample in two is enough to be stable": (
            "all(jaccard == 1 for",
            "any(jaccard == 1 for",
        ),
        "no layers can answer, and it is feasible": (
            "if evidence.minimum is None:",
            "if evidence.minimum == 0:",
        ),
    },
    (f"{VERDICTS} -k does_not_follow", VERDICT): {
        "rivals that are the same nearly everywhere count": (
            "if 1 - rival.same >= APART and",
            "if",
        ),
        "rivals that have little attention win": ("rival.instead >= EXPLAINED and rival", "rival"),
        "a rival wins by a little": ("0.05, 0.03, 2", "0.05, 0.03, 1"),
        "a head with just enough attention is unexplained": (
            "least.explained < EXPLAINED:",
            "least.explained <= EXPLAINED:",
        ),
    },
    (f"{VERDICTS} -k go_on", VERDICT): {
        "the best layer decides": ("layers.index(min(layers))", "layers.index(max(layers))"),
        "fewer answers need stay": ("LAYERWISE = 0.9", "LAYERWISE = 0.8"),
    },
    (f"{VERDICTS} -k by_the_gap", "circuits/yardstick.py"): {
        "answers must agree more often than is said": (
            "like is None or like >= AGREES",
            "like is None or like > AGREES",
        ),
    },
    (f"{VERDICTS} -k what_fails", "circuits/discovery.py"): {
        "a loss at the threshold is faithful": (
            "self.replaced_loss < self",
            "self.replaced_loss <= self",
        ),
        "paths that can go together are minimal": ("and not self.evidence.droppable", "and True"),
    },
    (SHARES, "relations/shares.py"): {
        "a rival may be the same on few rows": ("share <= 1 - RIVAL", "share <= 1"),
        "what is the same everywhere is a rival": ("0 < share <=", "0 <= share <="),
        "rivals that are followed least come first": (
            "key=lambda one: one.follows - one.instead)[:PARTS]",
            "key=lambda one: one.instead - one.follows)[:PARTS]",
        ),
        "a relation within another has no keys of its own": (
            "torch.where(alone.any(2, keepdim=True), alone, one)",
            "alone",
        ),
        "attention is averaged over keys": ("rows = there.any(-1).sum()", "rows = there.sum()"),
        "little attention beside positions is told": (
            "if beside >= LEAST else",
            "if beside > 0 else",
        ),
        "any split of tokens is clear": ("one - other >= SPLIT", "one - other > 0"),
        "too many ranges are told": (
            "len(parts) <= RANGES or by",
            "len(parts) <= 2 * RANGES or by",
        ),
        "rows without a key tell of rivals": ("rows = rows * named.any(2)\n", "\n"),
        "rows do not count by their weight": (
            "relation.queries] * there.any",
            "relation.queries] ** 0 * there.any",
        ),
    },
    (FITTED, "relations/fitted.py"): {
        "tokens that count the same have weights": ("if share < 1 - EVEN}", "if share < 1}"),
        "rows that do not matter have a say": (
            "own, keys = own * rows[..., None], mask",
            "own, keys = own, mask",
        ),
        "a class is of the one most looked at": (
            "2 * share >= share.max()",
            "share >= share.max()",
        ),
        "a class may be nearly all that is looked at": ("<= LESS * share.max()", "<= share.max()"),
        "the two relations are exchanged": ("by[one] > by[other]", "by[one] < by[other]"),
        "one relation is split in itself": ("one != other and 0 < len", "0 <= len"),
        "many tokens have weights": ("unique()) > FEW_TOKENS", "unique()) > 9 * FEW_TOKENS"),
    },
    (EDGES, "relations/edges.py"): {
        "a row that is missing takes another away": (
            "self.there.float(), accumulate=True) > 0",
            "self.there.float()) > 0",
        ),
        "a role that stays is a path": ('"stay" if i == j else "path"', '"path"'),
        "a chain is its own other": ("(others >= torch.arange", "(others > torch.arange"),
        "two chains have no others": ("if roles.shape[2] > 1:", "if roles.shape[2] > 2:"),
        "rows that there are not lead somewhere": (" & (self.queries != NO_KEY)[..., None]", ""),
        "weights stay where they were": (
            "weights = weights.gather(2, keys.clamp(min=0))",
            "weights = weights",
        ),
    },
    (COMPOSED, "relations/composed.py"): {
        "the farthest place is not tried": (
            "min(FARTHEST, self.length - 1)",
            "min(FARTHEST, self.length - 2)",
        ),
        "every so many back is the position itself, too": ("== 0) & (self._offset != 0)", "== 0)"),
        "a token that stands twice separates": ("(times == 1)", "(times >= 1)"),
        "places are told from a token that has not stood yet": ("& (latest >= 0)[..., None]", ""),
        "the earliest of a token counts": ("places.cummax(1)", "places.cummin(1)"),
        "the second is the first": ("mask = mask & ~best", "mask = mask & True"),
        "an else counts where the first has a key": (
            "in reversed(name.split(ELSE))",
            "in (name.split(ELSE))",
        ),
        "in the first layer heads look past tokens": ("if layer > 0:", "if layer >= 0:"),
        "the same token is not the same or larger": ("tokens(torch.le)", "tokens(torch.lt)"),
        "all before is oneself, too": (
            '"all before": lambda: apart != 0',
            '"all before": lambda: apart >= 0',
        ),
        "a list of tokens ends before its end": ("(tokens <= int(x[-1]))", "(tokens < int(x[-1]))"),
        "what is beside a key may be ahead": (
            "F.pad(found, (by, -by)) & self.seen",
            "F.pad(found, (by, -by))",
        ),
        "an else costs nothing": ("1 + name.count(ELSE) + sum", "1 + sum"),
        "numbers below the smallest separator are ordinary": (
            "[below] if known[0] < min(marks)",
            "[below] if known",
        ),
    },
    (TARGETS, "tasks/targets.py"): {
        "a divergence is of what nobody asked, too": (
            "asked.sum().clamp(min=1)\n\n    @abstractmethod",
            "asked.numel()\n\n    @abstractmethod",
        ),
        "one number that is the same makes the same answer": ("alike.all(-1) &", "alike.any(-1) &"),
        "what nobody asked is the same": (
            "return alike.all(-1) & both & self.asked(targets)",
            "return alike.all(-1) & both",
        ),
        "a hop that is never asked divides by zero": (
            "torch.where(counts > 0, counts, 1.0)",
            "counts",
        ),
        "what is not asked may be the nearest answer": (
            "nan_to_num(1e9)\n        wanted = wanted",
            "nan_to_num(0.0)\n        wanted = wanted",
        ),
        "the divergence is the other way round": (
            "(one.exp() * (one - two))",
            "(two.exp() * (two - one))",
        ),
        "logits count with their mean": (
            "return logits - logits.mean(-1, keepdim=True)",
            "return logits",
        ),
        "the fewest answers are the choices": (".sum(1).max())", ".sum(1).min())"),
        "hops without logits of their own have them": (
            "(n_hops if self.own_logits else 1)",
            "n_hops",
        ),
        "a hop that is never asked is never right": (
            "asked.sum((0, 1))\n\n\n@dataclass",
            "asked.sum((0, 1)).clamp(min=1)\n\n\n@dataclass",
        ),
        "all that is put out is read": ("[:, -n_read:, : self.width(n_hops)]", "[:, -n_read:]"),
    },
    (f"{FLOW}::test_one_step_by_hand", "theory/flow.py"): {
        "positions see what comes later": ("np.tril(seen) if causal else seen", "seen"),
        "positions find each other whatever they hold": (
            "& visible) | itself",
            "| itself) | itself",
        ),
        "the last layer is not told": (
            "islice(self.layers(causal), layers + 1)",
            "islice(self.layers(causal), layers)",
        ),
    },
    (f"{FLOW} -k 'known_opens or broken_path or no_number or before_it'", "theory/flow.py"): {
        "what is related is not found": ("return found | self.known", "return found"),
        "paths of a layer pass on what came in it": (
            "after[query] |= held[key]",
            "after[query] |= after[key]",
        ),
    },
    (f"{COUNTING}::test_a_row_that_must_be_singled_out_needs_both_values", "theory/flow.py"): {
        "one value singles a row out": ("numbers.T == needed.sum())", "numbers.T > 0)"),
    },
    (f"{SIMULATION}::test_values_worked_out_by_hand", "theory/formulas.py"): {
        "a layer too many with the mask": (
            "depth.bit_length() + 1",
            "(depth - 1).bit_length() + 2",
        ),
        "a layer too few without it": ("ceil_log(3, 4 * depth + 1)", "ceil_log(3, 4 * depth - 1)"),
        "theorem 1 promises more": ("ceil_log(3, 2 * depth)", "ceil_log(3, 2 * depth + 2)"),
    },
    (f"{SIMULATION} -k 'stretches or no_order or blocks'", "theory/simulation.py"): {
        "only a block's own positions are seen": (
            "np.maximum(inside, best[high[own]])",
            "np.maximum(inside, high[own])",
        ),
        "the line is not turned round": (
            "last - high, last - low, causal)",
            "last - low, last - high, causal)",
        ),
    },
    (f"{COUNTING} -k 'count_is_that'", "theory/counting.py"): {
        "trees above are counted once": ("trees * under * over", "trees * under"),
        "positions see what comes later in a count": (
            "(starting, stretch[0]), (ending, stretch[1])",
            "(ending, stretch[0]), (starting, stretch[1])",
        ),
    },
    (f"{COUNTING} -k 'is_minimal or other_problems'", "theory/counting.py"): {
        "a circuit with a broken path answers": (
            "return not along.broken and flow.goal",
            "return flow.goal",
        ),
        "a circuit that does not answer is minimal": (
            "return solves(flow, paths, causal) and not",
            "return not",
        ),
    },
    (f"{COUNTING} -k traced", "theory/witnesses.py"): {
        "no path is left out": ("in sorted(paths, reverse=True):", "in ():"),
    },
    (OPTIMISERS, "training/optimisers.py"): {
        "momentum is of the newest gradient": ('1 - group["momentum"])', 'group["momentum"])'),
        "wide matrices move farther": ("max(1.0, rows / columns)", "max(1.0, columns / rows)"),
        "decay does not follow the rate": (
            '1 - rate * group["weight_decay"]',
            '1 - group["weight_decay"]',
        ),
        "stacked maps are one matrix": ("weight.chunk(parts)", "weight.chunk(1)"),
        "norms and biases decay": (
            'if w.ndim != 2], "weight_decay": 0.0',
            'if w.ndim != 2], "weight_decay": decay',
        ),
        "the gradient is not ahead of its mean": (
            "_foreach_lerp(gradients, means,",
            "_foreach_lerp(means, gradients,",
        ),
    },
    (f"{DEEPENING} -k 'one_hop_to or batches_are or longer_seq'", "training/curriculum.py"): {
        "the whole depth is learnt as hops of fewer layers": (
            "if 2**k - 1 < depth]",
            "if 2**k - 1 <= depth]",
        ),
        "one hop has a stage of its own": ("if known > 1:", "if known > 0:"),
        "two hops more have longer sequences": ("if more - known > 2:", "if more - known > 1:"),
        "sequences never stand at the last place": ("% (room + 1)", "% max(1, room)"),
        "a stage is judged by its shallowest sequences": (
            "Ask(max(one.depths)",
            "Ask(min(one.depths)",
        ),
        "the last stage has an end": ("if stage == len(before):", "if stage > len(before):"),
    },
    (f"{DEEPENING} -k mixture", "training/curriculum.py"): {
        "a mixture never has the whole depth": ("depth=1 + seed_of(", "depth=0 + seed_of("),
    },
    (BOARD, "sweeps/sweep.py"): {
        "runs count alike whatever they cost": ("self._costs[name] * (1.0 if", "(1.0 if"),
        "a failed run is not done with": (
            'self.state in ("done", "failed")',
            'self.state in ("done",)',
        ),
        "the time left is that of the whole": ("return (1 - self.share) *", "return 1.0 *"),
    },
    (f"{TABLE} -k 'given_up'", "sweeps/table.py"): {
        "the last attempt is not counted": ("len(given_up) + 1", "len(given_up)"),
    },
    (f"{TABLE} -k 'sorted or config_and or written'", "sweeps/table.py"): {
        "what is not known comes first": (
            "return value is None, not",
            "return value is not None, not",
        ),
        "a run has the figures of its first evaluation": (
            "metrics[-1] if metrics",
            "metrics[0] if metrics",
        ),
    },
    (f"{PLAN} -k 'grid or names'", "sweeps/plan.py"): {
        "two runs may have one name": ("if run in runs:", "if False:"),
        "a grid of one cell has no name": ("if len(one) > 1] or list(values)", "if len(one) > 1]"),
    },
    (FIELDS_TESTS, FIELDS): {
        "a range has no end": ("range(first, last + 1)", "range(first, last)"),
        "a range of one number is none": ("0 <= last - first < MOST", "0 < last - first < MOST"),
        "names that are the same in part are short": (
            "if last.count(part) == 1 else f",
            "if True else f",
        ),
    },
    (MEASURES, YARDSTICK): {
        "the spread of few answers is taken for larger": ("var(0, correction=0)", "var(0)"),
        "what nobody asked must agree, too": ("(same | ~asked).flatten", "same.flatten"),
        "means are over what nobody asked, too": (
            "asked.double().sum(0).clamp(min=1)",
            "len(asked)",
        ),
        "constant outputs have an R²": (
            "if not total > constant:\n        return None",
            "total = total or 1.0",
        ),
        "a share is of what nobody asked, too": (
            "(same.sum() / asked.sum()).item()",
            "same.float().mean().item()",
        ),
        "nearly all is told as all": ("math.floor(part * 1000 + 1e-9)", "round(part * 1000)"),
        "where nothing is asked nothing agrees": (
            "if asked.any() else 1.0",
            "if asked.any() else 0.0",
        ),
    },
    (f"{YARDSTICKS} -k elsewhere", YARDSTICK): {
        "shares of a gap are taken from the wrong end": (
            "most + share * (own - most)",
            "own + share * (most - own)",
        ),
        "the cheaper ablation counts": ("max(finite, key=", "min(finite, key="),
    },
    (f"{YARDSTICKS} -k learnt_nothing", YARDSTICK): {
        "a model that has learnt nothing is studied": ("if not own < guess", "if False"),
    },
    (f"{YARDSTICKS} -k one_answer", YARDSTICK): {
        "one answer is to hops that do not count, too": (
            "bench.batch.targets[:, :, columns]",
            "bench.batch.targets",
        ),
    },
    (f"{YARDSTICKS} -k names_its_own", YARDSTICK): {
        "a loss of one's own needs agreement, too": (
            "loss_alone = self.loss is not None or",
            "loss_alone = self.loss is None or",
        ),
    },
    (FLOWS, "circuits/flows.py"): {
        "what no flow explains is lost with any path": (
            "{*along.broken} - {*whole.broken}",
            "{*along.broken}",
        ),
        "a path brings what was known": ("symbol in there - here)", "symbol in there)"),
        "a path carries what stands there at the end": (
            "stages[min(path.layer, len(stages) - 1)]",
            "stages[len(stages) - 1]",
        ),
        "all answers are lost with any path": (
            "asked & (whole.stages[-1][flow.query] - along.stages[-1][flow.query])",
            "asked & whole.stages[-1][flow.query]",
        ),
    },
    (f"{EXHAUSTIVE} -k 'finds_what or ends_early'", "circuits/exhaustive.py"): {
        "a circuit may hold a smaller one": (
            " if not any(held <= one for held in self.minimal)",
            "",
        ),
        "more sets are judged than are allowed": (
            "self.judged + len(sets) > self.most",
            "self.judged > self.most",
        ),
        "heads of a layer are free with those above in a set": (
            "above is None or head[0] <= above or",
            "above is None or head[0] < above or",
        ),
        "a size that was not judged is known": (
            "self.searched = size\n",
            "self.searched = size + 1\n",
        ),
        "all paths of the last layer are never chosen together": (
            "range(min(size, len(here)) + 1)",
            "range(min(size, len(here)))",
        ),
        "free heads must lose no more than replaced ones": (
            "limit = self.threshold if above is None else self.free[above]",
            "limit = self.threshold",
        ),
    },
    (f"{LINKS} -k whoever_writes", FILES): {
        "links are followed": ("if os.path.islink(path):", "if False:"),
        "links are seen at the end of a path alone": (
            "        refuse_link(path)\n    return path",
            "    refuse_link(path)\n    return path",
        ),
        "lines are added behind a link": ("refuse_link(path)\n    line =", "line ="),
    },
    (f"{LINKS} -k 'neither_replaced or drafts_that'", FILES): {
        "a link is replaced in writing": (
            "refuse_link(path)\n    draft = draft_of(path)",
            "draft = draft_of(path)",
        ),
        "a link is deleted": (
            'refuse_link(path)\n    with clear_io_errors(path, "remove")',
            'with clear_io_errors(path, "remove")',
        ),
        "a draft that is a link is a folder": (
            "if draft.is_dir() and not draft.is_symlink():",
            "if draft.is_dir():",
        ),
    },
    (f"{LINKS} -k 'goes_on_over or figures'", RUN): {
        "links are met when the work is done": (
            "for name in names:\n            self.owned(name)",
            "pass",
        ),
        "drafts behind a link are removed": (
            "if not os.path.islink(self.folder / name):",
            "if True:",
        ),
    },
    (f"{LINKS} -k several_paths", "training/finding.py"): {
        "a run is listed by any path": (
            "(linked if behind or one.is_symlink() else plain)",
            "(linked if behind else plain)",
        ),
        "a folder is entered by every path": ("if known in entered or not", "if not"),
    },
    (f"{HEADERS} -k 'exchanged or say_its or past_the_end or unread'", RUN): {
        "a checkpoint of another model is read first": (
            "        if odd:\n            raise",
            "        if False:\n            raise",
        ),
        "a checkpoint need not be of the step that it is called": (
            "type(told) is int and told == step",
            "type(told) is int",
        ),
        "a step is a number of any type": (
            "type(told) is int and told == step",
            "told == step",
        ),
        "steps past the end are passed over": ("require(step <= last, f", "require(True, f"),
        "evaluations past the end are passed over": ("require(step <= most,", "require(True,"),
    },
    (f"{HEADERS} -k 'past_the_end or unread'", TRAINER): {
        "a state past the end is passed over": (
            "require(state.step <= state.end <= config.steps,",
            "require(True,",
        ),
        "a state of another model is read first": (
            "if odd := trainer.misfits(read_header(path).shapes):",
            "if odd := None:",
        ),
    },
    (f"{SET} -k 'different or held_out or leaves_nothing'", "training/fixed_set.py"): {
        "what is held out may be in the set": (
            "lambda mark: mark not in known.marks",
            "lambda mark: True",
        ),
        "a set has sequences twice": ("return len(marks) > before", "return True"),
        "sequences apart from a set are in another order": (
            "[*islice(wanted, count - kept)]",
            "[*islice(wanted, count - kept)][::-1]",
        ),
        "all seeds have one set": (
            'generator_for("cpu", seed, "set")',
            'generator_for("cpu", 0, "set")',
        ),
        "too small a task repeats itself": (
            "            return None\n        draws = task.draw",
            "            is_wanted = bool\n        draws = task.draw",
        ),
    },
    (f"{SET} -k own_sequences", TRAINER): {
        "other sequences of a set are judged": (
            "drawn[: self.config.eval_examples]",
            "drawn[-self.config.eval_examples :]",
        ),
    },
    (f"{BATCHES} -k epoch", "training/data.py"): {
        "the end of a set is never seen": (
            "self._shuffle[index * self.size : (index + 1) * self.size]",
            "self._shuffle[: self.size]",
        ),
    },
    (f"{SIZES} -k counted", "tasks/meter.py"): {
        "one operation may make any number": ("if numbers > AT_ONCE or", "if"),
        "what was made before is forgotten": ("self.made += PIECE", "self.made = PIECE"),
        "operations that make little cost nothing": ("+= PIECE + numbers", "+= numbers"),
        "what is spread out counts for little": ("func.tags and shapes", "() and shapes"),
    },
    (ROWS, "circuits/rows.py"): {
        "what zeros move does not count": (
            "by_mean.maximum(by_place * by_zero)",
            "by_mean",
        ),
        "what the mean moves does not count": (
            "by_mean.maximum(by_place * by_zero)",
            "by_place * by_zero",
        ),
        "what zeros move counts of every row": ("(by_place * by_zero)", "(by_zero)"),
        "a row is its mean where keys are": (
            "own.minimum(mean).sum(-1)",
            "own.minimum(mean).sum(-2)",
        ),
        "a row that attends elsewhere is its mean": ("own.minimum(mean)", "own.maximum(mean)"),
        "every place has the same weight together": ("weights.sum((0, 3),", "weights.sum((0, 2),"),
        "all sequences try the same rows": ("first + each % self.turns", "first + 0 * each"),
        "what is no number hides the others": (
            "moved.where(moved.isfinite(), 0.0)",
            "moved",
        ),
        "what nobody asked moves, too": ("squares.where(asked, 0.0)", "squares"),
    },
    (SITES, "models/sites.py"): {
        "the tap takes hold of what a softmax gives": (
            "late = watch.changed()",
            "late = frozenset[int]()",
        ),
        "every site is a layer": ("if groups and is_alike and", "if False and"),
        "what reads the site before is of its layer": (
            "is_alike and self.needs[site] == self.needs[first]:",
            "is_alike:",
        ),
        "values make no layers": (
            "self.needs[site] |= self._origins_of([meeting.values])",
            "pass",
        ),
        "heads that begin as copies are one": (" if moved.has_equal(first, site)}", "}"),
        "a pattern for half of the values is a head": ("if not pairs:", "if True:"),
        "layers may have other numbers of heads": (
            "if len(_heads_by_layer(parts)) > 1:",
            "if False:",
        ),
        "every site is put what the first one is": (
            "self.first : self.first + self.n_heads",
            ": self.n_heads",
        ),
        "a layer is asked for by its first head": ("if len(self.seen) == len(layer):", "if True:"),
    },
    (f"{GRADIENTS} -k 'checkpointed_layers or again'", "models/recomputing.py"): {
        "layers are computed again": ("INSTEAD[name] if self.count else own", "own"),
        "the first pass to end ends all": (
            "self.count += more",
            "self.count = max(0, more)",
        ),
        "checkpoints are gone after an error": (
            "    try:\n        yield\n    finally:\n        _inside.add(-1)",
            "    yield\n    _inside.add(-1)",
        ),
    },
    (f"{THREADS} -k 'own_model or to_come'", "circuits/ablation.py"): {
        "a model of others is called from several threads": (
            "not isinstance(model, Transformer) or torch.device",
            "torch.device",
        ),
        "a GPU is called from several threads": (' or torch.device(device).type != "cpu":', ":"),
        "nobody can ask for fewer threads": ("if count is None else count", "if True else count"),
        "threads to come have one core": (
            "with.\n        torch.set_num_threads(own_cores)",
            "with.\n        pass",
        ),
    },
    (f"{NO_NUMBERS} -k 'errors_that or no_answer or cannot_be'", "tasks/targets.py"): {
        "a loss that is no number is none": (
            "shares.masked_fill(shares.isnan(), math.inf)",
            "shares",
        ),
        "what is no number is an answer": (
            "~self.each(predicted, targets).isnan()",
            "self.asked(targets)",
        ),
        "what cannot be costs where nobody asks": (
            "torch.where(self.asked(targets), -told, 0.0)",
            "-told * self.asked(targets)",
        ),
    },
    (f"{NO_NUMBERS} -k 'gap or itself or r2'", YARDSTICK): {
        "a gap may have an infinite end": ("if losses[end] < math.inf]", "]"),
        "a model without numbers has a circuit": ("if loss == math.inf:", "if False:"),
        "outputs without numbers have an R²": (
            "-math.inf if math.isnan(apart) else 1 - apart",
            "1 - apart",
        ),
    },
    (f"{NO_NUMBERS} -k 'cut_leaves'", "circuits/emergence.py"): {
        "half of an infinite rise is infinite": (
            "min(max(rise) / 2, sys.float_info.max)",
            "max(rise) / 2",
        ),
    },
    (f"{SETTINGS_TESTS} -k nested", "settings.py"): {
        "headway's numbers are of the user's type": (
            "torch.set_default_dtype(new.dtype)",
            "torch.set_default_dtype(now.dtype)",
        ),
        "a user's types are lost": (
            "finally:\n        torch.set_default_dtype(now.dtype)",
            "finally:\n        torch.set_default_dtype(new.dtype)",
        ),
        "a user's module has headway's types": ("if not _users:", "if True:"),
        "an inner block forgets the user's types": ("is_users = not _users", "is_users = True"),
    },
    (f"{SETTINGS_TESTS} -m slow -k 'last_bit and gradients'", "settings.py"): {
        "no gradients are computed if the user wants none": (
            "stack.enter_context(torch.enable_grad())",
            "pass",
        ),
    },
    (f"{SETTINGS_TESTS} -m slow -k 'is_found_is_the_same and autocast'", "settings.py"): {
        "the user's autocast counts": ("if torch.is_autocast_enabled(kind):", "if False:"),
    },
    (f"{TRUE_CAUSES} -k 'check_tells or init or instance'", "tasks/checking.py"): {
        "batches may be of several shapes": (
            "_require_one_shape(task, batch)\n    yield",
            "yield",
        ),
        "sequences may depend on their order": (
            "_same(getattr(batch, name).flip(0), getattr(turned, name))",
            "True",
        ),
        "one answer may serve all": (
            "not {*task.judged} <= {*constant_hops(task, batch)}",
            "True",
        ),
        "all generators may draw the same": (
            "must(not all(same),",
            "must(True,",
        ),
        "an init may set what is no field": ('if "__init__" in vars(cls) and', "if False and"),
        "an instance may hold what is no field": (
            'if not is_derived and not name.startswith("_"):',
            "if False:",
        ),
    },
    (f"{TRUE_CAUSES} -k 'check_tells'", "tasks/answers.py"): {
        "one answer is the same everywhere": (
            "len(kinds) == len(queries.unique())",
            "len(kinds) == 1",
        ),
    },
    (f"{TRUE_CAUSES} -k 'trial_does_not_meet'", "training/data.py"): {
        "a batch may be of another shape": ("if sizes != known:", "if False:"),
        "a token may be beyond the vocabulary": ("if not 0 <= token <= most:", "if token < 0:"),
        "a token may be below 0": ("if not 0 <= token <= most:", "if token > most:"),
    },
    (f"{TRUE_CAUSES} -k 'blamed or one_answer'", YARDSTICK): {
        "one answer to all is the model's fault": ("if not varying:", "if False:"),
        "a hop with one answer counts": ("if len(varying) == len(bench.columns):", "if True:"),
    },
    (f"{TABLE} -k formulas", "sweeps/table.py"): {
        "a name may be a formula": ("if text.startswith(FORMULAS) else text", "if False else text"),
        "a negative number is a formula": (
            "    if isinstance(value, int | float):",
            "    if isinstance(value, bool):",
        ),
        "a name may break a line": (
            "UNWRITABLE.sub(lambda found: ascii(found[0])[1:-1], said(value))",
            "said(value)",
        ),
        "the name of a column may be a formula": ("map(cell, names)", "names"),
    },
}
"""Faults by what must notice them, areas of `fuzzing.py` with their options or tests, and by file:
what each does, the text that it replaces, and the text in its place."""


Planted = tuple[str, Mutant]
"""A check, and a fault that it must notice."""


def chosen(words: str) -> list[Planted]:
    """The faults of the table whose text has these words; all if there are none."""
    return [
        (check, Mutant(what, file, old, new))
        for (check, file), several in MUTANTS.items()
        for what, (old, new) in several.items()
        if words in what
    ]


def outdated(faults: Iterable[Planted]) -> Iterator[str]:
    """What is wrong with faults that can no longer be planted, a line each."""
    for _, mutant in faults:
        try:
            mutant.planted  # noqa: B018
        except (ValueError, SyntaxError, OSError) as error:
            yield f"{mutant.file}: {error}"


@contextmanager
def copied(package: Path, mutant: Mutant | None = None) -> Iterator[Path]:
    """A folder with a copy of a package, with a fault planted if one is given.

    What was compiled of the package is copied, too, but for the file with the fault: that takes
    half of a check's time.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / package.name
        shutil.copytree(package, copy)
        if mutant is not None:
            file = copy / mutant.file
            file.write_text(mutant.planted)
            for compiled in file.parent.glob(f"__pycache__/{file.stem}.*"):
                compiled.unlink()
        yield Path(folder)


def settled(folder: Path, trained: Path) -> dict[str, str]:
    """The environment of a check that tries the package in a folder.

    Args:
        folder: with the package.
        trained: where tests leave the run that they share, or find it.
    """
    paths = [folder, CHECKOUT / "tests", CHECKOUT / "tests" / "report"]
    return {"PYTHONPATH": os.pathsep.join(map(str, paths)), "HEADWAY_TESTS_TRAINED": str(trained)}


def run_tests(check: str, environment: dict[str, str]) -> NoReturn:
    """Ends this process with the exit code of tests."""
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    os.chdir(CHECKOUT)
    os.environ.update(environment)
    sys.dont_write_bytecode = False  # whatever the user has set: to compile all anew takes long
    sys.path[:0] = environment["PYTHONPATH"].split(os.pathsep)
    sys.argv = ["pytest"]
    import pytest

    known = "ignore::pytest.PytestAssertRewriteWarning"  # of what was imported before
    unchecked = "--jaxtyping-packages=nothing,array_checks.checked"  # to prepare that takes long
    options = ["-x", "-p", "no:cacheprovider", "-W", known, unchecked]
    sys.exit(pytest.main([*options, *shlex.split(check)]))


def ended(check: str, environment: dict[str, str]) -> int | None:
    """The exit code of a check, an area of `fuzzing.py` or tests; None if it took too long."""
    if check.startswith("tests/"):
        process = FORKING.Process(target=run_tests, args=(check, environment))
        process.start()
        process.join(PATIENCE)
        if process.is_alive():
            process.kill()
            process.join()
            return None
        return process.exitcode
    words = [sys.executable, "tests/fuzzing.py", "--areas", *check.split()]
    settings = {**os.environ, **environment}
    try:
        done = subprocess.run(
            words, cwd=CHECKOUT, env=settings, timeout=PATIENCE, capture_output=True, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    return done.returncode


def main() -> None:
    """Plant every fault, or those whose text has the words given, and print who noticed."""
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    FORKING.set_forkserver_preload(PRELOADED)
    faults = chosen(" ".join(sys.argv[1:]))
    if lines := list(outdated(faults)):
        raise SystemExit("\n".join(lines))
    checks = list(dict.fromkeys(check for check, _ in faults))
    missed = 0
    with copied(PACKAGE) as folder, ThreadPoolExecutor(AT_A_TIME) as pool:
        package, trained = folder / PACKAGE.name, folder / "trained"

        def without_fault(check: str) -> int | None:
            return ended(check, settled(folder, trained))

        def with_fault(planted: Planted) -> int | None:
            check, mutant = planted
            with copied(package, mutant) as other:
                return ended(check, settled(other, trained))

        sound = dict[str, int | None]()
        for check, code in zip(checks, pool.map(without_fault, checks), strict=True):
            sound[check] = code
            told = "passes" if code == 0 else f"FAILS with exit code {code}"
            print(f"without a fault, {len(sound)} of {len(checks)}: {check} {told}", flush=True)
        print("| fault | check | noticed |", "|---|---|---|", sep="\n", flush=True)
        for (check, mutant), code in zip(faults, pool.map(with_fault, faults), strict=True):
            fine = sound[check] == 0 and code == 1
            told = "yes" if fine else f"no: exit code {code}, and {sound[check]} without it"
            print(f"| {mutant.what} | {check.rpartition('/')[2]} | {told} |", flush=True)
            missed += not fine
    print(f"{len(faults) - missed} of {len(faults)} faults are noticed")
    raise SystemExit(bool(missed))


if __name__ == "__main__":
    main()
