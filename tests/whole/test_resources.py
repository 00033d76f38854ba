"""What the machine has to give, and what is refused."""

import math
import subprocess
import sys

import pytest

from skbn import resources
from skbn.resources import (
    _control_group,
    available_memory,
    memory_limit,
    readable,
    refuse_array,
    refuse_if_too_large,
)


def test_available_memory_is_something():
    assert 0 < available_memory() < math.inf
    assert memory_limit(7) == 7
    assert memory_limit(None) > 0


def test_a_limit_of_the_address_space_counts():
    pytest.importorskip("resource")
    code = (
        "import resource; from skbn.resources import available_memory\n"
        "resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30))\n"
        "print(available_memory())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 < float(done.stdout) < 3 * 2**30


@pytest.mark.parametrize("version", [2, 1])
def test_a_control_group_leaves_what_it_does_not_use_or_can_drop(version, tmp_path, monkeypatch):
    names = {
        2: ("memory.max", "memory.current", "inactive_file"),
        1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    }
    limit, used, cached = names[version]
    monkeypatch.setattr("skbn.resources.Path", lambda folder, name: tmp_path / name)
    assert _control_group() == math.inf
    (tmp_path / limit).write_text("1000\n")
    (tmp_path / used).write_text("600\n")
    (tmp_path / "memory.stat").write_text(f"anon 450\n{cached} 150\nactive_file 7\n")
    assert _control_group() == 550
    (tmp_path / limit).write_text("max\n")
    assert _control_group() == math.inf


@pytest.mark.parametrize(
    ("name", "origin"),
    [
        ("_physical", "more than the limit of 8 bytes (8e-09 GB), all that is free on this "
                      "machine."),
        ("_control_group", "all that its container or job queue leaves this process."),
        ("_address_space", "all that the limit of the address space leaves (ulimit -v)."),
    ],
)
def test_refusal_says_where_the_limit_comes_from(name, origin, monkeypatch):
    monkeypatch.setattr(resources, name, lambda: 8.0)
    with pytest.raises(MemoryError) as caught:
        refuse_if_too_large(9, available_memory(), "It takes", "Take less.")
    assert origin in str(caught.value)
    # Small arrays do not ask.
    refuse_array(9, "It takes", "Take less.")
    with pytest.raises(MemoryError, match="It takes about 80000000 bytes"):
        refuse_array(10**7, "It takes", "Take less.")


def test_refusal_names_both_numbers_and_the_cure():
    refuse_if_too_large(10, memory_limit(10), "It takes", "Take less.")
    with pytest.raises(MemoryError) as caught:
        refuse_if_too_large(2 * 10**9, memory_limit(10**9), "It takes", "Take less.")
    assert str(caught.value) == (
        "It takes about 2000000000 bytes (2 GB), more than the limit of 1000000000 bytes (1 GB), "
        "which max_memory sets. Take less."
    )
    assert readable(10**400) == "1e400 bytes"
