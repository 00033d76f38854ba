"""Files as practitioners have them: each learns, or says what to do, and learns after that."""

import pandas as pd
import pytest
from sklearn.preprocessing import KBinsDiscretizer

from skbn import BayesNetStructureEstimator, UnusableColumnsError

SEPARATORS = {
    "college_plans.txt": "\t", "sachs_cmu_discrete.txt": "\t", "sachs_discretised_obs.txt": " "
}


def files(shared):
    folder = shared("data/messy")
    return sorted(path for path in folder.iterdir() if path.suffix in (".csv", ".txt", ".gz"))


def cured(table, error):
    """The table after the cures that a refusal names, and the parameters that it names."""
    table, parameters = table.copy(), {}
    assert len(str(error)) < 2000
    assert set(error.columns.values()) <= {"missing cells", "real values"}
    has_gaps = table.isna().any()
    for column, kind in error.columns.items():
        if kind == "missing cells":
            assert "handle_missing='category'" in str(error)
            parameters = {"handle_missing": "category"}
        elif has_gaps[column]:
            assert "or, since cells are missing, with pandas.qcut(" in str(error)
            table[column] = pd.qcut(table[column], 4, duplicates="drop").cat.rename_categories(str)
        else:
            assert 'KBinsDiscretizer(encode="ordinal")' in str(error)
            bins = KBinsDiscretizer(3, encode="ordinal", strategy="uniform")
            table[column] = bins.fit_transform(table[[column]])[:, 0]
    named = [column for column, kind in error.columns.items() if kind == "missing cells"]
    assert not named or named == table.columns[has_gaps].tolist()
    return table, parameters


@pytest.mark.parametrize("strings", [False, True], ids=["as read", "all text"])
def test_every_file_learns_after_what_its_messages_ask_for(shared, strings):
    walked = {}
    for path in files(shared):
        separator = SEPARATORS.get(path.name, ",")
        # What a person tries first; wide files in part, to be quick.
        table = pd.read_csv(path, sep=separator, dtype=str if strings else None).iloc[:2000, :40]
        parameters, said = {}, []
        while True:
            model = BayesNetStructureEstimator(max_iter=10, random_state=0, **parameters)
            try:
                model.fit(table)
            except UnusableColumnsError as error:
                said.append(str(error))
                assert len(said) < 4, said
                table, more = cured(table, error)
                parameters |= more
            else:
                break
        assert model.network_.labels == tuple(table.columns)
        assert model.score(table) < 0
        walked[path.name] = len(said)
    assert len(walked) >= 20
    # Text has no measurements, so at most the missing cells are to be cured.
    assert max(walked.values()) == (1 if strings else 2)
    assert walked["mushroom.csv.gz"] == walked["vote.csv"] == 0
