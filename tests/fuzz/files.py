"""Calls that write networks and read them: BIF files, whole and damaged, networkx and drawings."""

import contextlib
import gzip
import io
import itertools
import json
import math
import re
import tempfile
from pathlib import Path

import numpy as np
from checks import MARKS, close, raised_by_us, require
from networks import KnownNetwork
from problem import pick
from questions import well_formed

from skbn import from_networkx, read_bif

WORDS = ["network", "variable", "probability", "table", "default", "property", "type", "discrete",
         "{", "}", "(", ")", "[", "]", ";", ",", "|", "//", "/*", '"', "0.5", "-1", "1e400", "nan",
         "inf", "1e-400", "2", "\0", "\ufeff", "ä", "(yes)", "1_0", "٣"]


def same_network(known, other, how):
    """Another network is the known one."""
    network = known.network
    require(list(other.labels) == list(network.labels), how, "labels", other.labels)
    for ours, theirs in zip(known.states, other.categories, strict=True):
        require(ours == theirs.tolist() and list(map(type, ours)) == list(
            map(type, theirs.tolist())), how, "states", ours, theirs)
    require(list(other.parent_indices) == known.parents, how, "parents", other.parent_indices)
    for dense, table in zip(known.dense, other.tables, strict=True):
        require(np.allclose(table.dense().ravel(), dense.ravel(), rtol=1e-9, atol=1e-300), how,
                "probabilities", dense, table.dense())


def valid_network(network):
    """What must hold of whatever a damaged file gives."""
    for table in network.tables:
        sums = np.exp(table.log_probabilities).sum(axis=1)
        require(np.allclose(sums, 1.0, atol=1e-8), "probabilities sum to", sums)
        require((table.log_probabilities <= 1e-9).all(), "probabilities above 1")
    n = len(network.labels)
    with contextlib.suppress(ValueError):
        best = network.log_prob(network.most_probable())
        require(-math.inf < best <= 1e-9, "the most probable row has", best)
    if n <= 8:
        for label in network.labels:
            require(close(float(network.posterior(label).probabilities.sum()), 1.0), "posterior")


def written_by_hand(rng, known):
    """A BIF file of a network in one of the styles that programs write."""
    def name(text):
        return f'"{text}"' if quote else text

    quote, tables = rng.random() < 0.2, rng.random() < 0.3
    comma = pick(rng, [", ", ",", " "])
    end = pick(rng, ["\n", "\r\n", " ", "\n\n", " // note\n", "/* a { note */\n", " # a } note\n"])
    last = pick(rng, [";", ""])
    order = rng.permutation(known.n).tolist()
    lines = [pick(rng, ["network unknown {", 'network "a b" {\n property x = {1} ;', "NETWORK n {"])
             .replace("{1}", "1"), "}"]
    if rng.random() < 0.2:
        lines = ["# no network" if "\n" in end else ""]
    for j, (label, states) in enumerate(zip(known.labels, known.states, strict=True)):
        listed = comma.join(name(state) for state in states)
        lines += [f"variable {name(label)} {{",
                  f"type discrete [ {known.sizes[j]} ] {{ {listed} }};", "}"]
    for child in order:
        given = [int(p) for p in rng.permutation(known.parents[child])]
        dense = known.dense[child]
        dense = np.transpose(dense, [*(known.parents[child].index(p) for p in given), len(given)])
        head = name(known.labels[child])
        if given:
            head += " | " + comma.join(name(known.labels[p]) for p in given)
        lines.append(f"probability ( {head} ) {{")
        if not given or tables:
            by_state = np.moveaxis(dense, -1, 0).ravel()
            lines.append(f"table {comma.join(map(repr, by_state.tolist()))}{last}")
        else:
            cells = list(itertools.product(*(range(known.sizes[p]) for p in given)))
            for cell in [cells[t] for t in rng.permutation(len(cells))]:
                named = comma.join(name(known.states[p][c])
                                   for p, c in zip(given, cell, strict=True))
                lines.append(f"({named}) {comma.join(map(repr, dense[cell].tolist()))};")
            lines[-1] = lines[-1][:-1] + last
        lines.append("}")
    return end.join(lines) + end


def damaged(rng, text):
    """Text with a few things wrong."""
    for _ in range(int(rng.integers(1, 4))):
        lines, words = text.split("\n"), re.split(r"(\s+)", text)
        place, other = (int(k) for k in rng.integers(0, len(lines), 2))
        word, second = (int(k) for k in rng.integers(0, len(words), 2))
        sign = int(rng.integers(len(text) + 1))
        how = int(rng.integers(10))
        if how == 0:
            text = text[:sign] + text[sign + int(rng.integers(1, 20)) :]
        elif how == 1:
            text = text[:sign] + pick(rng, MARKS) + text[sign + int(rng.integers(2)) :]
        elif how == 2:
            text = text[:sign]
        elif how == 3:
            text = "\n".join(lines[:place] + lines[place + 1 :])
        elif how == 4:
            text = "\n".join([*lines[:place], lines[other], *lines[place:]])
        elif how == 5:
            lines[place], lines[other] = lines[other], lines[place]
            text = "\n".join(lines)
        elif how == 6:
            words[word] = pick(rng, WORDS)
            text = "".join(words)
        elif how == 7:
            words[word], words[second] = words[second], words[word]
            text = "".join(words)
        elif how == 8:
            text = text[:sign] + pick(rng, WORDS) + text[sign:]
        else:
            numbers = list(re.finditer(r"[0-9][0-9.e+-]*", text))
            if numbers:
                found = pick(rng, numbers)
                new = pick(rng, ["0", "1", "-0.1", "1e-320", "0.0", "9999999999", "1.0000001", "."])
                text = text[: found.start()] + new + text[found.end() :]
    return text


class ReadCall:
    """`read_bif` of files that were written by hand, whole and damaged."""

    name = "read_bif"

    def __init__(self, rng):
        self.flaws, self.options = [], {}
        self.known = known = KnownNetwork(rng, most=5, plain=rng.random() < 0.7)
        while not known.is_writable:
            self.known = known = KnownNetwork(rng, most=5)
        self.by_hand = all(isinstance(x, str) and re.fullmatch(r"[a-zA-Z_]\w*", x, re.ASCII)
                           for x in [*known.labels, *itertools.chain(*known.states)])
        self.text = written_by_hand(rng, known) if self.by_hand else known.network.to_bif()
        if rng.random() < 0.7:
            self.text = damaged(rng, self.text)
            self.flaws.append("?damaged")
        content = self.text.encode("utf-8", "replace")
        if rng.random() < 0.2:
            content = b"\xef\xbb\xbf" + content
        form = pick(rng, ["text", "bytes", "path", "gzip", "bad gzip", "latin"])
        if form == "gzip":
            content = gzip.compress(content, mtime=0)
        elif form == "bad gzip":
            content = bytearray(gzip.compress(content, mtime=0))
            content[int(rng.integers(2, len(content)))] ^= int(rng.integers(1, 256))
            content = bytes(content[: int(rng.integers(3, len(content) + 1))])
            self.flaws.append("?damaged")
        elif form == "latin":
            content += b"\xff\xfe\xe4"
            self.flaws.append("!encoding")
        self.form, self.content = form, content
        if rng.random() < 0.1:
            self.options["max_bytes"] = pick(rng, [10**9, len(content) * 2000, 2**40])
        if rng.random() < 0.06:
            self.options["max_bytes"] = pick(rng, [0, 5, -1, 1.5, "many", None, math.nan])
            self.flaws.append("!max_bytes")
        self.wrong = None
        if rng.random() < 0.04:
            self.flaws.append("!file")
            self.wrong = [pick(rng, [None, 3, b"bytes", object(), self.text + "\n\n", [self.text]])]

    def run(self):
        if self.wrong:
            self.result = read_bif(*self.wrong, **self.options)
        elif self.form == "text":
            self.result = read_bif(io.StringIO(self.text), **self.options)
        elif self.form == "path":
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "network.bif"
                path.write_bytes(self.content)
                self.result = read_bif(pick_path(path, len(self.content)), **self.options)
        else:
            self.result = read_bif(io.BytesIO(self.content), **self.options)

    def check(self, rng):
        valid_network(self.result)
        if "?damaged" not in self.flaws:
            same_network(self.known, self.result, "the file gives other")
        again = read_bif(io.StringIO(self.result.to_bif(default_rows=True)))
        for ours, theirs in zip(self.result.tables, again.tables, strict=True):
            require(ours.parents == theirs.parents and np.allclose(
                ours.dense(), theirs.dense(), rtol=1e-12, atol=0), "a second copy differs")

    def __str__(self):
        return (f"read_bif flaws {self.flaws} {self.options} form {self.form} {self.wrong}\n"
                f"{self.text[:6000]!r}")


def pick_path(path, number):
    """A path as text or as an object."""
    return str(path) if number % 2 else path


class WriteCall:
    """`to_bif`, `to_networkx`, `from_networkx`, `to_dot` and the drawings of a network."""

    def __init__(self, rng):
        self.flaws = []
        self.known = known = KnownNetwork(rng)
        self.name = pick(rng, ["to_bif", "networkx", "to_dot", "svg"])
        self.options = {}
        if self.name == "to_bif":
            self.options["default_rows"] = bool(rng.random() < 0.5)
            if rng.random() < 0.3:
                self.options["portable"] = True
                if max(known.sizes) == 1:
                    self.flaws.append("!portable")
            if not known.is_writable:
                # What is left out needs no name.
                self.flaws.append("?names" if "portable" in self.options else "!names")
            self.target = pick(rng, ["none", "text", "bytes", "path", "gz"])
            if rng.random() < 0.06:
                self.flaws.append("!path_or_file")
                self.target = pick(rng, [3, object(), [], b"path\0"])
        self.damage = None
        if self.name == "networkx":
            self.graph = known.network.to_networkx()
            if known.is_writable and rng.random() < 0.3:
                import networkx as nx

                text = json.dumps(nx.node_link_data(self.graph))
                self.graph = nx.node_link_graph(json.loads(text))
            if rng.random() < 0.5:
                self._damage(rng)

    def _damage(self, rng):
        import networkx as nx

        graph, known = self.graph, self.known
        node = known.labels[int(rng.integers(known.n))]
        data, place = graph.nodes[node], known.labels.index(node)
        if rng.random() < 0.9:
            data.pop("dtype", None)
            table = known.network.tables[place]
            data.update(states=known.network.categories[place],
                        configurations=table.configurations,
                        log_probabilities=table.log_probabilities)
        self.damage = damage = pick(rng, [
            "kind", "lacks", "states", "rows", "sum", "nan", "edge", "extra", "cycle", "codes",
            "object", "positive", "repeated state", "rename",
        ])
        r = known.sizes[place]
        flaw = "!graph"
        if isinstance(data["log_probabilities"], str):
            # As they come: text, which is cut.
            self.damage, flaw = "text", "?graph"
            name = pick(rng, ["states", "configurations", "log_probabilities"])
            text = str(data[name])
            data[name] = text[: int(rng.integers(len(text)))] + pick(rng, ["", "]", "[[", "{}"])
        elif damage == "kind":
            self.graph = pick(rng, [None, 3, "graph", [(1, 2)], nx.Graph(), np.eye(2),
                                    nx.Graph([("a", "b")]), object()])
        elif damage == "lacks":
            del data[pick(rng, list(data))]
        elif damage == "states":
            data["states"] = pick(rng, [data["states"][:-1], None, 3, np.ones((r, 2)),
                                        [*data["states"].tolist(), "more"]])
        elif damage == "rows":
            data["log_probabilities"] = pick(rng, [
                data["log_probabilities"][:0], data["log_probabilities"].T[None], "text", None,
                data["log_probabilities"][:, :0], 1.0])
        elif damage == "sum":
            data["log_probabilities"] = data["log_probabilities"] - 0.1
        elif damage == "nan":
            data["log_probabilities"] = np.full_like(data["log_probabilities"], np.nan)
        elif damage == "positive":
            data["log_probabilities"] = np.full_like(data["log_probabilities"], np.inf)
        elif damage == "codes":
            data["configurations"] = pick(rng, [
                np.full_like(data["configurations"], 77, dtype=int)[:, ::-1],
                data["configurations"] + 0.5, "text", None, data["configurations"][:-1],
            ])
            if not known.parents[place]:
                flaw = "?graph"
        elif damage == "edge" and graph.edges:
            graph.remove_edge(*pick(rng, list(graph.edges)))
        elif damage == "extra" and known.n > 1:
            pair = [known.labels[int(k)] for k in rng.choice(known.n, 2, replace=False)]
            graph.add_edge(*pair)
            flaw = "?graph" if (known.labels.index(pair[0]), known.labels.index(pair[1])) in (
                known.edges) else "!graph"
        elif damage == "cycle":
            graph.add_edge(node, node, position=len(known.parents[place]))
        elif damage == "object":
            data["log_probabilities"] = data["log_probabilities"].astype(object).tolist()
            data["states"] = data["states"].tolist()
            flaw = "?graph"
        elif damage == "repeated state":
            flaw = "!graph" if r > 1 else "?graph"
            data["states"] = np.array([data["states"][0]] * r, dtype=object)
        else:
            self.graph = nx.relabel_nodes(graph, {node: ("new", 0)})
            flaw = None
        self.flaws += [flaw] if flaw else []

    def run(self):
        network = self.known.network
        if self.name == "to_bif":
            self._write(network)
        elif self.name == "networkx":
            self.result = from_networkx(self.graph)
        elif self.name == "to_dot":
            self.result = network.to_dot()
        else:
            self.result = network._repr_svg_(), network._repr_html_()

    def _write(self, network):
        self.copy = None
        if self.target == "none":
            self.result = network.to_bif(**self.options)
        elif self.target in ("text", "bytes"):
            file = io.StringIO() if self.target == "text" else io.BytesIO()
            self.result = network.to_bif(file, **self.options)
            file.seek(0)
            self.copy = read_bif(file)
        elif self.target in ("path", "gz"):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / f"network.{self.target}"
                self.result = network.to_bif(pick_path(path, self.known.n), **self.options)
                self.copy = read_bif(path)
        else:
            self.result = network.to_bif(self.target, **self.options)

    def check(self, rng):
        known = self.known
        if self.name == "to_bif":
            if self.options.get("portable") and min(known.sizes) == 1:
                require("[ 1 ]" not in self.result, "a variable of one state", self.result)
            else:
                same_network(known, read_bif(io.StringIO(self.result)), "the text gives other")
                if self.copy is not None:
                    same_network(known, self.copy, "the file gives other")
            for _ in range(3):
                try:
                    other = read_bif(io.StringIO(damaged(rng, self.result)))
                except ValueError as error:
                    require(raised_by_us(error) and str(error).strip(), "damaged:", repr(error))
                else:
                    valid_network(other)
        elif self.name == "networkx":
            if self.damage is None or self.damage == "object":
                same_network(known, self.result, "the graph gives other")
            valid_network(self.result)
        elif self.name == "to_dot":
            lines = self.result.splitlines()
            require(lines[0] == "digraph {" and lines[-1] == "}", self.result)
            quoted = r'(?:n\d+|"(?:[^"\\]|\\.)*")'
            node = re.compile(rf'  {quoted}(?: \[label="(?:[^"\\]|\\.)*"\])?;')
            arrow = re.compile(rf"  {quoted} -> {quoted};")
            require(sum(bool(arrow.fullmatch(line)) for line in lines) == len(known.edges), lines)
            require(sum(bool(node.fullmatch(line)) for line in lines) == known.n, lines)
            require(len(lines) == 2 + known.n + len(known.edges), lines)
        else:
            svg, html = self.result
            root = well_formed(svg)[0]
            require(len([1 for _ in root.iter("{http://www.w3.org/2000/svg}g")]) == known.n,
                    "nodes of the drawing")
            require(len([1 for _ in root.iter("{http://www.w3.org/2000/svg}polygon")])
                    == len(known.edges), "heads of the drawing")
            require("nan" not in re.sub(">[^<]*<", "><", svg), "NaN in the drawing")
            well_formed(html)

    def __str__(self):
        return (f"{self.name} flaws {self.flaws} {self.options} damage {self.damage} "
                f"target {getattr(self, 'target', None)!r}\n{self.known}")
