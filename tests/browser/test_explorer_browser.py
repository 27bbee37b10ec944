"""The explorer as somebody sees and uses it, in a real browser."""

import csv
import io
import re

import pytest

import pellucid
from support.page import AXE, output_of, painted, points_drawn, python_of, still, take

ITEM = "/item?id=scene-2261"


def point_of(page, row):
    """Where on the screen the item of a row is drawn."""
    return page.evaluate(
        """async (row) => {
            const places = new Float32Array(await (await fetch('/api/map?layout=neighbours')).arrayBuffer());
            const box = document.querySelector('canvas.over').getBoundingClientRect();
            const scale = Math.min(box.width, box.height) * 0.46;
            const [x, y] = [places[2 * row] * scale, places[2 * row + 1] * scale];
            return [box.left + box.width / 2 + x, box.top + box.height / 2 - y];
        }""",
        row,
    )


def lonely(page):
    """A row with nothing near it on the screen, away from the controls."""
    return page.evaluate(
        """async () => {
            const p = new Float32Array(await (await fetch('/api/map?layout=neighbours')).arrayBuffer());
            let best = 0, found = 0;
            for (let i = 0; i < 600; i++) {
                if (Math.abs(p[2 * i]) > 0.6 || Math.abs(p[2 * i + 1]) > 0.55) continue;
                let near = 9;
                for (let j = 0; j < p.length / 2; j++)
                    if (j !== i) near = Math.min(near, Math.hypot(p[2 * i] - p[2 * j], p[2 * i + 1] - p[2 * j + 1]));
                if (near > best) [best, found] = [near, i];
            }
            return found;
        }"""
    )


def test_the_demo_from_the_map_to_filtered_neighbours(open_page, look):
    page = open_page("/")
    painted(page)
    assert page.locator("canvas").first.get_attribute("data-painter") == "pixels"
    assert page.locator(".legend button").count() == 12
    look(page, "map-1280-dark")
    row = lonely(page)
    x, y = point_of(page, row)
    page.mouse.move(x, y)
    tip = page.locator(".tip")
    tip.wait_for()
    text = tip.locator("span").inner_text()
    look(page, "hover-1280-dark")
    page.mouse.click(x, y)
    page.wait_for_url(f"**/item?id=scene-{row}")
    assert page.get_by_role("heading", level=1).inner_text() == text
    first = page.locator(".part").first
    first.wait_for()
    concept = first.locator(".name").inner_text()
    whole = page.get_by_role("region", name="As a whole")
    whole.locator("li a").first.wait_for()
    first.click()
    page.wait_for_url(f"**/item?id=scene-{row}&concept={concept}")
    filtered = page.get_by_role("region", name=f"By {concept}")
    filtered.locator("li a").first.wait_for()
    assert filtered.locator("ol > li").count() == whole.locator("ol > li").count() == 20
    filtered.get_by_role("button", name=re.compile("^Why is")).first.click()
    page.locator(".why .head b").wait_for()
    terms = [float(t.replace("−", "-")) for t in page.locator(".why .term").all_inner_texts()]
    assert terms == sorted(terms, key=abs, reverse=True)
    still(page)
    assert points_drawn(page) > 10_000
    look(page, "item-1280-dark")
    page.get_by_label("diverse").check()
    page.wait_for_url("**diverse=1**")
    page.get_by_role("button", name="Without", exact=False).nth(1).click()
    page.wait_for_url("**without=**")
    address = page.url
    neighbour = (
        filtered.or_(page.get_by_role("region", name=re.compile(f"^By {concept} without"))).locator("li a").first
    )
    neighbour.click()
    page.wait_for_function("(old) => location.href !== old", arg=address)
    assert f"concept={concept}" in page.url  # one goes on looking for the same part
    for _ in range(3):
        page.go_back()
    page.wait_for_url(f"**/item?id=scene-{row}&concept={concept}")
    page.go_back()
    page.wait_for_url(f"**/item?id=scene-{row}")
    assert page.locator(".lists.two").count() == 0
    page.go_back()
    page.locator(".panel").wait_for(state="detached")


def test_an_address_shows_what_it_showed_before(open_page):
    page = open_page(f"{ITEM}&concept=plant&concept=electronics&without=person&k=10&colour=share:plant&layout=pca")
    page.get_by_role("region", name="By plant + electronics without person").locator("li a").first.wait_for()
    assert page.locator(".list.filtered ol > li").count() == 10
    page.locator(".part").first.wait_for()
    assert page.locator(".part[aria-pressed=true]").count() == 2
    assert page.locator(".tools select").input_value() == "share:plant"
    assert page.get_by_role("button", name="PCA").get_attribute("aria-pressed") == "true"
    assert page.get_by_text("% or more").count() == 1


def test_filtered_neighbours_are_those_of_python(open_page, explorer):
    from pellucid.search import ConceptSearch

    state = explorer.app.state.pellucid
    wanted = ConceptSearch(state.collection, state.model).search("scene-2261", "plant", k=20)
    page = open_page(f"{ITEM}&concept=plant")
    shown = page.get_by_role("region", name="By plant")
    shown.locator("li a").first.wait_for()
    assert shown.locator("li .text").all_inner_texts() == [hit.item["text"] for hit in wanted]
    assert shown.locator("li .score").all_inner_texts() == [f"{hit.score:.2f}" for hit in wanted]


def test_the_lasso_chooses_and_has_an_address(open_page, look):
    page = open_page("/map")
    painted(page)
    page.get_by_role("button", name="Lasso").click()
    corners = [(480, 300), (760, 300), (760, 560), (480, 560), (480, 310)]
    page.mouse.move(*corners[0])
    page.mouse.down()
    for corner in corners[1:]:
        page.mouse.move(*corner, steps=8)
    page.mouse.up()
    page.wait_for_url("**lasso=**")
    heading = page.get_by_role("heading", level=1)
    page.get_by_text("Made of, on average").wait_for()
    count = heading.inner_text()
    assert 50 < int(re.sub(r"\D", "", count)) < 3000
    still(page)
    assert points_drawn(page) > 5_000
    look(page, "lasso-1280-dark")
    file, _ = take(page, "the chosen items", "Download CSV")
    rows = list(csv.reader(io.StringIO(file.read_text(encoding="utf-8"))))
    assert len(rows) - 1 == min(1000, int(re.sub(r"\D", "", count)))
    page.reload()
    page.get_by_text("Made of, on average").wait_for()
    assert heading.inner_text() == count
    page.locator("canvas.over").focus()
    page.keyboard.press("Escape")
    page.locator(".panel").wait_for(state="detached")
    page.goto(page.url.split("?")[0] + "?lasso=3~3_4~3_4~4")
    page.get_by_text("There is nothing inside").wait_for()


def test_finding_by_keyboard_alone(open_page):
    page = open_page("/map")
    painted(page)
    page.keyboard.press("/")
    page.keyboard.type("barrel cact")
    page.get_by_role("option").first.wait_for()
    assert all("barrel cact" in text.lower() for text in page.get_by_role("option").locator("span").all_inner_texts())
    page.keyboard.press("ArrowDown")
    wanted = page.locator("[role=option][aria-selected=true] span").inner_text()
    page.keyboard.press("Enter")
    page.wait_for_url("**/item?id=**")
    assert page.get_by_role("heading", level=1).inner_text() == wanted
    # from part to part with Tab, chosen with Enter
    page.locator(".part").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**concept=**")
    page.keyboard.press("/")
    page.keyboard.type("no such thing in here")
    page.get_by_text("Nothing has “no such thing in here”").wait_for()
    page.keyboard.press("Escape")


def test_the_map_by_keyboard_alone(open_page):
    page = open_page("/map")
    painted(page)
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.classList.contains('over')"):
            break
    else:
        pytest.fail("Tab never reaches the map")
    for key in ("ArrowLeft", "ArrowUp", "+", "+"):
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    page.wait_for_url("**/item?id=**")
    page.locator("canvas.over").focus()
    page.keyboard.press("Escape")
    page.wait_for_url("**/map")


def test_concepts_and_their_names(open_page, look, scenes_folder):
    page = open_page("/concepts")
    page.locator(".cards > li").first.wait_for()
    assert page.locator(".cards > li").count() == 12
    page.locator("table td").first.wait_for()
    look(page, "concepts-1280-dark")
    page.locator("table").scroll_into_view_if_needed()
    look(page, "together-1280-dark")
    page.get_by_role("button", name="Rename animal").click()
    page.keyboard.type("beast & <b>co</b>")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="beast & <b>co</b>").wait_for()
    names = list(pellucid.load(scenes_folder / "model.safetensors").concept_names_)
    assert "beast & <b>co</b>" in names
    assert "animal" not in names
    page.get_by_role("button", name="Rename beast & <b>co</b>").click()
    page.keyboard.type("plant")  # taken
    page.keyboard.press("Enter")
    open_page.expect("409")  # the browser notes the refusal itself
    page.get_by_text("There is already a concept").wait_for()
    page.get_by_role("button", name="Rename beast & <b>co</b>").click()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Rename beast & <b>co</b>").click()
    page.keyboard.type("animal")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="animal", exact=True).wait_for()
    page.get_by_role("button", name="more items of animal").click()
    page.wait_for_url("**/concepts?concept=animal")
    assert page.locator(".cards > li.open ol li").count() == 12
    page.get_by_role("link", name="on the map").nth(1).click()
    page.wait_for_url("**/map?colour=share%3Aanimal")


@pytest.mark.parametrize(
    ("what", "columns"),
    [
        ("the parts", ["concept", "share"]),
        ("the list As a whole", ["rank", "score", "id", "text"]),
        ("the list By plant", ["rank", "score", "id", "text"]),
    ],
)
def test_results_can_be_taken_away(open_page, what, columns):
    page = open_page(f"{ITEM}&concept=plant")
    page.get_by_role("region", name="By plant").locator("li a").first.wait_for()
    page.get_by_role("region", name="As a whole").locator("li a").first.wait_for()
    file, name = take(page, what, "Download CSV")
    assert name.endswith(".csv")
    rows = list(csv.reader(io.StringIO(file.read_text(encoding="utf-8"))))
    assert rows[0][: len(columns)] == columns
    assert len(rows) in (13, 21)
    file, _ = take(page, what, "Download SVG")
    import xml.etree.ElementTree as ET

    assert ET.fromstring(file.read_text(encoding="utf-8")).tag.endswith("svg")
    file, _ = take(page, what, "Download PNG")
    assert file.read_bytes().startswith(b"\x89PNG")
    assert file.stat().st_size > 5_000


def test_the_map_can_be_taken_away(open_page):
    page = open_page("/map")
    painted(page)
    file, _ = take(page, "the map", "Download PNG")
    assert file.read_bytes().startswith(b"\x89PNG")
    file, _ = take(page, "the map", "Download SVG")
    assert file.read_text(encoding="utf-8").count("<circle") > 2_500
    file, _ = take(page, "the map", "Download CSV")
    rows = list(csv.reader(io.StringIO(file.read_text(encoding="utf-8"))))
    assert rows[0] == ["id", "x", "y"]
    assert rows[3000][0] == "scene-2999"


def test_copied_python_gives_what_the_page_shows(open_page, capsys):
    page = open_page(f"{ITEM}&concept=plant&diverse=1")
    shown = page.get_by_role("region", name="By plant")
    shown.locator("li a").first.wait_for()
    texts = shown.locator("li .text").all_inner_texts()
    printed = output_of(python_of(page, "the list By plant"), capsys)
    assert all(text in line for text, line in zip(texts, printed.splitlines()))
    assert len(printed.splitlines()) == 20
    shares = page.locator(".part .share").all_inner_texts()
    names = page.locator(".part .name").all_inner_texts()
    printed = output_of(python_of(page, "the parts"), capsys)
    told = {line.split()[1]: float(line.split()[0].strip("%")) for line in printed.splitlines()}
    for name, share in zip(names, shares):
        assert told[name] == pytest.approx(float(share.split()[0].replace("−", "-")), abs=0.6)
    output_of(python_of(page, "this item"), capsys)
    shown.get_by_role("button", name=re.compile("^Why is")).first.click()
    score = page.locator(".why .head b").inner_text().replace("−", "-")
    assert f"score {score}" in output_of(python_of(page, "this explanation"), capsys)
    page.goto(page.url.split("/item")[0] + "/concepts")
    page.locator("table td").first.wait_for()
    for what in ("the concepts", "the top items of music", "the table of co-occurrence"):
        assert len(output_of(python_of(page, what), capsys).splitlines()) == 12, what


@pytest.mark.parametrize(
    "view", ["/map", f"{ITEM}&concept=plant", "/concepts", "/map?lasso=-1~-1_1~-1_1~1_-1~1&layout=neighbours"]
)
def test_at_400_pixels_everything_fits(open_page, look, view):
    page = open_page(view, width=400, height=800, has_touch=True)
    if "concepts" in view:
        page.locator("table td").first.wait_for()
    else:
        painted(page)
        assert points_drawn(page) > 3_000
    name = {"/m": "map", "/i": "item", "/c": "concepts"}[view[:2]] + ("-lasso" if "lasso" in view else "")
    look(page, f"{name}-400-dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    small = page.evaluate(
        """() => [...document.querySelectorAll('button, a, select, input:not([type=checkbox])')].filter((e) => {
            const box = e.getBoundingClientRect();
            return box.width > 0 && box.height > 0 && (box.width < 20 || box.height < 16);
        }).map((e) => e.outerHTML.slice(0, 80))"""
    )
    assert small == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("view", ["map", "item", "concepts", "nothing"])
def test_axe_finds_no_serious_fault(open_page, look, view, theme):
    if not AXE.is_file():
        pytest.skip("axe-core is not there: npm ci in web/ brings it")
    address = {"map": "/map", "item": f"{ITEM}&concept=plant", "concepts": "/concepts", "nothing": "/item?id=nope"}[
        view
    ]
    page = open_page(address, theme=theme)
    if view == "concepts":
        page.locator("table td").first.wait_for()
    else:
        painted(page)
        assert points_drawn(page) > 10_000
    if view == "item":
        page.get_by_role("button", name=re.compile("^Why is")).first.click()
        page.locator(".why .term").first.wait_for()
    if theme == "light":
        look(page, f"{view}-1280-light")
    page.evaluate(AXE.read_text(encoding="utf-8"))  # in the page's own world, past its policy on scripts
    found = page.evaluate("async () => (await axe.run()).violations")
    serious = [v for v in found if v["impact"] in ("serious", "critical")]
    assert [(v["id"], [n["html"][:120] for n in v["nodes"][:3]]) for v in serious] == []
    if view == "nothing":
        open_page.expect("404")


def test_without_a_model_the_page_says_what_to_do(open_page, scenes_folder):
    from pellucid.explorer import serve

    with serve(scenes_folder / "collection").start() as server:
        page = open_page("/concepts", base=server.address)
        page.get_by_text("No concepts yet").wait_for()
        page.get_by_role("link", name="Map", exact=True).click()
        page.goto(server.address.rstrip("/") + ITEM)
        page.get_by_text("Start the explorer with").wait_for()
        page.get_by_role("region", name="As a whole").locator("li a").first.wait_for()
        assert page.locator("ol > li").count() == 20


def test_a_token_is_asked_for_and_then_forgotten_in_the_address(open_page, scenes_folder):
    from pellucid.explorer import serve

    token = "a token of my own"
    with serve(scenes_folder / "collection", token=token).start() as server:
        page = open_page("/?token=a%20token%20of%20my%20own", base=server.address)
        page.wait_for_url(server.address)
        page.locator("canvas[data-frames]").wait_for(state="attached")


def test_when_the_service_ends_the_page_says_so(open_page, scenes_folder):
    from pellucid.explorer import serve

    with serve(scenes_folder / "collection").start() as server:
        page = open_page(ITEM, base=server.address)
        page.get_by_role("region", name="As a whole").locator("li a").first.wait_for()
    page.locator("li a").first.click()
    page.get_by_text("The explorer does not answer").first.wait_for()
    open_page.expect("ERR_CONNECTION_REFUSED")


def test_both_painters_draw_the_same_map(open_page):
    """The one for a GPU runs on software here; it must only agree."""

    def picture(painter):
        page = open_page(f"/map?painter={painter}&colour=share:animal")
        painted(page)
        assert page.locator("canvas").first.get_attribute("data-painter") == painter
        return page.evaluate(
            """() => {
                const out = document.createElement('canvas');
                [out.width, out.height] = [64, 40];
                out.getContext('2d').drawImage(document.querySelector('canvas'), 0, 0, 64, 40);
                return [...out.getContext('2d').getImageData(0, 0, 64, 40).data];
            }"""
        )

    pixels, gpu = picture("pixels"), picture("gpu")
    assert max(pixels) > 100
    assert sum(abs(a - b) for a, b in zip(pixels, gpu)) / len(pixels) < 4
    open_page.expect("GPU stall")
