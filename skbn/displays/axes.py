"""Where displays draw, and what they draw from."""

from sklearn.utils.validation import check_is_fitted

from skbn.messages import brief


def require_result(estimator, attribute, wanted):
    """Refuse an estimator that is not fitted, or that is and does not have what is drawn."""
    check_is_fitted(estimator)
    if not hasattr(estimator, attribute):
        raise TypeError(
            f"{type(estimator).__name__} has no {attribute}, which is drawn. Pass {wanted}."
        )


def figure_and_axes(ax):
    """The axes that were given, or new ones, and their figure."""
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ImportError(
            "Drawing needs matplotlib: pip install matplotlib, or pip install 'skbn[plot]'."
        ) from error
    if ax is None:
        return plt.subplots(layout="constrained")
    if not isinstance(ax, plt.Axes):
        raise TypeError(f"ax must be matplotlib Axes or None, got {brief(ax)}.")
    return ax.figure, ax
