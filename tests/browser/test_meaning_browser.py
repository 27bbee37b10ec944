"""A text searched for by what it means, where the explorer has an encoder."""

import json

import numpy as np
import pytest

from support.page import AXE, painted, python_of
from support.waiting import PATIENCE


@pytest.fixture(scope="module")
def by_words(scenes_folder):
    """An explorer whose encoder takes the mean of the vectors of the words it knows."""
    from pellucid.datasets import load_scenes
    from pellucid.explorer import serve
    from pellucid.search import TextEncoder

    scenes = load_scenes()
    known = dict(zip(scenes.words, scenes.word_vectors))

    def embed(texts):
        some = [[known[word] for word in text.lower().split() if word in known] for text in texts]
        return np.array([np.mean(vectors, axis=0) if vectors else scenes.vectors.mean(axis=0) for vectors in some])

    server = serve(
        scenes_folder / "collection",
        scenes_folder / "model.safetensors",
        encoder=TextEncoder(embed, texts=scenes.texts[:64]),
    )
    server.start()
    assert server.app.state.pellucid.background.wait(PATIENCE)
    yield server
    server.stop()


def test_a_text_is_searched_for_by_meaning_and_then_through_a_concept(open_page, by_words, look):
    page = open_page("/map", base=by_words.address, theme="light")
    painted(page)
    asked = []
    page.on("request", lambda r: asked.append(json.loads(r.post_data)) if r.url.endswith("/api/search") else None)
    box = page.get_by_role("combobox", name="Find a concept")
    box.fill("sheep beside a truck")  # nobody wrote that: the meaning is all there is
    meaning = page.get_by_role("option", name="Search by meaning: sheep beside a truck")
    meaning.wait_for()
    look(page, "meaning-offered-1280-light")
    assert meaning.get_attribute("aria-selected") == "true"
    box.press("Enter")
    page.wait_for_url("**/item?text=sheep+beside+a+truck*")
    page.locator(".list.whole li a").first.wait_for()
    assert asked[-1]["text"] == "sheep beside a truck"
    assert "x" not in asked[-1]
    whole = page.locator(".list.whole .text").all_inner_texts()
    page.get_by_role("button", name="animal", exact=True).click()
    page.wait_for_url("**concept=animal**")
    page.locator(".list.filtered li a").first.wait_for()
    assert asked[-1] == {**asked[-1], "text": "sheep beside a truck", "concept": ["animal"]}
    assert page.locator(".list.filtered .text").all_inner_texts() != whole
    page.get_by_role("button", name="Why is").first.click()
    page.locator(".why .sum").wait_for()
    look(page, "meaning-1280-light")
    assert 'Text("sheep beside a truck")' in python_of(page, "the list By animal")
    if not AXE.is_file():
        pytest.skip("the packages of the page are not there: make web brings axe-core")
    page.evaluate(AXE.read_text(encoding="utf-8"))  # in the page's own world, past its policy on scripts
    found = page.evaluate("async () => (await axe.run()).violations.filter((v) => /serious|critical/.test(v.impact))")
    assert [v["id"] for v in found] == []


def test_texts_that_items_have_come_before_their_meaning(open_page, by_words):
    page = open_page("/map", base=by_words.address, width=400)
    box = page.get_by_role("combobox", name="Find a concept")
    box.fill("cactus")
    page.locator("[role=option]").nth(1).wait_for()
    options = page.locator("[role=option]").all_inner_texts()
    assert "Search by meaning: cactus" in options[-1]
    box.press("ArrowUp")
    for _ in options:
        box.press("ArrowDown")
    assert page.locator("[aria-selected=true]").inner_text() == "Search by meaning: cactus"
    box.press("Enter")
    page.locator(".list.whole li a").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") == 400


def test_without_an_encoder_meaning_is_not_offered_and_a_link_says_why(open_page):
    page = open_page("/item?text=a+dog")
    page.get_by_text("start it with --encoder").wait_for()
    box = page.get_by_role("combobox", name="Find a concept")
    box.fill("zzzz")
    page.get_by_text("Nothing has “zzzz”").wait_for()
    assert page.get_by_text("Search by meaning:").count() == 0
