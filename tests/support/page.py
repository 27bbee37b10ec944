"""What tests do with the explorer's page in a browser."""

from pathlib import Path

AXE = Path(__file__).parent.parent.parent / "web" / "node_modules" / "axe-core" / "axe.min.js"


def painted(page):
    """Waits until the map shows points in their final places."""
    page.wait_for_selector("canvas[data-frames]", state="attached")
    page.wait_for_function("() => document.querySelector('.switch [aria-pressed=true]')?.textContent === 'Neighbours'")
    still(page)


# how many answers a page waits for, and parts of answers: what it will draw is not all there before
ASKED = """(() => {
    window.asked = 0;
    const counted = (real) => function (...given) {
        window.asked += 1;
        return real.apply(this, given).finally(() => (window.asked -= 1));
    };
    window.fetch = counted(window.fetch);
    for (const name of ["json", "text", "blob", "arrayBuffer"])
        Response.prototype[name] = counted(Response.prototype[name]);
})()"""


def still(page):
    """Waits until nothing is asked for and nothing drawn any more: a map that moves is drawn in every frame."""
    page.wait_for_function(
        """() => new Promise((done) => {
            let before, quiet = 0;
            const look = () => {
                const now = document.querySelector('canvas[data-frames]')?.dataset.frames;
                quiet = window.asked === 0 && now !== undefined && now === before ? quiet + 1 : 0;
                before = now;
                if (quiet === 5) done(true);
                else requestAnimationFrame(look);
            };
            requestAnimationFrame(look);
        })"""
    )


def points_drawn(page):
    """How many pixels of the map are not background."""
    return page.evaluate(
        """() => {
            const canvas = document.querySelector('canvas');
            const out = document.createElement('canvas');
            [out.width, out.height] = [canvas.width, canvas.height];
            out.getContext('2d').drawImage(canvas, 0, 0);
            const pixels = new Uint32Array(out.getContext('2d').getImageData(0, 0, out.width, out.height).data.buffer);
            return pixels.reduce((count, pixel) => count + (pixel !== pixels[0]), 0);
        }"""
    )


def take(page, what, action):
    page.get_by_role("button", name=f"Take away {what}", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name=action).click()
    return Path(download.value.path()), download.value.suggested_filename


def python_of(page, what):
    page.get_by_role("button", name=f"Take away {what}", exact=True).click()
    page.get_by_role("menuitem", name="Copy as Python").click()
    page.get_by_text("Copied").wait_for()
    return page.evaluate("navigator.clipboard.readText()")


def output_of(code, capsys):
    exec(compile(code, "copied", "exec"), {})
    return capsys.readouterr().out
