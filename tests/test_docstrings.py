"""Docstrings: the rules that ``make lint`` checks, and the examples, which run."""

import doctest
import inspect
from dataclasses import dataclass

import pytest

pytest.importorskip("numpydoc", reason="numpydoc is not installed")

from tools import docstrings

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def test_every_public_docstring_keeps_the_rules(capsys):
    assert docstrings.main([]) == 0, capsys.readouterr().out


@pytest.mark.parametrize("room", docstrings.ROOMS)
def test_examples_run(room, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner, said = doctest.DocTestRunner(optionflags=FLAGS), []
    for path, thing in docstrings.public([room]):
        example = doctest.DocTestParser().get_doctest(inspect.getdoc(thing) or "", {}, path, None, None)
        runner.run(example, out=said.append)
    assert runner.failures == 0, "".join(said)


@dataclass
class Unsaid:
    """A result with a field that is not described and a description without a field.

    Attributes
    ----------
    first : int
        The first.
    third : int
        There is none.
    """

    first: int
    second: int


class Whole:
    """A class with an example, one method that says all and one that does not.

    Examples
    --------
    >>> Whole().said(1)
    1
    """

    def said(self, x):
        """Give x back.

        Parameters
        ----------
        x : int
            Any number.

        Returns
        -------
        int
            The same.
        """
        return x

    def unsaid(self, x):
        """Give x back"""
        return x


def with_defaults(a=1, b=None, c=(1, 2, 3), y=None):
    """Say one default right, one wrong, one by name and one not at all.

    Parameters
    ----------
    a : int, default=2
        Wrong.
    b : int or None
        Not said.
    c : tuple, default=THREE
        Believed.
    y : Ignored
        Not used.

    Examples
    --------
    >>> with_defaults()
    """


class Model:
    """An estimator with a fitted attribute that is not described.

    Attributes
    ----------
    mean_ : float
        Described.
    """

    _fitted_arrays = ("mean_", "atoms_", "feature_names_in_")


def codes(thing, path="room.thing"):
    return {code for code, _ in docstrings.faults_of(thing, path, docstrings.chosen_rules())}


def test_faults_are_found():
    assert codes(Unsaid) == {"AT01", "AT02"}
    assert codes(Whole) == set()
    assert codes(Whole.said, "room.Whole.said") == set()
    assert codes(Whole.said) == {"EX01"}
    assert codes(Whole.unsaid, "room.Whole.unsaid") == {"SS03", "PR01", "RT01"}
    assert codes(codes) == {"GL08"}
    assert codes(Model) == {"AT03"}
    rules = docstrings.chosen_rules()
    assert [said for _, said in docstrings.faults_of(with_defaults, "room.with_defaults", rules)] == [
        'Parameter "a" has the default 1, not 2',
        'Parameter "b" does not say its default',
    ]


def test_what_is_public_comes_with_its_methods_and_without_those_of_scikit_learn():
    paths = [path for path, _ in docstrings.public(["preparation"])]
    assert "preparation.CenteredNormalizer.transform" in paths
    assert not [path for path in paths if "_request" in path or path.endswith("get_params")]
