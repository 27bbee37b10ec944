"""What a model says of itself: the same for the same fit, carried by its file, for every kind of model."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import pellucid
from pellucid import persistence
from pellucid._core.cards import ABOUT, FEW_ROWS, aucs, rows_seen
from pellucid.concepts.presence import bins_of
from support.commands import run
from support.oracles import planted_cones

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.safetensors"))


def test_every_kind_of_model_has_a_card():
    assert set(ABOUT) == set(persistence.MODELS)


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: file.stem)
def test_cards_of_files_of_earlier_versions_and_of_new_ones_are_the_same(file, tmp_path):
    model = pellucid.load(file)
    told = pellucid.card(model)
    assert told == persistence.read_card(file)
    pellucid.save(model, tmp_path / "m.safetensors")
    again = pellucid.load(tmp_path / "m.safetensors")
    assert told == pellucid.card(again) == persistence.read_card(tmp_path / "m.safetensors")
    for title in ("Data", "Preparation", "Limits"):
        assert f"# {title}\n" in told
    assert told.startswith("---\nlibrary_name: pellucid\n")


def test_a_card_says_what_fit_knew(tmp_path):
    X, Y, *_ = planted_cones(300, 24, noise=0.1)
    Y = Y.copy()
    Y[:, 3] = False
    Y[:7, 3] = True
    model = pellucid.ConceptSubspaces(3, random_state=0).fit(X, Y, ["a", "b|c", "<b>x</b>", "d"])
    told = pellucid.card(model)
    assert "| rows it was fitted on | 300 |" in told
    assert "| dimensions | 24 |" in told
    assert "b\\|c" in told
    assert "<b>" not in told
    assert f"fewer than {FEW_ROWS} rows each: d." in told
    assert rows_seen(model) == 300
    pellucid.save(model, tmp_path / "m.safetensors")
    assert run("info", tmp_path / "m.safetensors", "--card").stdout == told
    np.save(tmp_path / "x.npy", X)
    refused = run("info", tmp_path / "x.npy", "--card", code=2)
    assert "--card is for models" in refused.stderr


def test_aucs_of_binned_logits_are_those_of_the_logits_to_half_a_bin():
    rng = np.random.default_rng(0)
    y = rng.random(2000) < 0.3
    z = rng.standard_normal(2000) + 1.5 * y
    counts = np.zeros((1, 2, 256), dtype=np.int64)
    np.add.at(counts[0], (y.astype(int), bins_of(z)), 1)
    assert aucs(counts)[0] == pytest.approx(roc_auc_score(y, bins_of(z)), abs=1e-12)
    assert np.isnan(aucs(counts[:, :1].repeat(2, axis=1) * [[[0], [1]]]))[0]


def test_other_models_are_refused():
    from sklearn.linear_model import LinearRegression

    with pytest.raises(TypeError, match="Only Pellucid's own models have a card"):
        pellucid.card(LinearRegression())
