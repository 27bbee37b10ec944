"""What somebody understands at a glance: names on the map, an example, one box, parts that add up."""

import json
import re

import pytest

from support.page import painted, still, take

ITEM = "/item?id=scene-2261"


def written(page):
    """The names on the map: what they say, and their boxes."""
    return [
        (name, (x - w / 2, y - h / 2, x + w / 2, y + h / 2))
        for name, x, y, w, h in json.loads(page.locator("canvas.over").get_attribute("data-names") or "[]")
    ]


def apart(boxes):
    return all(
        a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1] for i, a in enumerate(boxes) for b in boxes[:i]
    )


def named(page):
    page.wait_for_function("() => JSON.parse(document.querySelector('canvas.over').dataset.names || '[]').length > 0")
    still(page)


def test_names_stand_at_dense_places_on_two_levels_and_leave_with_the_map(open_page, look):
    page = open_page("/map", theme="light")
    painted(page)
    named(page)
    far = written(page)
    assert 8 <= len(far) <= 20
    assert {name for name, _ in far} <= set(page.locator(".legend button").evaluate_all(
        "all => all.map((e) => e.childNodes[1].textContent.trim())"))  # fmt: skip
    assert apart([box for _, box in far])
    look(page, "map-1280-light")
    file, _ = take(page, "the map", "Download SVG")
    assert len(re.findall("<text", file.read_text(encoding="utf-8"))) == len(far)
    page.mouse.move(640, 420)
    page.mouse.wheel(0, -600)
    page.wait_for_function("() => new URLSearchParams(location.search).has('at')")
    still(page)
    near = written(page)
    assert len(near) > len(far)
    assert {name for name, _ in near} - {name for name, _ in far}
    assert apart([box for _, box in near])
    page.get_by_role("button", name="Names", exact=True).click()
    page.wait_for_url("**names=off**")
    page.wait_for_function("() => document.querySelector('canvas.over').dataset.names === '[]'")


@pytest.mark.parametrize(("width", "height", "least"), [(1280, 800, 360), (400, 800, 560)])
def test_one_click_leads_from_the_example_to_more_of_a_part(open_page, look, width, height, least):
    page = open_page("/map", width=width, height=height, theme="light")
    page.get_by_text("Items are made of parts.").wait_for()
    page.locator(".lead a").click()
    page.wait_for_url("**/item?id=*&concept=*")
    first = page.locator(".list.filtered li a").first
    first.wait_for()
    page.locator(".part small").first.wait_for()
    look(page, f"example-{width}-light")
    assert first.bounding_box()["y"] <= least


def test_what_is_not_found_by_a_part_fades(open_page):
    strong = """() => {
        const canvas = document.querySelector('canvas');
        const out = document.createElement('canvas');
        [out.width, out.height] = [canvas.width, canvas.height];
        out.getContext('2d').drawImage(canvas, 0, 0);
        const data = out.getContext('2d').getImageData(0, 0, out.width, out.height).data;
        let count = 0;
        for (let i = 0; i < data.length; i += 4)
            if (Math.max(...[0, 1, 2].map((k) => Math.abs(data[i + k] - [14, 17, 23][k]))) > 70) count++;
        return count;
    }"""
    page = open_page(ITEM)
    painted(page)
    page.locator(".list.whole li a").first.wait_for()
    still(page)
    before = page.evaluate(strong)
    page.goto(page.url + "&concept=plant")
    painted(page)
    page.locator(".list.filtered li a").first.wait_for()
    still(page)
    assert page.evaluate(strong) < 0.1 * before  # the hits alone


def test_parts_stand_on_one_scale_and_add_up(open_page):
    page = open_page(ITEM)
    page.locator(".part small").first.wait_for()
    page.get_by_text("not in any concept").wait_for()
    shares = [float(t.split()[0].replace("−", "-")) for t in
              page.locator(".part .share, .part .rest-share").all_inner_texts()]  # fmt: skip
    assert sum(shares) == pytest.approx(100, abs=len(shares))
    page.wait_for_timeout(500)
    bars = page.locator(".part .track").evaluate_all(
        "all => all.map((e) => e.firstElementChild.getBoundingClientRect().width / e.getBoundingClientRect().width)"
    )
    assert [100 * bar for bar in bars] == pytest.approx([max(share, 0) for share in shares], abs=2)
    assert all(abs(share) > 0 for share in shares[:-1])


def test_nothing_is_called_by_a_number(open_page):
    page = open_page("/map?colour=cluster")
    painted(page)
    page.wait_for_function("() => !/group \\d/.test(document.querySelector('.legend')?.textContent ?? 'group 1')")
    for view in ("/map?colour=cluster", "/map?colour=cluster:2", "/map?colour=bit:3", "/structure?show=binary"):
        page.goto(page.url.split("/map")[0].split("/structure")[0] + view)
        page.locator(".legend, .cards h2").first.wait_for()
        page.wait_for_function("() => !/(group|yes\\/no) \\d/.test(document.body.innerText)")
        said = page.locator("body").inner_text() + " ".join(page.locator("option").all_text_contents())
        assert re.findall(r"(?i)cluster \d+|binary concept \d+", said) == []


def test_one_box_offers_concepts_and_lights_what_is_found(open_page, look):
    page = open_page("/map")
    painted(page)
    page.keyboard.press("/")
    page.keyboard.type("animal")
    page.get_by_role("option", name="animal", exact=True).wait_for()
    assert page.get_by_role("option").first.inner_text().strip() == "animal"
    page.keyboard.press("Enter")
    page.wait_for_url("**colour=share%3Aanimal**")
    page.keyboard.press("/")
    page.keyboard.type("cactus")
    page.get_by_role("option").first.wait_for()
    page.get_by_text("light all on the map").wait_for()
    look(page, "find-1280-dark")
    total = int(re.sub(r"\D", "", page.locator(".group small").inner_text()))
    assert total > 12
    page.keyboard.press("Enter")
    page.wait_for_url("**colour=find%3Acactus**")
    page.locator(".legend small").first.wait_for()
    page.get_by_text("“cactus”").first.wait_for()
    assert int(re.sub(r"\D", "", page.locator(".legend small").first.inner_text())) == total


def test_pointing_at_an_item_says_its_parts(open_page):
    page = open_page("/map?colour=none")
    painted(page)
    row = page.evaluate(
        """async () => {
            const p = new Float32Array(await (await fetch('/api/map?layout=neighbours')).arrayBuffer());
            const box = document.querySelector('canvas.over').getBoundingClientRect();
            const scale = Math.min(box.width, box.height) * 0.46;
            for (let i = 0; i < 900; i++)
                if (Math.abs(p[2 * i]) < 0.5 && Math.abs(p[2 * i + 1]) < 0.4)
                    return [box.left + box.width / 2 + p[2 * i] * scale,
                            box.top + box.height / 2 - p[2 * i + 1] * scale];
        }"""
    )
    page.mouse.move(*row)
    page.locator(".tip .made").wait_for()
    assert re.search(r"\w+\s+\d+ %", page.locator(".tip .made").inner_text())
    page.mouse.click(*row)
    page.locator(".panel .part").first.wait_for()
    assert page.locator(".tip").count() == 0  # it would lie over what moved below it
