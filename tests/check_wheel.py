"""Check a folder of built distributions: the wheel holds the package and nothing of its making."""

import sys
import zipfile
from pathlib import Path


def main(folder: str) -> None:
    (wheel,) = Path(folder).glob("*.whl")
    (_,) = Path(folder).glob("*.tar.gz")
    names = zipfile.ZipFile(wheel).namelist()
    package = Path(__file__).resolve().parents[1] / "skbn"
    for source in (*package.rglob("*.py"), *package.rglob("*.pyx")):
        module = f"skbn/{source.relative_to(package).with_suffix('').as_posix()}"
        assert any(name.startswith(f"{module}.") for name in names), module
        # Beside a kernel, what mypy knows of it.
        assert source.suffix == ".py" or f"{module}.pyi" in names, module
    assert "skbn/py.typed" in names, names
    unwanted = [name for name in names if name.endswith((".pyx", ".c")) or "test" in name]
    assert not unwanted, unwanted
    print(f"{wheel.name}: {len(names)} files")


if __name__ == "__main__":
    main(*sys.argv[1:])
