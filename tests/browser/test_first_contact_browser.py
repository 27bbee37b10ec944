"""What somebody meets first, and what goes wrong: before there is data, without the service, at odd addresses."""

import json
import re

import pytest

from support.page import painted, still

GROUND = {"light": [250, 250, 248], "dark": [14, 17, 23]}


# to another view without loading the page again
GO = "(to) => { history.pushState(null, '', to); dispatchEvent(new Event('popstate')); }"


def colours_of(page):
    """All different colours on the map's canvas."""
    return page.evaluate(
        """() => {
            const canvas = document.querySelector('canvas');
            const out = document.createElement('canvas');
            [out.width, out.height] = [canvas.width, canvas.height];
            out.getContext('2d').drawImage(canvas, 0, 0);
            const data = out.getContext('2d').getImageData(0, 0, out.width, out.height).data;
            const seen = new Set();
            for (let i = 0; i < data.length; i += 4) seen.add(data.slice(i, i + 4).join());
            return [...seen].slice(0, 9).map((c) => c.split(',').map(Number));
        }"""
    )


def seen_small(page):
    return page.evaluate(
        """() => {
            const out = document.createElement('canvas');
            [out.width, out.height] = [64, 40];
            out.getContext('2d').drawImage(document.querySelector('canvas'), 0, 0, 64, 40);
            return [...out.getContext('2d').getImageData(0, 0, 64, 40).data];
        }"""
    )


def answer(page, address, change):
    """The page gets another answer at that address."""

    def reply(route):
        found = route.fetch()
        route.fulfill(response=found, json=change(found.json()))

    page.route(address, reply)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("painter", ["pixels", "gpu"])
def test_before_any_data_every_pixel_is_ground(open_page, theme, painter):
    if painter == "gpu":
        open_page.expect("GPU stall")
    page = open_page("/concepts", theme=theme)
    page.route("**/api/map*", lambda route: None)  # never answered
    page.evaluate(GO, f"/map?painter={painter}")
    page.locator("canvas.over").wait_for()
    page.wait_for_function("() => document.querySelector('canvas').width > 600")
    assert [colour[:3] for colour in colours_of(page)] == [GROUND[theme]]


@pytest.mark.parametrize("share", [0.0, 0.37, 0.9])
def test_a_bar_is_as_long_as_it_says(open_page, share):
    def change(status):
        return {**status, "progress": {**status["progress"], "neighbours": share}}

    page = open_page("/concepts")
    answer(page, "**/api/status", change)
    page.evaluate(GO, "/map")
    page.get_by_text(f"Finding neighbourhoods … {100 * share:.1f} %").wait_for()
    page.wait_for_timeout(500)  # until it has glided there
    inner, outer = (page.locator(f".note {part}").evaluate("e => e.getBoundingClientRect().width")
                    for part in (".bar i", ".bar"))  # fmt: skip
    page.unroute_all(behavior="ignoreErrors")
    assert inner / outer == pytest.approx(share, abs=0.02)


def test_the_camera_is_in_the_address_and_there_is_a_way_back(open_page):
    page = open_page("/map")
    painted(page)
    page.mouse.move(900, 700)
    for _ in range(12):
        page.mouse.wheel(0, -500)
    page.get_by_text("There is no item here").wait_for()  # beside the cloud, and near
    page.wait_for_function("() => new URLSearchParams(location.search).has('at')")
    page.get_by_role("button", name="Show the whole map").last.click()
    page.get_by_text("There is no item here").wait_for(state="detached")
    page.wait_for_function("() => !new URLSearchParams(location.search).has('at')")
    page.mouse.move(500, 400)
    page.mouse.wheel(0, -700)
    page.wait_for_function("() => new URLSearchParams(location.search).has('at')")
    still(page)
    address, before = page.url, seen_small(page)
    page.reload()
    painted(page)
    assert page.url == address
    assert sum(abs(a - b) for a, b in zip(seen_small(page), before)) / len(before) < 1


def test_nobody_can_leave_the_map(open_page):
    page = open_page("/map")
    painted(page)
    page.mouse.move(640, 400)
    for _ in range(4):
        page.mouse.down()
        page.mouse.move(10, 200, steps=3)
        page.mouse.up()
        page.mouse.move(640, 400)
    page.wait_for_function("() => new URLSearchParams(location.search).has('at')")
    x = float(re.search(r"at=([-\d.]+)", page.url).group(1))
    assert x == pytest.approx(1.05, abs=0.01)


@pytest.mark.parametrize("address", ["/nowhere", "/map/of/all", "/itm?id=scene-1"])
def test_a_wrong_address_is_a_page_that_leads_back(open_page, address):
    open_page.expect("404")
    page = open_page(address)
    page.get_by_role("heading", name="There is no such page").wait_for()
    page.get_by_role("link", name="To the map", exact=True).click()
    page.wait_for_url("**/map")
    painted(page)


@pytest.mark.parametrize(
    "colour", ["rainbow", "share:nobody", "has:labels:nothing", "cluster:99", "bit:99", "label:no"]
)
def test_a_wrong_colour_is_said_and_the_usual_one_shown(open_page, colour):
    page = open_page(f"/map?colour={colour}")
    page.get_by_text(f"There is no colour “{colour}” here").wait_for()
    page.wait_for_url("**/map")
    assert page.locator(".tools select").input_value() == "strongest"


def test_a_service_that_ends_is_said_until_it_is_back(open_page, scenes_folder):
    from pellucid.explorer import serve

    open_page.expect("ERR_CONNECTION_REFUSED")
    open_page.expect("ERR_CONNECTION_RESET")
    with serve(scenes_folder / "collection").start() as server:
        page = open_page("/map", base=server.address)
        page.locator("canvas[data-frames]").wait_for(state="attached")
        assert page.get_by_text("The explorer does not answer").count() == 0
        port = server.port
    page.get_by_text("The explorer does not answer").wait_for()
    page.wait_for_timeout(4000)
    assert page.get_by_text("The explorer does not answer").is_visible()  # it lasts
    with serve(scenes_folder / "collection", port=port).start():
        page.get_by_text("The explorer does not answer").wait_for(state="detached")


@pytest.mark.parametrize("view", ["/structure?show=clusters", "/structure?show=binary", "/concepts", "/structure"])
def test_cards_stand_under_their_header(open_page, look, view):
    page = open_page(view, width=1920, height=1080)
    page.locator(".graph, .cards").first.wait_for()
    left = [page.locator(part).first.bounding_box()["x"] for part in (".top h1", ".cards, .both")]
    assert left[0] == pytest.approx(left[1], abs=1)
    look(page, f"{re.sub(r'[^a-z]+', '-', view).strip('-')}-1920-dark")


VIEWS = ["/map", "/item?id=scene-2261&concept=plant&without=person", "/concepts?concept=animal",
         "/structure", "/structure?show=clusters", "/structure?show=binary",
         "/map?lasso=-1~-1_1~-1_1~1_-1~1&layout=neighbours"]  # fmt: skip


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_hangs_over_the_edge_of_a_phone(open_page, look, view):
    page = open_page(view, width=360, height=740, has_touch=True)
    page.locator(".panel h1, .cards > li, .graph, .legend button").locator("visible=true").first.wait_for()
    page.wait_for_function("() => window.asked === 0")
    look(page, f"phone-{re.sub(r'[^a-z]+', '-', view).strip('-')[:40]}-360-dark")
    over = page.evaluate(
        """(width) => {
            return [...document.querySelectorAll('main *, header *')].filter((e) => {
                const box = e.getBoundingClientRect();
                if (e.closest('.sr') || e.closest('svg') && e.tagName !== 'svg') return false;
                if (!box.width || !box.height) return false;
                return (box.right > width + 1 || box.left < -1) && !e.closest('.scroll');
            }).map((e) => `${e.tagName}.${e.className} ${Math.round(e.getBoundingClientRect().right)}`).slice(0, 5);
        }""",
        360,
    )
    assert over == []
    wide = page.evaluate(
        """() => [...document.querySelectorAll('.panel, .concepts, .structure')]
            .filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => `${e.className} ${e.scrollWidth}`)"""
    )
    assert wide == []


def test_an_opened_card_leaves_its_neighbours_as_they_were(open_page):
    page = open_page("/concepts")
    page.locator(".cards > li ol").first.wait_for()
    heights = (
        "() => [...document.querySelectorAll('.cards > li')].map((e) => Math.round(e.getBoundingClientRect().height))"
    )
    before = page.evaluate(heights)
    page.get_by_role("button", name="more items of").nth(1).click()
    page.wait_for_url("**concept=**")
    after = page.evaluate(heights)
    assert after[1] > before[1]
    assert after[:1] + after[2:] == before[:1] + before[2:]


def test_a_renamed_concept_keeps_its_count_and_its_colour(open_page, scenes_folder):
    page = open_page("/concepts")
    card = page.locator(".cards > li", has=page.get_by_role("heading", name="animal", exact=True))
    card.wait_for()
    labelled = card.get_by_text("labelled").inner_text()
    try:
        page.get_by_role("button", name="Rename animal").click()
        page.keyboard.type("creature")
        page.keyboard.press("Enter")
        card = page.locator(".cards > li", has=page.get_by_role("heading", name="creature", exact=True))
        card.wait_for()
        page.get_by_text("Renamed").wait_for()
        assert card.get_by_text("labelled").inner_text() == labelled
        colour = card.locator(".dot").evaluate("e => getComputedStyle(e).backgroundColor")
        card.locator("ol a").first.click()
        chip = page.locator(".chips .chip", has_text=re.compile(r"^\s*animal\s*$"))
        assert chip.locator(".dot").evaluate("e => getComputedStyle(e).backgroundColor") == colour
        # what another explorer makes of the model's file
        from pellucid.explorer import serve

        state = serve(scenes_folder / "collection", scenes_folder / "model.safetensors").app.state.pellucid
        assert "creature" in state.concept_names
        assert state.label_names[state.concept_names.index("creature")] == "animal"
    finally:
        page.goto(page.url.split("/item")[0].split("/concepts")[0] + "/concepts")
        page.get_by_role("button", name="Rename creature").click()
        page.keyboard.type("animal")
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="animal", exact=True).wait_for()


def test_each_choice_of_colour_says_what_it_is(open_page):
    page = open_page("/map")
    page.locator(".tools select").wait_for()
    said = page.locator(".tools select option").all_inner_texts()
    assert len(said) == len(set(said))
    assert {"Concept: animal", "Label: animal"} <= set(said)
    assert "animal" not in said


def test_python_of_the_map_lays_it_out_alike(open_page, capsys):
    import numpy as np

    from support.page import output_of, python_of

    page = open_page("/map?colour=none")
    painted(page)
    for layout, title in (("neighbours", "Neighbours"), ("pca", "PCA")):
        page.get_by_role("button", name=title, exact=True).click()
        printed = output_of(python_of(page, "the map"), capsys)
        shown = page.evaluate(
            "async (l) => [...new Float32Array(await (await fetch(`/api/map?layout=${l}`)).arrayBuffer())]", layout
        )
        told = np.array([[float(n) for n in line.split()[:2]] for line in printed.splitlines()])
        np.testing.assert_allclose(told, np.reshape(shown, (-1, 2)), atol=1e-3)


def test_stability_moves_on_and_can_be_stopped(open_page):
    page = open_page("/concepts")
    page.get_by_role("button", name="Check stability").click()
    page.get_by_role("button", name="Stop").wait_for()
    seen = page.wait_for_function(
        """() => {
            const text = [...document.querySelectorAll('[role=status]')].map((e) => e.textContent).join();
            const share = parseFloat(text.match(/Refitting … ([\\d.]+)/)?.[1] ?? 0);
            return share > 1 && share < 99 ? share : null;
        }"""
    ).json_value()
    assert 1 < seen < 99
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="Check stability").wait_for()
    status = json.loads(page.evaluate("async () => await (await fetch('/api/status')).text()"))
    assert "stability" not in status["progress"]
    assert "stability" not in status["failed"]
