"""Check a folder of built distributions: the wheel holds the package and nothing of its making."""

import sys
import zipfile
from pathlib import Path


def main(folder: str) -> None:
    (wheel,) = Path(folder).glob("*.whl")
    (_,) = Path(folder).glob("*.tar.gz")
    names = zipfile.ZipFile(wheel).namelist()
    for compiled in ("_counting", "_dag_sums", "_moves", "_set_counts", "_subsets"):
        assert any(name.startswith(f"skbn/{compiled}.") for name in names), names
    assert "skbn/py.typed" in names, names
    unwanted = [name for name in names if name.endswith((".pyx", ".c")) or "test" in name]
    assert not unwanted, unwanted
    print(f"{wheel.name}: {len(names)} files")


if __name__ == "__main__":
    main(*sys.argv[1:])
