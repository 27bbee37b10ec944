"""Search by part as a short film: `python docs/pictures/loop.py` (needs Chromium and the dev extra)."""

import io
from pathlib import Path

from explorer import HERE, scenes_explored
from PIL import Image
from playwright.sync_api import Locator, Page

ROW, PART = 2261, "plant"
SHOWN = (960, 570)
STEPS = 9  # pictures of the pointer on its way
STEP = 60  # milliseconds that each of these is seen
# the pointer is not in a browser's pictures of itself
POINTER = """() => {
    const mark = document.createElement("div");
    mark.innerHTML = '<svg width="26" height="26" viewBox="0 0 16 16" style="fill: #fff; stroke: #000">' +
        '<path d="M1 1v12l3-3 2 5 2-1-2-5h4z"/></svg>';
    mark.style.cssText = "position:fixed;z-index:99;left:0;top:0;pointer-events:none";
    document.body.append(mark);
    addEventListener("pointermove", (e) => (mark.style.translate = `${e.clientX}px ${e.clientY}px`), true);
}"""
PLACE = """async (row) => {
    const places = new Float32Array(await (await fetch("/api/map?layout=neighbours")).arrayBuffer());
    const box = document.querySelector("canvas.over").getBoundingClientRect();
    const scale = Math.min(box.width, box.height) * 0.46;
    return [box.left + box.width / 2 + places[2 * row] * scale, box.top + box.height / 2 - places[2 * row + 1] * scale];
}"""


class Film:
    """Pictures of a page, each with how long it is seen."""

    def __init__(self, page: Page) -> None:
        self.page, self.at = page, (760.0, 700.0)
        self.pictures: list[Image.Image] = []
        self.times: list[int] = []

    def keep(self, milliseconds: int) -> None:
        picture = Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")
        self.pictures.append(picture.resize(SHOWN, Image.Resampling.LANCZOS))
        self.times.append(milliseconds)

    def move(self, x: float, y: float) -> None:
        (left, top), self.at = self.at, (x, y)
        for i in range(1, STEPS + 1):
            share = i / STEPS
            eased = share * share * (3 - 2 * share)
            self.page.mouse.move(left + (x - left) * eased, top + (y - top) * eased)
            self.keep(STEP)

    def move_to(self, target: Locator) -> None:
        box = target.bounding_box()
        assert box is not None
        self.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

    def click(self) -> None:
        self.page.mouse.click(*self.at)

    def save(self, file: Path) -> None:
        self.pictures[0].save(
            file, save_all=True, append_images=self.pictures[1:], duration=self.times, loop=0, quality=72, method=5
        )


def search_by_part(file: Path) -> None:
    with scenes_explored() as (browser, address):
        page = browser.new_page(viewport={"width": 1280, "height": 760}, color_scheme="light")
        page.goto(address + "/map")
        page.locator(".lead").wait_for()
        page.wait_for_timeout(2500)
        page.evaluate(POINTER)
        film = Film(page)
        page.mouse.move(*film.at)
        film.keep(1500)
        film.move(*page.evaluate(PLACE, ROW))
        page.locator(".tip .made").wait_for()
        page.wait_for_timeout(300)
        film.keep(2200)
        film.click()
        page.locator(".list.whole li a").first.wait_for()
        page.locator(".part small").first.wait_for()
        page.wait_for_timeout(800)
        film.keep(2000)
        part = page.locator(".part", has_text=PART)
        film.move_to(part)
        film.keep(700)
        film.click()
        page.locator(".list.filtered li a").first.wait_for()
        page.wait_for_timeout(800)
        film.keep(3000)
        film.move_to(page.locator(".list.filtered li button").first)
        film.click()
        page.locator(".why .term").first.wait_for()
        page.wait_for_timeout(400)
        film.keep(3000)
        film.save(file)


if __name__ == "__main__":
    search_by_part(HERE / "explorer-loop.webp")
