"""Files as practitioners have them: each learns, or says what to do, and learns after that."""

import re

import pandas as pd
import pytest
from sklearn.preprocessing import KBinsDiscretizer

from skbn import BayesNetStructureEstimator

SEPARATORS = {
    "college_plans.txt": "\t", "sachs_cmu_discrete.txt": "\t", "sachs_discretised_obs.txt": " "
}


def files(shared):
    folder = shared("data/messy")
    return sorted(path for path in folder.iterdir() if path.suffix in (".csv", ".txt", ".gz"))


def cured(table, message):
    """The table after the cures that a refusal names, and the parameters that it names."""
    table = table.copy()
    if "missing value(s)" in message:
        assert "handle_missing='category'" in message
        named = re.findall(r"olumn ('[^']*'|\"[^\"]*\") has \d+", message)
        assert {eval(name) for name in named} == set(table.columns[table.isna().any()])
        return table, {"handle_missing": "category"}
    assert "is real-valued" in message, message
    first = re.match(r"Column ('[^']*'|\"[^\"]*\") is real-valued", message)[1]
    more = re.search(r"The same goes for (.*)\.$", message)
    columns = [eval(first)] + (list(eval(f"[{more[1]}]")) if more else [])
    assert 'KBinsDiscretizer(encode="ordinal")' in message
    for column in columns:
        if table[column].isna().any():
            table[column] = pd.qcut(table[column], 4, duplicates="drop").cat.rename_categories(str)
        else:
            bins = KBinsDiscretizer(3, encode="ordinal", strategy="uniform")
            table[column] = bins.fit_transform(table[[column]])[:, 0]
    return table, {}


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
            except ValueError as error:
                said.append(str(error))
                assert len(said) < 4, said
                table, more = cured(table, said[-1])
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
