"""The estimators of scikit-learn."""
