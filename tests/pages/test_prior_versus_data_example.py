import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "plot_dirichlet_prior_versus_data.py"


def test_it_draws_its_pictures_of_a_table_without_a_display(tmp_path):
    pytest.importorskip("matplotlib")
    if not EXAMPLE.exists():
        pytest.skip(f"needs {EXAMPLE.name}")
    rows = np.random.default_rng(0).integers(3, size=(60, 4))
    rows[:, 1] = rows[:, 0]
    table = tmp_path / "three.csv"
    np.savetxt(table, rows, fmt="%d", delimiter=",", header="a,b,c,d", comments="")
    pictures = tmp_path / "pictures"
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", EXAMPLE, "--data", table,
         "--save", pictures, "--per-decade", "1"],
        capture_output=True, text=True, check=False,
    )
    assert done.returncode == 0, done.stderr
    assert {path.name for path in pictures.iterdir()} == {
        "figure_1.png", "growth.png", "equation_8.png"
    }
    assert "prior and skewness" in done.stdout
