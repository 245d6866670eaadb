"""In a browser: the attention maps read what the checkpoints hold."""

import pytest
import torch
from browser import spoken

from headway.circuits.roles import places, position_labels
from headway.models import attention_patterns
from headway.training.data import held_out

HUNDREDTHS = 0.005 + 1e-6
"""How far a value in hundredths may be from the exact one."""


def reading(words):
    """What a readout says: head, row, column, weight."""
    head, _, rest = words.partition(": ")
    rows, _, weight = rest.partition("; ")[0].rpartition(" with ")
    row, _, column = rows.partition(" attends to ")
    return head, row, column, float(weight)


def attended(run, step):
    """Attention of every head on held-out sequences, computed afresh."""
    batch = held_out(run.task, 16, run.config.seed, run.device, "emergence")
    return attention_patterns(run.model(step), batch.inputs), batch


def between_roles(patterns, batch, task, layer, head, query, key):
    """The mean of one cell, added up one by one."""
    at = {name: batch.roles[:, task.roles.index(name)] for name in (query, key)}
    total = [
        patterns[b, layer, head, at[query][b, chain], at[key][b, chain]].item()
        for b in range(len(patterns))
        for chain in range(at[query].shape[1])
    ]
    return sum(total) / len(total)


def index_of(page, index):
    steps = page.run.checkpoint_steps()
    return steps[index], index % len(steps)


@pytest.mark.parametrize(("page", "index"), [("learnt", -1), ("learnt", 3), ("two_hops", 1)])
def test_every_cell_between_roles_reads_the_mean_attention(visit, request, page, index):
    page = request.getfixturevalue(page)
    seen, task = visit(page), page.run.task
    step, index = index_of(page, index)
    seen.go_to(index)
    patterns, batch = attended(page.run, step)
    names = [(p.role, f"{p.role} ({spoken(p.symbol)})") for p in places(task)]
    for layer in range(page.run.config.model.n_layers):
        read = seen.sweep(layer)
        for i, (query, row) in enumerate(names):
            rest = 1.0
            for j, (key, column) in enumerate(names):
                exact = between_roles(patterns, batch, task, layer, 0, query, key)
                head, at, to, weight = reading(read[i, j])
                assert (head, at, to) == (f"L{layer}.H0", row, column)
                assert weight == pytest.approx(exact, abs=HUNDREDTHS)
                rest -= exact
            _, _, to, weight = reading(read[i, len(names)])
            assert to == "anything else"
            assert weight == pytest.approx(rest, abs=HUNDREDTHS * (1 + len(names)))


@pytest.mark.parametrize("order", ["position", "role"])
def test_every_cell_of_one_sequence_reads_its_attention(visit, learnt, order):
    seen, run = visit(learnt), learnt.run
    step, index = index_of(learnt, 3)
    seen.go_to(index)
    seen.page.get_by_role("button", name="one sequence").click()
    seen.page.get_by_role("button", name=order, exact=True).click()
    seen.wait_until("maps.onExample")
    patterns, batch = attended(run, step)
    rows = names_of_positions(run.task, batch)
    if order == "role":
        rows = sorted(rows, key=lambda row: row[2])
    for layer in range(run.config.model.n_layers):
        read = seen.sweep(layer, edge=2)
        for i, (query, row, _) in enumerate(rows):
            for j, (key, column, _) in enumerate(rows):
                head, at, to, weight = reading(read[i, j])
                assert (head, at, to) == (f"L{layer}.H0", row, column)
                exact = patterns[0, layer, 0, query, key].item()
                assert weight == pytest.approx(exact, abs=HUNDREDTHS)


def names_of_positions(task, batch):
    """Of every position of the first sequence: number, name, and where it is sorted by role."""
    owner = {
        batch.roles[0, task.roles.index(place.role), chain].item(): (number, chain, place)
        for number, place in enumerate(places(task))
        for chain in range(batch.roles.shape[2])
    }
    return [
        (
            at,
            f"{label}, position {at}: {owner[at][2].role} ({spoken(owner[at][2].symbol)}) of chain"
            f" {owner[at][1] + 1}",
            owner[at][:2],
        )
        for at, label in enumerate(position_labels(task, batch))
    ]


def test_strong_attention_that_is_no_path_says_what_it_costs(visit, learnt):
    seen = visit(learnt)
    roles = seen.page.evaluate("headway.page.data.roles")
    strays = seen.page.evaluate("headway.page.data.strays")
    assert strays
    for stray in strays:
        assert f"costs {stray['cost']}" in seen.point_at(
            stray["head"], stray["query"], stray["attended"]
        )
        place = f"L{stray['head']}.H0 {roles[stray['query']]}←{roles[stray['attended']]}"
        assert place in seen.words("#attention > .under")
    assert seen.page.locator(".stray").count() == len(strays)
    assert "costs" not in seen.point_at(*frame_of_first(seen))


def frame_of_first(seen):
    path = seen.page.evaluate("headway.page.data.paths[0]")
    return path["head"], path["query"], path["attended"]


def test_what_is_read_follows_time_while_the_pointer_rests(visit, learnt):
    seen, run = visit(learnt), learnt.run
    names = [place.role for place in places(run.task)]
    row, column = names.index("s0"), names.index("s2")
    seen.point_at(1, row, column)
    for index in (2, 0, 25):
        seen.page.evaluate("(index) => headway.goTo(index)", index)
        seen.settle()
        patterns, batch = attended(run, run.checkpoint_steps()[index])
        exact = between_roles(patterns, batch, run.task, 1, 0, "s0", "s2")
        assert reading(seen.words("#readout"))[3] == pytest.approx(exact, abs=HUNDREDTHS)


def test_a_cell_pointed_at_too_soon_is_read_when_the_attention_is_unpacked(visit, learnt):
    seen = visit(learnt)
    seen.page.evaluate(
        """() => {
          document.querySelector('[data-value="example"]').click();
          const canvas = document.querySelector('#maps canvas');
          const {left, top, width, height} = canvas.getBoundingClientRect();
          const middle = {clientX: left + width / 2, clientY: top + height / 2};
          canvas.dispatchEvent(new PointerEvent('pointermove', {...middle, bubbles: true}));
        }"""
    )
    seen.page.locator("#readout", has_text=" attends to ").wait_for()


def test_the_pixels_are_as_dark_as_the_attention(visit, learnt):
    seen, run = visit(learnt), learnt.run
    patterns, _ = attended(run, run.checkpoint_steps()[-1])
    seen.page.get_by_role("button", name="one sequence").click()
    seen.wait_until("maps.onExample")
    seen.settle()
    for layer in range(run.config.model.n_layers):
        inks = torch.tensor(seen.page.evaluate(INKS, layer))[2:, 2:]
        exact = (patterns[0, layer, 0] * 100).round()
        order = exact.flatten().argsort()
        darker = -inks.flatten()[order]  # on light paper
        assert (darker.diff()[exact.flatten()[order].diff() > 1] > 0).all()
    box = seen.page.locator("#maps canvas").first.bounding_box()
    assert box["width"] == pytest.approx(box["height"], rel=0.02)


INKS = """(number) => {
  const canvas = document.querySelectorAll('#maps canvas')[number];
  const {data, width} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const rows = [];
  for (let i = 0; i < data.length; i += 4) {
    if (i % (4 * width) === 0) rows.push([]);
    rows.at(-1).push(data[i] + data[i + 1] + data[i + 2]);
  }
  return rows;
}"""


def test_frames_stand_on_the_cells_of_their_paths(visit, learnt):
    seen = visit(learnt)
    assert frames(seen) == [(0, "0.0.s2←s1", 1), (1, "1.0.s0←s2", 1)]
    seen.page.get_by_role("button", name="one sequence").click()
    seen.wait_until("maps.onExample")
    chains = learnt.run.config.task.n_chains
    for order in ("role", "position"):
        seen.page.get_by_role("button", name=order, exact=True).click()
        assert frames(seen) == [(0, "0.0.s2←s1", chains), (1, "1.0.s0←s2", chains)]


def frames(seen):
    """Map, path and number of the frames; each cell under a frame names both of its roles."""
    found = []
    boxes = """(svgs) => svgs.map((svg) => [...svg.querySelectorAll('.frame')].map((frame) =>
      [frame.dataset.path, +frame.getAttribute('y'), +frame.getAttribute('x')]))"""
    for number, inside in enumerate(seen.page.locator("#maps .cells svg").evaluate_all(boxes)):
        for path, row, column in inside:
            query, key = path.split(".")[2].split("←")
            _, at, to, _ = reading(seen.point_at(number, row, column))
            assert f"{query} (" in at
            assert f"{key} (" in to
            assert at.partition("of chain")[2] == to.partition("of chain")[2]
        found += [(number, path, len(inside)) for path in {each[0] for each in inside}]
    return found


def test_choices_say_what_is_chosen_and_sorting_is_for_one_sequence(visit, learnt):
    seen = visit(learnt)
    button = {
        name: seen.page.get_by_role("button", name=name, exact=True)
        for name in ("mean", "one sequence", "position", "role")
    }

    def pressed():
        return {name for name, it in button.items() if it.get_attribute("aria-pressed") == "true"}

    assert pressed() == {"mean", "position"}
    assert button["role"].is_disabled()
    button["one sequence"].click()
    button["role"].click()
    assert pressed() == {"one sequence", "role"}
    button["mean"].click()
    assert pressed() == {"mean", "role"}
    assert button["position"].is_disabled()


def test_a_map_can_be_enlarged_and_then_names_its_positions(visit, learnt):
    seen = visit(learnt)
    seen.page.get_by_role("button", name="one sequence").click()
    box = seen.page.locator(".map").nth(1)
    enlarge = box.get_by_role("button", name="L1.H0: larger or smaller")
    before = box.bounding_box()["width"]
    batch = held_out(learnt.run.task, 16, learnt.run.config.seed, "cpu", "emergence")
    labels = position_labels(learnt.run.task, batch)
    assert box.locator(".side span").all_text_contents() == labels  # there is room for them
    enlarge.click()
    assert enlarge.get_attribute("aria-pressed") == "true"
    assert box.bounding_box()["width"] > 1.5 * before
    assert box.locator(".side span").all_text_contents() == labels
    assert box.locator(".top span").all_text_contents() == labels
    for kind, (start, size) in {"side": ("top", "height"), "top": ("left", "width")}.items():
        labels, canvas = box.evaluate(PLACES, [kind, start, size])
        for i, middle in enumerate(labels):
            cell = canvas[size] / (2 + len(labels))
            assert middle == pytest.approx(canvas[start] + cell * (i + 2.5), abs=2)
    enlarge.click()
    assert box.bounding_box()["width"] == pytest.approx(before, abs=1)


PLACES = """(map, [kind, start, size]) => {
  const box = (it) => it.getBoundingClientRect();
  const middles = [...map.querySelectorAll(`.${kind} span`)].map(box)
    .map((it) => it[start] + it[size] / 2);
  return [middles, box(map.querySelector('canvas')).toJSON()];
}"""
