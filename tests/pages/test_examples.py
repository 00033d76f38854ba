"""The quick start and the README's code run as they stand."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


def need(name):
    path = ROOT / name
    if not path.exists():
        pytest.skip(f"{name} is not beside the tests")
    return path


def test_quick_start(tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", str(need("examples/quickstart.py"))],
        capture_output=True, text=True, cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^\d+ edges, BDeu score -\d+\.\d\d:$", done.stdout, re.MULTILINE)
    assert re.search(r"^    \w+\S* -> \w+\S*$", done.stdout, re.MULTILINE)
    loss = re.search(r"^Held-out log-loss: (\d+\.\d+) nats a row$", done.stdout, re.MULTILINE)
    assert 0 < float(loss[1]) < 14 * np.log(3)
    accuracy = re.search(r"accuracy (\d\.\d+)$", done.stdout, re.MULTILINE)
    assert float(accuracy[1]) > 0.9
    assert list(tmp_path.iterdir()) == []


def test_structure_search(tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "search.png"
    done = subprocess.run(
        [sys.executable, "-W", "error", str(need("examples/structure_search.py")), "--seeds", "2",
         "--plot", str(picture)],
        capture_output=True, text=True, cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"^(aic|bic) +(greedy|first_ascent) +(given|empty|full|random) ", done.stdout,
                      re.MULTILINE)
    assert len(rows) == len(set(rows)) * 2 == 32  # two tables
    assert "tic-tac-toe: 958 rows, 10 columns" in done.stdout
    assert picture.stat().st_size > 10_000


def test_table_1(tmp_path):
    done = subprocess.run(
        [sys.executable, str(need("examples/table1.py"))],
        capture_output=True, text=True, cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    for name in ("balance", "tictac", "iris", "wine"):
        assert re.search(rf"^{name} ", done.stdout, re.MULTILINE), done.stdout


def test_the_code_of_the_readme(monkeypatch):
    text = need("README.md").read_text(encoding="utf-8")
    block, choosing = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    need("examples/survey.csv")
    monkeypatch.chdir(ROOT)
    names = {}
    exec(compile(block, "README.md", "exec"), names)
    bn, train, test = names["bn"], names["train"], names["test"]
    assert (len(train), len(test)) == (700, 200)
    assert ("city", "travel") in bn.edges_ or ("travel", "city") in bn.edges_
    # Each line that shows a value has one to show.
    shown = re.findall(r"^(-?bn\..*?) +# ", block, re.MULTILINE)
    assert len(shown) == 6
    values = {line: eval(line, names) for line in shown}
    assert 0 < values["-bn.score(test)"] < np.log(3 * 2 * 2 * 3 * 2 * 3)
    assert str(values['bn.network_.cpt("travel")']).startswith("P(travel")
    young = values['bn.network_.posterior("travel", {"age": "young"})']
    assert young.probabilities.sum() == pytest.approx(1)
    assert [p.shape for p in values["bn.predict_proba(test)"]] == [
        (200, 3), (200, 2), (200, 2), (200, 3), (200, 2), (200, 3)]
    drawn = values["bn.sample(1000)"]
    assert drawn.shape == (1000, 6)
    assert drawn.dtypes.equals(train.dtypes)
    assert drawn["job"].isna().any()

    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    exec(compile(choosing, "README.md", "exec"), names)
    assert names["search"].best_params_["ess"] in names["search"].ess
    matplotlib.pyplot.close("all")


def test_links_of_the_readme_and_the_pages():
    pages = [need("README.md"), *sorted(need("docs").glob("*.md")), need("benchmarks/README.md")]
    for page in pages:
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            if not link.startswith("http"):
                assert (page.parent / link).exists(), (page.name, link)


def test_no_page_loses_levels_that_pandas_takes_for_missing():
    files = [need("README.md"), *need("docs").glob("*.md"), *need("examples").glob("*.*"),
             *need("benchmarks").glob("*.py"), *need("skbn").glob("*/*.py")]
    calls = [call for file in files for call in re.findall(
        r"read_csv\([^()]*dtype=str[^()]*\)", file.read_text(encoding="utf-8"))]
    assert len(calls) > 10
    assert [call for call in calls if "keep_default_na=False" not in call] == []


def test_larger_than_memory(tmp_path):
    pytest.importorskip("duckdb")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(need("examples/larger_than_memory.py")), "300000"],
        capture_output=True, text=True, cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "300,000 rows, 384 of them distinct" in done.stdout
    found = set(re.findall(r"^    (\w+) -> (\w+)$", done.stdout, re.MULTILINE))
    # The network that the rows were made by, up to the direction of edges that no row can tell.
    made_by = {("smokes", "coughs"), ("exercises", "tired"), ("exercises", "sleeps_well"),
               ("coughs", "ill"), ("tired", "ill")}
    assert {frozenset(edge) for edge in found} == {frozenset(edge) for edge in made_by}
    assert {("coughs", "ill"), ("tired", "ill")} <= found
