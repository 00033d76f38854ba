"""Leaving an object as it was when a method of it does not come to its end."""

from collections.abc import Callable
from functools import wraps


def undone_on_failure(method: Callable) -> Callable:
    """A method that puts back the attributes of its object if it raises, or is interrupted.

    A fitted estimator whose second fit fails still predicts, and one that was not fitted is not
    half fitted.
    """

    @wraps(method)
    def run(self, *args, **kwargs):
        before = dict(vars(self))
        try:
            return method(self, *args, **kwargs)
        except BaseException:  # KeyboardInterrupt, too
            vars(self).clear()
            vars(self).update(before)
            raise

    return run
