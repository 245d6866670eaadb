"""In a browser: the page opens whatever the run has, in both themes, at every width, for all."""

import shutil

import pytest
from browser import faults
from pages import written

from headway.training import Run

WIDTHS = (1280, 390)


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ("without circuit", "The circuit has not been looked for yet."),
        ("without dates", "The circuit’s paths have not been dated yet."),
        ("without paths", "The circuit has no path."),
        ("without checkpoints", "The run has no checkpoint yet, so there is no attention to show."),
        ("without evaluations", "There is no evaluation yet, so there is no curve to draw."),
        ("with one checkpoint", "The circuit has not been looked for yet."),
        ("failed", "Training failed: the loss is nan"),
        ("half done", "Training has not ended; the validation loss so far is"),
    ],
)
def test_the_page_of_a_run_that_lacks_something_says_so(
    visit, finished, unfinished, tmp_path, state, says
):
    circuit = state in ("without dates", "without paths")
    source = finished if circuit else unfinished
    run = Run.open(shutil.copytree(source.folder, tmp_path / "run"))
    steps = run.checkpoint_steps()
    match state:
        case "without dates":
            run.remove("emergence.json")
        case "without paths":
            found = run.read("circuit.json")
            found["heads"] = dict.fromkeys(found["heads"], "uniform")
            found["evidence"]["necessity"] = []
            run.write("circuit.json", found)
            run.remove("emergence.json")
        case "without checkpoints":
            shutil.rmtree(run.folder / "checkpoints")
        case "without evaluations":
            run.remove("metrics.jsonl")
            run.remove("outcome.json")
        case "with one checkpoint":
            for step in steps[1:]:
                run.drop_checkpoint(step)
        case "failed":
            run.write("outcome.json", {"status": "failed", "message": "the loss is nan", "step": 6})
        case "half done":
            run.remove("outcome.json")
    seen = visit(written(run, tmp_path))
    assert says.replace("’", "'") in seen.words("body").replace("’", "'")
    followed = len(run.checkpoint_steps())
    assert seen.page.locator("#time").is_visible() == (followed > 1)
    assert bool(seen.page.locator("#maps canvas").count()) == (followed > 0)
    assert bool(seen.page.locator(".arrow").count()) == (state == "without dates")
    assert bool(seen.page.locator(".map.idle").count()) == (state == "without paths")
    use_everything(seen)


def use_everything(seen):
    """Presses every key and button that there is."""
    for key in ("ArrowLeft", "ArrowRight", "Space", "Space", "Escape"):
        seen.page.keyboard.press(key)
    seen.page.evaluate(
        """() => {
          for (const it of all('button:enabled, .switch, .arrow, #maps canvas')) {
            it.dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}));
          }
        }"""
    )
    for plot in seen.page.locator(".plot").all():
        plot.click()
    seen.settle()


def test_other_tasks_and_models_open_too(visit, other, tmp_path):
    page = written(other, tmp_path)
    seen = visit(page)
    config = other.config
    heads = config.model.n_layers * config.model.n_heads
    titles = seen.page.locator(".map h3").all_text_contents()
    assert len(titles) == heads
    each = config.model.n_heads
    assert all(f"L{i // each}.H{i % each} " in title for i, title in enumerate(titles))
    conditional = "Looking up what needs two facts at once"
    assert (seen.words("h1") == conditional) == (not hasattr(config.task, "depth"))
    assert ("no mask" in seen.words(".setting")) == (not config.model.causal)
    use_everything(seen)
    steps = other.checkpoint_steps()
    for index in (0, len(steps) - 1):
        assert seen.go_to(index)["step"] == f"step {steps[index]}"


def colours(seen):
    """The page's background, and the colours of the first map."""
    seen.settle()
    return seen.page.evaluate(
        """() => {
          const canvas = document.querySelector('#maps canvas');
          const {width, height} = canvas, copy = made('canvas', {width, height}).getContext('2d');
          copy.drawImage(canvas, 0, 0);
          const {data} = copy.getImageData(0, 0, width, height);
          return [getComputedStyle(document.body).backgroundColor,
            [...new Set(new Uint32Array(data.buffer))]];
        }"""
    )


def test_the_theme_is_the_readers_until_they_choose(visit, learnt):
    seen = visit(learnt, color_scheme="light")
    light = colours(seen)
    seen.page.locator("#theme").click()
    dark = colours(seen)
    assert dark[0] != light[0]
    assert not set(dark[1]) & set(light[1])
    seen.page.locator("#theme").click()
    assert colours(seen) == light
    night = visit(learnt, color_scheme="dark")
    assert colours(night) == dark
    night.page.locator("#theme").click()
    assert colours(night) == light
    other = visit(learnt, color_scheme="light")
    other.page.emulate_media(color_scheme="dark")  # while the page is open
    assert colours(other) == dark


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_wider_than_the_window_and_all_controls_can_be_reached(visit, learnt, width):
    seen = visit(learnt, viewport={"width": width, "height": 844})
    seen.page.evaluate("all('details').forEach((it) => { it.open = true; })")
    seen.page.get_by_role("button", name="one sequence").click()
    for enlarge in (None, *seen.page.locator(".enlarge").all()):
        if enlarge is not None:
            enlarge.click()
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    hidden = seen.page.evaluate(
        """() => all('button, input, a').filter((it) => it.checkVisibility()).filter((it) => {
          it.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
          const {left, top, width, height} = it.getBoundingClientRect();
          const found = document.elementFromPoint(left + width / 2, top + height / 2);
          return !(it === found || it.contains(found));
        }).map((it) => it.outerHTML.slice(0, 120))"""
    )
    assert hidden == []
    seen.page.evaluate("scrollTo({top: 1e9, behavior: 'instant'})")
    bar, end = (seen.page.locator(name).bounding_box() for name in ("#time", "footer"))
    assert end["y"] + end["height"] <= bar["y"]  # the bar hides nothing at the end


def test_on_paper_there_are_no_controls(visit, learnt):
    seen = visit(learnt, color_scheme="dark")
    shown = colours(seen)[0]
    seen.page.emulate_media(media="print")
    for kind in ("#time", "#theme", "nav", ".keep", ".enlarge", ".whole"):
        assert seen.page.locator(kind).count()
        assert not any(it.is_visible() for it in seen.page.locator(kind).all())
    for name in ("circuit", "births", "attention", "evidence", "minimum", "reproduce"):
        assert seen.page.locator(f"section#{name}").is_visible()
    assert seen.page.locator(".arrow").first.is_visible()
    assert colours(seen)[0] != shown  # dark ink on light paper


@pytest.mark.parametrize(
    ("scheme", "widths"),
    [
        ("light", (390, 1920)),
        ("dark", (1280,)),
        pytest.param("light", (1280,), marks=pytest.mark.slow),
        pytest.param("dark", (390, 1920), marks=pytest.mark.slow),
    ],
)
def test_the_page_is_accessible(visit, learnt, scheme, widths):
    seen = visit(learnt, color_scheme=scheme)
    seen.page.evaluate("all('details').forEach((it) => { it.open = true; })")
    for group in ("evidence", "way"):
        seen.page.get_by_role("button", name=group).click()
    seen.page.locator(".switch").first.click()  # what it costs, and a ghost
    seen.page.get_by_role("button", name="one sequence").click()
    for width in widths:
        seen.look(width, scheme)
        assert not faults(seen), width
