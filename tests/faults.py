"""Faults planted on purpose, one at a time, to see whether the tests notice.

    python tests/faults.py                # all of them, in a copy of the tree
    python tests/faults.py cycle bic      # those whose name holds one of these words
    python tests/faults.py --list

Each is a change of one place of the sources, which is made in a copy and, in a compiled file,
built there; then the test files that should catch it run until the first failure. A fault whose
old text is not there, or there more than once, is an error: the list follows the code.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Fault(NamedTuple):
    """A change of the text of a file, and the tests that should fail with it."""

    name: str
    file: str
    old: str
    new: str
    tests: str


FAULTS = [
    # Scores.
    Fault("bdeu: prior of a cell without the child's cardinality", "scores.py",
          "return _bdeu_terms(counts, family.cardinality * family.n_parent_states, family)",
          "return _bdeu_terms(counts, family.n_parent_states, family)", "scores"),
    Fault("bic: r in place of r - 1 free parameters", "scores.py",
          "return float_of((family.cardinality - 1) * family.n_parent_states)",
          "return float_of(family.cardinality * family.n_parent_states)", "scores"),
    Fault("bic: ln N not halved", "scores.py",
          "price = 0.5 * math.log(family.n_samples)",
          "price = math.log(family.n_samples)", "scores"),
    Fault("aic: a reward for parameters", "scores.py",
          "return -n_free_parameters(family)", "return n_free_parameters(family)", "scores"),
    Fault("mdl: one parent too many", "scores.py",
          "log_of(math.comb(n, p))", "log_of(math.comb(n + 1, p))", "scores"),
    Fault("k2: parents' sum of priors is 1", "scores.py",
          "return log_rising_factorial(counts, math.log(family.cardinality))",
          "return log_rising_factorial(counts, 0.0)", "scores"),
    Fault("bds: all parent configurations in place of the observed ones", "scores.py",
          "log_alpha = math.log(family.ess) - log_of(family.n_observed_parent_states)",
          "log_alpha = math.log(family.ess) - log_of(family.n_parent_states)", "scores"),
    Fault("qnml: regret of the parents subtracted", "scores.py",
          "return log_regret_of_any(n, q) - log_regret_of_any(n, family.cardinality * q)",
          "return -log_regret_of_any(n, q) - log_regret_of_any(n, family.cardinality * q)",
          "nml_scores"),
    Fault("regret: recurrence off by one", "regret.py",
          "for k in range(1, n_states - 1):", "for k in range(1, n_states):", "regret"),
    Fault("rising factorial: a term of Stirling's series with the wrong sign", "special.py",
          "_STIRLING = (1 / 12, -1 / 360,", "_STIRLING = (1 / 12, 1 / 360,", "special"),
    Fault("graph prior: an edge is rewarded", "graph_prior.py",
          "return -self.per_edge * len(parents)", "return self.per_edge * len(parents)",
          "search constraints exact"),
    # Counting.
    Fault("kernel: dense tables restart a class too late", "_counting.pyx",
          "            if table[cell] == 0:\n                n_new += 1\n",
          "            if table[cell] <= 1:\n                n_new += 1\n", "counts"),
    Fault("kernel: stamps of another class count as new", "_counting.pyx",
          "        if stamp[cell] != labels[k] + 1:",
          "        if stamp[cell] < labels[k]:", "counts"),
    Fault("kernel: weights dropped where labels are counted", "_counting.pyx",
          "            counts[labels[i]] += weights[i]", "            counts[labels[i]] += 1",
          "counts local_scores"),
    Fault("kernel: weights dropped in one of four tables", "_counting.pyx",
          "            table_d[<int32_t>d[i] * n_base + cell] += weight",
          "            table_d[<int32_t>d[i] * n_base + cell] += 1", "counts local_scores"),
    Fault("kernel: one of four tables reads another column", "_counting.pyx",
          "            table_c[<int32_t>c[i] * n_base + cell] += 1",
          "            table_c[<int32_t>b[i] * n_base + cell] += 1", "counts local_scores"),
    Fault("kernel: configurations without the last label", "_counting.pyx",
          "    count_labels(labels, n_labels, weights, counts, n_rows)\n"
          "    for i in range(n_labels):\n        total -= ",
          "    count_labels(labels, n_labels, weights, counts, n_rows)\n"
          "    for i in range(n_labels - 1):\n        total -= ", "counts local_scores"),
    Fault("kernel: a parent that leaves is the one after it", "_counting.pyx",
          "                for i in range(place + 1, parents.shape[0]):",
          "                for i in range(place, parents.shape[0]):", "counts local_scores"),
    Fault("cells counted without weights", "counts.py",
          "cell_counts = np.bincount(cells, weights=data.weights, minlength=n_cells)",
          "cell_counts = np.bincount(cells, minlength=n_cells)", "counts local_scores"),
    Fault("equal rows merged without their weights", "data.py",
          "merged = np.bincount(labels, weights=weights, minlength=n_distinct)",
          "merged = np.bincount(labels, minlength=n_distinct)", "data"),
    Fault("rows of weight zero are kept", "reading.py",
          "rows = weights > 0", "rows = weights >= 0", "columns encoding estimator invariances"),
    Fault("kernel: a tail of large counts without its series", "_counting.pyx",
          "        rest += tail[4] / x * (1.0 / 12 -", "        rest -= tail[4] / x * (1.0 / 12 -",
          "counts local_scores term_tables"),
    Fault("tail: the prior's shift is forgotten", "tails.py",
          "return Tail(alpha, 0.5,", "return Tail(0.0, 0.5,", "local_scores term_tables counts"),
    # Caches.
    Fault("stale cache: rows of scores do not depend on the parents", "local_scores.py",
          "self._rows.put((child, parents), row,", "self._rows.put((child, parents[:1]), row,",
          "local_scores search"),
    Fault("stale cache: tables of an estimator's last table", "encoding.py",
          "key = (unknown, *map(id, categories))", "key = (unknown, len(categories))", "encoding"),
    # Moves.
    Fault("moves: ancestors forget the parent itself", "_moves.pyx",
          "        if a == parent or ancestors[a, parent]:", "        if ancestors[a, parent]:",
          "graph"),
    Fault("moves: a deleted edge leaves ancestors behind", "_moves.pyx",
          "        collect_ancestors(adjacency, ancestors, affected[k])",
          "        collect_ancestors(adjacency, ancestors, affected[0])", "graph"),
    Fault("moves: an added edge may close a cycle", "_moves.pyx",
          "        a != b and graph.allowed[edge] and not graph.ancestors[b * graph.n + a]\n",
          "        a != b and graph.allowed[edge] and not graph.adjacency[b * graph.n + a]\n",
          "moves climbing"),
    Fault("moves: a reversal that closes a cycle is found", "_moves.pyx",
          "        if graph.adjacency[k * n + b] and graph.ancestors[a * n + k]:",
          "        if graph.adjacency[k * n + b] and graph.adjacency[a * n + k]:",
          "moves climbing"),
    Fault("moves: ties are not drawn", "_moves.pyx",
          "    least = best - noise\n", "    least = best\n", "moves climbing"),
    Fault("moves: a reversal that closes a cycle is valid", "graph.py",
          "valid[a[~longer], b[~longer]] = True", "valid[a, b] = True", "graph climbing"),
    Fault("constraints: one parent more than max_parents", "constraints.py",
          "        room = dag.adjacency.sum(axis=0) < self.max_parents\n"
          "        return dag.additions()",
          "        room = dag.adjacency.sum(axis=0) <= self.max_parents\n"
          "        return dag.additions()", "constraints climbing"),
    Fault("constraints: tiers the wrong way round", "constraints.py",
          "return (tier_of[:, None] > tier_of[None, :])",
          "return (tier_of[:, None] < tier_of[None, :])", "constraints"),
    Fault("tabu: moves are tabu, not what undoes them", "climbing.py",
          "tabu.append(move.inverse)", "tabu.append(move)", "climbing search"),
    Fault("order: parents may come from the variables behind", "order.py",
          "        permitted |= 1 << variable\n", "        permitted = -1 & ~(1 << variable)\n",
          "order"),
    # Exact search.
    Fault("exact: the empty set of parents is forgotten", "_subsets.pyx",
          "            if (part & required) == required and size_of(part) <= max_parents:",
          "            if part and (part & required) == required and size_of(part) <= max_parents:",
          "exact"),
    Fault("exact: one parent more than max_parents", "_subsets.pyx",
          "            if (part & required) == required and size_of(part) <= max_parents:",
          "            if (part & required) == required and size_of(part) <= max_parents + 1:",
          "exact"),
    Fault("exact: the best subsets miss one bit", "_subsets.pyx",
          "    spread(best, n_bits - 1, n_done, left_out)\n    if n_bits - 1 == left_out:",
          "    spread(best, n_bits - 1, n_done, left_out)\n    if n_bits - 1 >= left_out:",
          "exact"),
    Fault("exact: a later variable wins a tie", "_subsets.pyx",
          "        if value > new_scores[i] + tie:", "        if value >= new_scores[i] - tie:",
          "exact"),
    # The equivalent sample size.
    Fault("Eq. 18: unobserved configurations contribute", "analytic_ess.py",
          "log_counts = float(np.sum(np.log(np.maximum(counts, 1.0))))",
          "log_counts = float(np.sum(np.log(counts + 1.0)))", "analytic_ess"),
    Fault("Eq. 18: wrong sign of the expectation under the prior", "analytic_ess.py",
          "difference = of_data - of_prior", "difference = of_data + of_prior", "analytic_ess"),
    Fault("Eq. 15: cells alone", "analytic_ess.py",
          "d_eff += len(cells) - len(configurations)", "d_eff += len(cells)", "analytic_ess"),
    Fault("ascent: keeps the last member of a cycle", "coordinate_ascent.py",
          "best = cycle[max(range(len(cycle)), key=likelihoods.__getitem__)]", "best = cycle[-1]",
          "coordinate_ascent"),
    Fault("p(D | ess, G): slope of configurations added", "ess_likelihood.py",
          "parts = -self._multiplicities * _shortfall(counts, alphas)",
          "parts = -np.abs(self._multiplicities) * _shortfall(counts, alphas)",
          "ess_likelihood"),
    Fault("Bayes factor: Eq. 8 not halved", "bayes_factor.py",
          "return (squared_deviation(self.table) - n * freedom) / 2",
          "return squared_deviation(self.table) - n * freedom", "bayes_factor"),
    Fault("uniformity: wrong sign of a margin", "uniformity.py",
          "total = a * b * squares[0] - a * squares[1] - b * squares[2] + squares[3]",
          "total = a * b * squares[0] - a * squares[1] - b * squares[2] - squares[3]",
          "bayes_factor"),
    # Parameters and predictions.
    Fault("CPT: the prior of a configuration for a cell", "parameters.py",
          "    n_cells = counts.shape[1] * n_configurations\n",
          "    n_cells = n_configurations\n", "parameters"),
    Fault("CPT: unobserved configurations get the first observed one", "configurations.py",
          "        ranks[unobserved] = self.n_observed\n", "        ranks[unobserved] = 0\n",
          "configurations parameters network"),
    Fault("CPT: parameters always of ess 1", "estimator.py",
          "parameter_ess = found.ess if self.parameter_ess is None else",
          "parameter_ess = 1.0 if self.parameter_ess is None else", "estimator"),
    Fault("inference: missing cells count as the first state", "inference.py",
          "        jobs, direct = self._group(missing)\n        for table",
          "        jobs, direct = self._group(np.zeros_like(missing))\n        for table",
          "inference"),
    Fault("averages: every graph weighs the same", "averaging.py",
          "self.weights_ = np.array([count for _, count in ordered]) / self.n_graphs",
          "self.weights_ = np.full(len(ordered), 1 / len(ordered))", "averaging"),
    Fault("restarts: the best run is the last", "search.py",
          "return next(r for r in self.runs if r.score >= highest - TIE * abs(highest))",
          "return self.runs[-1]", "search"),
    Fault("essential graph: unshielded colliders are reversible", "equivalence.py",
          "compelled[:, y] |= rest & unshielded.any()", "pass", "equivalence"),
    Fault("pickles: the layout is not looked at", "persistence.py",
          "if layout != LAYOUT:", "if False:", "persistence"),
    Fault("a failed fit leaves its traces", "undoing.py",
          "            vars(self).clear()\n", "            return self\n",
          "undoing"),
]


def find(fault, package):
    """The file of a fault and its text, which must hold the old text once."""
    path = package / fault.file
    text = path.read_text(encoding="utf-8")
    times = text.count(fault.old)
    if times == 0:
        raise SystemExit(f"{fault.name}: the old text is not in {fault.file}; bring it up to date")
    if times > 1:
        raise SystemExit(f"{fault.name}: the old text is in {fault.file} {times} times")
    return path, text


def plant(fault, package):
    """Change the text; returns what undoes it."""
    path, text = find(fault, package)
    path.write_text(text.replace(fault.old, fault.new), encoding="utf-8")
    return lambda: path.write_text(text, encoding="utf-8")


def build(tree):
    """Compile what has changed."""
    done = subprocess.run(
        [sys.executable, "-c", "from setuptools import setup; setup()", "build_ext", "--inplace"],
        cwd=tree, capture_output=True, text=True, check=False,
    )
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)


def is_caught(fault, tree):
    """Whether a test fails, and which."""
    files = [f"tests/test_{name}.py" for name in fault.tests.split()]
    environment = dict(os.environ, PYTHONPATH=str(tree), PYTHONDONTWRITEBYTECODE="1")
    environment.setdefault("SKBN_SHARED", str(ROOT.parent / "shared"))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *files],
        cwd=tree, capture_output=True, text=True, env=environment, check=False,
    )
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if done.returncode < 0:
        return True, f"the interpreter ended with signal {-done.returncode}"
    if done.returncode not in (0, 1, 2) or (done.returncode == 2 and not failed):
        raise SystemExit(f"{fault.name}: pytest ended with {done.returncode}\n{done.stdout}")
    return done.returncode != 0, failed[0] if failed else ""


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("words", nargs="*")
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args(arguments)
    chosen = [f for f in FAULTS if not given.words or any(w in f.name for w in given.words)]
    if given.list:
        for fault in chosen:
            find(fault, ROOT / "skbn")
            print(f"{fault.file}: {fault.name}")
        return 0
    survivors = []
    with tempfile.TemporaryDirectory(prefix="faults-") as work:
        tree = Path(work) / "tree"
        shutil.copytree(
            ROOT, tree, ignore=shutil.ignore_patterns(".git", "build", "*.so", "__pycache__"))
        # Without optimisation a file is built in a fraction of the time.
        project = tree / "pyproject.toml"
        project.write_text(project.read_text(encoding="utf-8").replace("-O3", "-O0"),
                           encoding="utf-8")
        build(tree)
        # Those in compiled files come last, file by file: what undoes one is built with the next.
        for fault in sorted(chosen, key=lambda f: (f.file.endswith(".pyx") and f.file) or ""):
            started = time.monotonic()
            undo = plant(fault, tree / "skbn")
            if fault.file.endswith(".pyx"):
                build(tree)
            caught, by = is_caught(fault, tree)
            undo()
            survivors += [] if caught else [fault.name]
            words = "caught  " if caught else "SURVIVED"
            print(f"{words} {time.monotonic() - started:5.0f} s  {fault.name}  {by[:100]}",
                  flush=True)
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} faults caught")
    for name in survivors:
        print("survived:", name)
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
