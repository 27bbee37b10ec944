"""The structure of a collection as somebody sees and uses it, in a real browser."""

import csv
import io
import re

import numpy as np
import pytest

from support.page import AXE, output_of, painted, points_drawn, python_of, take
from support.waiting import PATIENCE

IDS = [f"scene-{i}" for i in (2261, 12, 77, 301, 555, 801, 1200, 1500)]
ITEMS = "/structure?" + "&".join(f"item={i}" for i in IDS)


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """Pictures as vectors, with clusters of them."""
    pytest.importorskip("fastapi", reason="the explore extra is not installed")
    from sklearn.datasets import load_digits

    from pellucid import CommonalityClustering
    from pellucid.explorer import serve
    from pellucid.search import Collection

    X = load_digits().data[:600].astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    collection = Collection.create(tmp_path_factory.mktemp("digits") / "c", X, [f"digit-{i}" for i in range(len(X))])
    clusters = CommonalityClustering(10, 5, 6, random_state=0, tol=1e-3).fit(X)
    server = serve(collection, clusters, image_shape=(8, 8)).start()
    assert server.app.state.pellucid.background.wait(PATIENCE)
    yield server
    server.stop()


def test_the_concepts_as_an_analogram(open_page, look):
    page = open_page("/structure")
    page.get_by_role("group", name="Analogram of 12 concepts").wait_for()
    assert page.get_by_role("heading", level=1).inner_text() == "How 12 concepts differ"
    assert page.locator(".graph a").count() == 12
    look(page, "structure-1280-dark")
    first = page.get_by_role("region", name="Categories").locator("button").first
    first.hover()  # what it does not set apart grows faint
    assert 0 < page.locator(".graph a.dim").count() < 12
    page.get_by_role("link", name="animal", exact=True).click()
    page.wait_for_url("**/concepts?concept=animal")
    page.go_back()
    page.get_by_role("group", name="Analogram of 12 concepts").wait_for()


def test_items_are_added_and_left_out_and_have_an_address(open_page, look):
    page = open_page(ITEMS)
    page.get_by_role("group", name="Analogram of 8 items").wait_for()
    look(page, "structure-items-1280-dark")
    box = page.get_by_role("combobox", name="Add an item to the analogram")
    box.fill("scene-99")
    page.get_by_role("option").first.wait_for()
    page.keyboard.press("Enter")
    page.get_by_role("group", name="Analogram of 9 items").wait_for()
    assert "item=scene-99" in page.url
    page.get_by_role("list", name="Chosen items").get_by_role("button").first.click()
    page.get_by_role("group", name="Analogram of 8 items").wait_for()
    assert "item=scene-2261" not in page.url
    page.get_by_label("Categories").first.select_option("model")
    page.wait_for_url("**by=model**")
    page.get_by_role("group", name="Analogram of 8 items").wait_for()
    page.get_by_label("How much detail").select_option("15")
    page.wait_for_url("**nodes=15**")
    page.get_by_role("group", name="Analogram of 8 items").wait_for()
    assert page.locator(".graph circle").count() <= 15
    page.reload()
    page.get_by_role("group", name="Analogram of 8 items").wait_for()
    assert page.get_by_label("How much detail").input_value() == "15"
    page.get_by_role("link", name="of the concepts").click()
    page.get_by_role("group", name="Analogram of 12 concepts").wait_for()
    page.goto(page.url + "?item=scene-1")
    page.get_by_text("Add at least one more item").wait_for()
    page.goto(page.url.split("?")[0] + "?item=scene-1&item=nobody")
    page.get_by_text("There is no item 'nobody'").wait_for()
    open_page.expect("404")


def test_the_way_from_an_item_and_from_the_lasso(open_page):
    page = open_page("/item?id=scene-2261&concept=plant")
    page.get_by_role("link", name="how they differ", exact=True).click()
    page.get_by_role("group", name="Analogram of 12 items").wait_for()
    page.goto(page.url.split("/structure")[0] + "/map?lasso=-1~-1_1~-1_1~1_-1~1&layout=pca")
    page.get_by_role("link", name="draw their structure").click()
    page.get_by_role("group", name="Analogram of 24 items").wait_for()


def test_clusters_and_the_map_by_cluster(open_page, look):
    page = open_page("/structure?show=clusters")
    page.get_by_role("heading", name="6 clusters").wait_for()
    assert page.locator(".cards > li").count() == 6
    look(page, "clusters-1280-dark")
    page.get_by_role("button", name="its items and their parts of cluster 2").click()
    page.wait_for_url("**cluster=2**")
    page.locator("li.open .split").nth(7).wait_for()
    name = page.locator(".cards h2").nth(2).inner_text()
    page.get_by_role("link", name="on the map").nth(2).click()
    page.wait_for_url("**/map?colour=cluster%3A2")
    painted(page)
    assert page.locator(".tools select").input_value() == "cluster:2"
    page.locator(".legend").get_by_text(name).first.wait_for()
    page.locator(".tools select").select_option("cluster")
    page.wait_for_url("**colour=cluster")
    page.locator(".legend button").nth(5).wait_for()
    assert page.locator(".legend button").count() == 6
    assert points_drawn(page) > 10_000


def test_binary_concepts_and_the_map_by_one(open_page, look, explorer):
    page = open_page("/structure?show=binary")
    page.locator(".cards > li").first.wait_for()
    look(page, "binary-1280-dark")
    state = explorer.app.state.pellucid
    assert page.locator(".cards > li").count() == len(state.models.binary.weights_)
    page.get_by_role("link", name="on the map where").nth(1).wait_for()
    page.wait_for_function("() => !/yes\\/no \\d/.test(document.body.innerText)")
    link = page.locator("a[href$='colour=bit%3A1']")
    name = page.locator(".cards > li", has=link).get_by_role("heading").inner_text()
    link.click()
    page.wait_for_url("**/map?colour=bit%3A1")
    painted(page)
    count = int(state.structure.bits(1).sum())
    page.locator(".legend").get_by_text(name).first.wait_for()
    assert re.sub(r"\D", "", page.locator(".legend small").inner_text()) == str(count)


def test_pictures_are_shown_as_pictures(open_page, look, digits):
    page = open_page("/structure?show=clusters&cluster=1", base=digits.address)
    page.get_by_role("heading", name="10 clusters").wait_for()
    page.locator("li.open .split canvas").nth(23).wait_for()
    assert page.get_by_role("img", name=re.compile("^Common atom")).count() == 6
    assert page.get_by_role("img", name=re.compile("^Atom of cluster 1,")).count() == 5
    levels = page.evaluate(
        """() => {
            const canvas = document.querySelector('li.open .split canvas');
            const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
            return [canvas.width, canvas.height, new Set(pixels).size];
        }"""
    )
    assert levels[:2] == [8, 8]
    assert levels[2] > 5
    look(page, "digits-1280-dark")
    page.goto(digits.address + "structure")
    page.get_by_text("Nothing is chosen yet").wait_for()
    page.get_by_role("button", name="Show twelve items of all").click()
    page.get_by_role("group", name="Analogram of 12 items").wait_for()
    page.goto(digits.address + "structure?show=binary")
    page.get_by_text("No binary concepts yet").wait_for()
    page.goto(digits.address + "map")
    page.locator(".legend button").nth(9).wait_for()  # without concepts the clusters give the colours


@pytest.mark.parametrize(
    ("address", "what", "columns"),
    [
        (ITEMS, "the analogram", ["category", "weight", "sets apart"]),
        ("/structure?show=clusters", "the clusters", ["cluster", "items", "own", "common", "words"]),
        (
            "/structure?show=binary",
            "the binary concepts",
            ["concept", "weight", "items", "label", "correlation", "words"],
        ),
    ],
)
def test_structure_can_be_taken_away(open_page, address, what, columns, capsys, tmp_path, monkeypatch):
    page = open_page(address)
    page.get_by_role("button", name=f"Take away {what}", exact=True).wait_for()
    file, _ = take(page, what, "Download CSV")
    rows = list(csv.reader(io.StringIO(file.read_text(encoding="utf-8"))))
    assert rows[0] == columns
    file, _ = take(page, what, "Download SVG")
    import xml.etree.ElementTree as ET

    assert ET.fromstring(file.read_text(encoding="utf-8")).tag.endswith("svg")
    file, _ = take(page, what, "Download PNG")
    assert file.read_bytes().startswith(b"\x89PNG")
    monkeypatch.chdir(tmp_path)
    printed = output_of(python_of(page, what), capsys)
    if what == "the analogram":
        assert (tmp_path / "analogram.svg").is_file()
        nodes = page.locator(".graph circle").count()
        assert printed == f"{nodes} nodes, {len(rows) - 1} concepts\n"
    else:
        assert len(printed.splitlines()) == len(rows) - 1


def test_copied_python_of_the_map_and_of_an_item(open_page, capsys):
    page = open_page("/map?colour=cluster")
    painted(page)
    assert len(output_of(python_of(page, "the map"), capsys).splitlines()) == 6
    page = open_page("/map?colour=bit:0")
    painted(page)
    assert "items have it" in output_of(python_of(page, "the map"), capsys)
    page = open_page("/structure?show=clusters&cluster=0")
    some = page.wait_for_selector("li.open .split")  # the same one throughout: those before it may come later
    own = re.search(r"own (\d+) %", some.inner_text())[1]
    what = some.query_selector("button").get_attribute("aria-label").removeprefix("Take away ")
    printed = output_of(python_of(page, what), capsys)
    assert round(float(printed.split("%")[0])) == pytest.approx(int(own), abs=1)


@pytest.mark.parametrize("view", [ITEMS, "/structure?show=clusters&cluster=0", "/structure?show=binary"])
def test_structure_at_400_pixels(open_page, look, view):
    page = open_page(view, width=400, height=800, has_touch=True)
    page.locator(".graph a, .cards > li").first.wait_for()
    name = re.search(r"show=(\w+)", view + "show=analogram")[1]
    look(page, f"structure-{name}-400-dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    if view == ITEMS:
        assert page.locator(".graph .key li").count() == 8


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("view", [ITEMS, "/structure", "/structure?show=clusters&cluster=0", "/structure?show=binary"])
def test_axe_finds_no_serious_fault_in_structure(open_page, look, view, theme):
    if not AXE.is_file():
        pytest.skip("axe-core is not there: npm ci in web/ brings it")
    page = open_page(view, theme=theme)
    page.locator(".graph a, .cards > li").first.wait_for()
    if theme == "light":
        name = "items" if view == ITEMS else re.sub(r"\W+", "-", view.split("=")[-1].strip("/"))
        look(page, f"structure-{name}-1280-light")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("async () => (await axe.run()).violations")
    serious = [v for v in found if v["impact"] in ("serious", "critical")]
    assert [(v["id"], [n["html"][:120] for n in v["nodes"][:3]]) for v in serious] == []
