"""What `import skbn` finds where a folder of that name is in the way, and what it says."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import skbn

PACKAGE = Path(skbn.__file__).parent


def python(folder, code):
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.fixture
def unbuilt(tmp_path):
    """A source tree that is not built, in a folder called skbn as a clone is."""
    tree = tmp_path.resolve() / "skbn"
    sources = shutil.ignore_patterns("*.so", "*.pyd", "*.c", "__pycache__")
    shutil.copytree(PACKAGE, tree / "skbn", ignore=sources)
    return tree


def test_the_folder_of_a_clone_does_not_hide_what_is_installed(tmp_path):
    # Of an editable install this holds because it is an entry of the path.
    code = "import skbn; print(skbn.__file__); skbn.full_graph('ab')"
    if python(tmp_path, code).stdout.strip() != skbn.__file__:
        pytest.skip("this skbn is found only from where the tests were started")
    (tmp_path / "skbn" / "skbn").mkdir(parents=True)
    done = python(tmp_path, code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == skbn.__file__


def test_a_tree_that_is_not_built_says_where_it_is_and_what_builds_it(unbuilt):
    # Without the places where another skbn is, and scikit-learn may be as well.
    code = """
import os, sys
import sklearn.base
sys.path[1:] = [place for place in sys.path[1:] if not os.path.exists(f"{place}/skbn")]
import skbn
"""
    done = python(unbuilt, code)
    assert done.returncode == 1
    assert f"ImportError: Python found skbn in {unbuilt}, and no compiled part" in done.stderr
    assert "\n    pip install -e .\n" in done.stderr
    assert "in another folder" not in done.stderr


def test_a_tree_that_is_not_built_names_the_package_that_it_hides(unbuilt):
    code = f"import sys; sys.path.insert(1, {str(PACKAGE.parent)!r}); import skbn"
    done = python(unbuilt, code)
    assert done.returncode == 1
    assert f"ImportError: Python found skbn in {unbuilt}, and no compiled part" in done.stderr
    assert f"Or use the skbn in {PACKAGE.parent}: start Python in another folder." in done.stderr
    # In another folder the same finds it.
    assert python(unbuilt.parent, code).returncode == 0
