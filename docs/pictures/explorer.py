"""Pictures of the explorer on Scenes: `python docs/pictures/explorer.py` (needs Chromium and the dev extra)."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, sync_playwright

import pellucid
from pellucid import CommonalityClustering, ConceptSubspaces
from pellucid.datasets import load_scenes
from pellucid.search import Collection

HERE = Path(__file__).parent
VIEWS = {
    "explorer-map": ("light", "/map?colour=share:animal"),
    "explorer-concepts": ("light", "/concepts"),
    "explorer-structure": ("light", "/structure"),
    "explorer-clusters": ("dark", "/structure?show=clusters"),
}


@contextmanager
def scenes_explored() -> Iterator[tuple[Browser, str]]:
    """A browser, and the address of an explorer of Scenes that has finished its work."""
    scenes = load_scenes()
    train = scenes.split.train
    X = scenes.vectors
    model = ConceptSubspaces(6, random_state=0).fit(X[train], scenes.coarse[train], scenes.coarse_names)
    clusters = CommonalityClustering(12, 4, 8, center=True, tol=1e-3, random_state=0).fit(X)
    labels = [[name for name, on in zip(scenes.coarse_names, row) if on] for row in scenes.coarse]
    ids = [f"scene-{i}" for i in range(len(X))]
    with TemporaryDirectory() as place, sync_playwright() as driver:
        collection = Collection.create(Path(place) / "scenes", X, ids, text=scenes.texts, labels=labels)
        vocabulary = {"words": scenes.words, "word_vectors": scenes.word_vectors}
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        with pellucid.explore(collection, [model, clusters], open_browser=False, **vocabulary) as server:
            server.app.state.pellucid.background.wait()
            yield browser, server.address.rstrip("/")
        browser.close()


def explorer_pictures(folder: Path) -> None:
    with scenes_explored() as (browser, address):
        for name, (theme, path) in VIEWS.items():
            page = browser.new_page(viewport={"width": 1280, "height": 760}, color_scheme=theme)
            page.goto(address + path)
            page.locator("canvas[data-frames], .cards > li, .graph a").first.wait_for(state="attached")
            page.wait_for_timeout(3000)
            page.screenshot(path=folder / f"{name}.png")


if __name__ == "__main__":
    explorer_pictures(HERE)
