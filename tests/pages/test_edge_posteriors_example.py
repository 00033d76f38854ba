"""The example of edge posteriors runs as it stands."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "plot_edge_posteriors.py"


def test_it_draws_its_pictures_without_a_display(tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    if not EXAMPLE.exists():
        pytest.skip(f"needs {EXAMPLE.name}")
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", EXAMPLE, "--table", "iris",
         "--save", tmp_path / "pictures", "--per-decade", "2"],
        capture_output=True, text=True, check=False,
    )
    assert done.returncode == 0, done.stderr
    names = {path.name for path in (tmp_path / "pictures").iterdir()}
    assert names == {"edge_posteriors.png", "against_ess.png"}
    assert all(path.stat().st_size > 10_000 for path in (tmp_path / "pictures").iterdir())
    assert re.search(r"^    0\.\d{3}  petal length -> sepal length$", done.stdout, re.MULTILINE)
    gains = re.findall(r"^ +[\d.]+ +[\d.]+ +[\d.]+ +([+-][\d.]+) +[\d.]+$", done.stdout,
                       re.MULTILINE)
    assert len(gains) == 2
    assert all(float(gain) > -0.01 for gain in gains)
