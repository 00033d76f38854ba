"""Imports inside the package go one way, and nothing optional is imported with it."""

import ast
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import skbn

PACKAGE = Path(skbn.__file__).parent
SOURCES = sorted(path for path in PACKAGE.glob("*/*.py") if path.stem != "__init__")
OPTIONAL = {"pandas", "polars", "pyarrow", "matplotlib", "networkx", "graphviz", "rich", "dask"}


def imports(nodes):
    """Names of modules, full, as `import` and `from` in these nodes have them."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def at_import(tree):
    """The nodes that run when the module is imported, but for `if TYPE_CHECKING`."""
    waiting = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            waiting += node.orelse
            continue
        yield node
        waiting += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
        waiting += [part for handler in getattr(node, "handlers", []) for part in handler.body]


def module_of(path):
    return ".".join(["skbn", *path.relative_to(PACKAGE).with_suffix("").parts])


def needs():
    """For each module the modules of ours that it imports."""
    modules = {module_of(path) for path in SOURCES}
    found = {}
    for path in SOURCES:
        # Functions included: an import put off to a call is an arrow all the same.
        names = imports(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        found[module_of(path)] = modules.intersection(names)
    return found


def page_on_architecture():
    page = PACKAGE.parent / "docs" / "architecture.md"
    if not page.exists():
        pytest.skip("docs/architecture.md is not beside the package")
    return page.read_text(encoding="utf-8")


def test_there_is_something_to_read():
    assert {"estimator.py", "climbing.py", "bayesian.py"} <= {path.name for path in SOURCES}
    assert "skbn.graphs.graph" in needs()["skbn.search.climbing"]
    # Nothing but the door, and what every floor may use, is outside the folders.
    outside = sorted(path.name for path in PACKAGE.glob("*.py"))
    assert outside == ["__init__.py", "messages.py", "resources.py"]


def test_imports_make_no_circle():
    list(TopologicalSorter(needs()).static_order())  # CycleError names the circle


def test_folders_import_from_those_above_them():
    folders = re.findall(r"^\| `(\w+)`", page_on_architecture(), re.M)
    assert sorted(folders) == sorted({path.parent.name for path in SOURCES})
    for module, own in needs().items():
        place = folders.index(module.split(".")[1])
        back = [name for name in own if folders.index(name.split(".")[1]) > place]
        assert not back, f"{module} imports {back}"


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*/__init__.py")), ids=lambda p: p.parent.name)
def test_folders_say_what_they_are_about_and_import_nothing(path):
    (docstring,) = ast.parse(path.read_text(encoding="utf-8")).body
    assert docstring.value.value.strip().endswith(".")


@pytest.mark.parametrize("path", SOURCES, ids=module_of)
def test_nothing_optional_is_imported_with_a_module(path):
    names = set(imports(at_import(ast.parse(path.read_text(encoding="utf-8")))))
    assert not {name.partition(".")[0] for name in names} & OPTIONAL


def test_importing_and_using_the_package_needs_nothing_optional():
    code = f"""
import sys
optional = {sorted(OPTIONAL)!r}
sys.modules.update(dict.fromkeys(optional))  # importing one of them now fails
import skbn
bn = skbn.BayesNetStructureEstimator(n_restarts=1, random_state=0).fit([["a", 0], ["b", 1]] * 9)
bn.score([["a", 0]]), bn.predict([["a", 0]]), bn.sample(3), str(bn.network_.cpt("x0"))
skbn.BayesNetClassifier().fit([[0, 1], [1, 0]], ["u", "v"]).predict([[0, 1]])
assert not [name for name in optional if sys.modules[name]]
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_importing_the_package_imports_nothing_optional_but_what_scikit_learn_does():
    # scikit-learn itself imports pandas and rich where they are installed.
    code = "import sys, sklearn.callback; before = set(sys.modules); import skbn; "
    code += "print(*before, '|', *set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    before, _, added = done.stdout.partition("|")
    loaded = {name.partition(".")[0] for name in added.split()} - set(before.split())
    assert "skbn" in loaded
    assert not loaded & OPTIONAL


def test_every_public_name_exists_and_has_a_docstring():
    assert list(skbn.__all__) == sorted(skbn.__all__)
    for name in skbn.__all__:
        assert getattr(skbn, name).__doc__


def in_stub(kind, dimensions):
    """What a type of Cython is called in a stub."""
    if kind == "code_t":
        return "_Codes"
    if kind == "list":
        return "list[NDArray[np.float64]]"
    if dimensions:
        return {"double": "NDArray[np.float64]", "uintptr_t": "NDArray[np.uintp]"}.get(
            kind, f"NDArray[np.{kind.removesuffix('_t')}]"
        )
    return "float" if kind == "double" else "int"


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*/*.pyx")), ids=lambda path: path.stem)
def test_stubs_say_what_kernels_take(path):
    kernels = re.findall(r"^def (\w+)\((.*?)\):$", path.read_text(encoding="utf-8"), re.M | re.S)
    taken = {
        name: [
            (own, in_stub(kind, dimensions), default)
            # As in "const int64_t[:, ::1] table, double tie=1.0, ".
            for kind, dimensions, own, default in re.findall(
                r"(?:const )?(\w+)(\[[^]]*\])? (\w+)(=?)[^,]*(?:,|$)", parameters
            )
        ]
        for name, parameters in kernels
    }
    said = {}
    for function in ast.parse(path.with_suffix(".pyi").read_text(encoding="utf-8")).body:
        if isinstance(function, ast.FunctionDef):
            parameters, defaults = function.args.args, function.args.defaults
            said[function.name] = [
                (one.arg, ast.unparse(one.annotation).removesuffix(" | None"), default)
                for one, default in zip(
                    parameters,
                    [""] * (len(parameters) - len(defaults)) + ["="] * len(defaults),
                    strict=True,
                )
            ]
    assert said == taken
    assert said


def test_the_page_on_architecture_names_every_file():
    rows = re.findall(r"^\| `(\w+)` \|.*\|(.*)\|$", page_on_architecture(), re.M)
    named = {(folder, file) for folder, files in rows for file in re.findall(r"`(\w+)", files)}
    kernels = PACKAGE.glob("*/*.pyx")
    assert named == {(path.parent.name, path.stem) for path in [*SOURCES, *kernels]}
