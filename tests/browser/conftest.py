"""A browser, and an explorer on Scenes to look at with it."""

import os
import shutil
from pathlib import Path

import pytest

from support.page import ASKED
from support.waiting import PATIENCE

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ROOT = Path(__file__).parent.parent.parent
# milliseconds, far beyond what a busy machine takes; less than PATIENCE, for a page that shows nothing is no rare fault
WAIT = 1000 * PATIENCE / 5
# what the tests see is kept, to be looked at
PICTURES = Path(os.environ.get("PELLUCID_PICTURES", ROOT / "build" / "explorer"))


@pytest.fixture(scope="session")
def scenes_folder(tmp_path_factory):
    """The demo's collection and models."""
    import pellucid
    from pellucid import BinaryAutoencoder, CommonalityClustering, ConceptSubspaces
    from pellucid.datasets import load_scenes
    from pellucid.preparation import CenteredNormalizer
    from pellucid.search import Collection

    scenes = load_scenes()
    folder, train = tmp_path_factory.mktemp("scenes"), scenes.split.train
    X = CenteredNormalizer().fit(scenes.vectors[train]).transform(scenes.vectors)
    model = ConceptSubspaces(6, max_iter=5, center=False).fit(X[train], scenes.coarse[train], scenes.coarse_names)
    labels = [[name for name, on in zip(scenes.coarse_names, row) if on] for row in scenes.coarse]
    Collection.create(folder / "collection", X, [f"scene-{i}" for i in range(len(X))], text=scenes.texts, labels=labels)
    pellucid.save(model, folder / "model.safetensors")
    some = X[::3]
    pellucid.save(BinaryAutoencoder(rank=6, random_state=0).fit(some), folder / "binary.safetensors")
    clusters = CommonalityClustering(6, 4, 6, random_state=0, tol=1e-3).fit(some)
    pellucid.save(clusters, folder / "clusters.safetensors")
    return folder


@pytest.fixture(scope="session")
def explorer(scenes_folder):
    pytest.importorskip("fastapi", reason="the explore extra is not installed")
    from pellucid.explorer import serve

    models = [scenes_folder / f"{name}.safetensors" for name in ("model", "binary", "clusters")]
    server = serve(scenes_folder / "collection", models)
    server.start()
    assert server.app.state.pellucid.background.wait(PATIENCE)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def chromium():
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine: make browser brings one")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"], timeout=WAIT)
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium, explorer):
    """Opens an address of the explorer; afterwards nothing may have complained or asked another host."""
    complaints, contexts, expected = [], [], []

    def opened(path="/", width=1280, height=800, theme="dark", base=None, **options):
        context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme=theme, accept_downloads=True, **options
        )
        contexts.append(context)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        context.add_init_script(ASKED)
        page = context.new_page()
        page.set_default_timeout(WAIT)
        page.on("console", lambda m: complaints.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        home = (base or explorer.address).rstrip("/")
        page.on("request", lambda r: None if r.url.startswith((home, "data:", "blob:")) else complaints.append(r.url))
        page.goto(home + path)
        return page

    opened.expect = expected.append
    yield opened
    for context in contexts:
        context.close()
    assert [c for c in complaints if not any(part in c for part in expected)] == []


@pytest.fixture
def look(request):
    """Keeps a picture of the page."""

    def keep(page, name):
        PICTURES.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=PICTURES / f"{name}.png")

    return keep
