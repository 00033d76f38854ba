"""Pickles that know which version wrote them."""

from typing import Any

# Raised whenever the attributes of an object that is `Persistent`, or of what it holds, change.
LAYOUT = 2
_KEY = "_skbn_written_by"


class Persistent:
    """Refuse a pickle whose attributes this version would misread.

    What is written holds the version and the number of the layout of attributes. A pickle of
    another version with the same layout loads; one of another layout is refused with both versions
    in the message. As all pickles, one must come from somebody whom you trust.
    """

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), _KEY: (_version(), LAYOUT)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        version, layout = state.pop(_KEY, ("a version before 0.1.0", 0))
        if layout != LAYOUT:
            raise ValueError(
                f"This {type(self).__name__} was pickled by skbn {version}, whose attributes are "
                f"others than those of skbn {_version()}, which is to load it. Load it with the "
                "version that wrote it, or fit it again."
            )
        vars(self).update(state)


def _version() -> str:
    # The package itself imports this module.
    import skbn

    return skbn.__version__
