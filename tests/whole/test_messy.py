"""Files as practitioners have them: each learns, or says what to do, and learns after that."""

import pandas as pd
import pytest
from sklearn.preprocessing import KBinsDiscretizer

from skbn import BayesNetStructureEstimator, UnusableColumnsError
from skbn.tables.reading import read_table

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


@pytest.mark.filterwarnings("ignore::skbn.DataWarning")
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


# Measurements in whole numbers, and names of rows, as the files' own descriptions have them.
NO_CATEGORIES = {
    "fips_unemployment.csv": {"fips"},
    "heart_disease_uci_kaggle.csv": {"id", "age", "resting_blood_pressure", "cholesterol",
                                     "thalassemia"},
    "kddcup_guess_vs_satan.csv.gz": {"Atr-22", "Atr-31", "Atr-32"},
    "starwars.csv": {"name", "height", "homeworld"},
    "titanic_kaggle.csv": {"PassengerId", "Name", "Ticket"},
    "vcd_arthritis.csv": {"ID", "Age"},
    "zoo.csv": {"animal name"},
    "audiology.csv": {"identifier"},
}


def test_columns_that_are_no_categories(shared):
    assert len(files(shared)) >= 20
    for path in files(shared):
        table = pd.read_csv(path, sep=SEPARATORS.get(path.name, ","))
        # Real numbers are refused whatever is told of the others.
        real = [name for name in table.select_dtypes("number")
                if (table[name].dropna() % 1 != 0).any()]
        reading = read_table(table.drop(columns=real), missing="category")
        assert {label for label, _ in reading.no_categories} == NO_CATEGORIES.get(path.name, set())
