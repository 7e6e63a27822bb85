"""The notebooks run from their first cell to their last, and what is kept of them is small and plain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
MAX_BYTES = 300_000
MAX_SECONDS = 60
# A widget or a script is not shown by GitHub.
SHOWN = {"text/plain", "text/html", "image/png"}

each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def outputs(notebook: Any) -> list[Any]:
    return [output for cell in notebook.cells for output in cell.get("outputs", ())]


def test_the_four_notebooks_are_there() -> None:
    assert [path.stem for path in NOTEBOOKS] == [
        "01_wrap_a_loop",
        "02_where_do_the_tokens_go",
        "03_tune_limits",
        "04_is_trimming_worth_it",
    ]


@each
def test_a_notebook_runs_to_its_end_and_shows_the_same_kinds_of_things(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CTXKIT_RUNS", raising=False)
    kept = nbformat.read(path, as_version=4)
    run = nbformat.from_dict(kept)
    resources = {"metadata": {"path": str(path.parent)}}
    NotebookClient(run, timeout=MAX_SECONDS, kernel_name="python3", resources=resources).execute()
    assert kinds(run) == kinds(kept)


def kinds(notebook: Any) -> list[set[str]]:
    """What each cell shows, however a stream of text was cut into pieces."""
    return [
        {
            kind
            for output in cell.get("outputs", ())
            for kind in output.get("data", {output["output_type"]: 1})
        }
        for cell in notebook.cells
    ]


@each
def test_what_is_kept_of_a_notebook_is_small_and_can_be_shown_on_github(path: Path) -> None:
    assert path.stat().st_size < MAX_BYTES
    kept = outputs(nbformat.read(path, as_version=4))
    assert kept
    for output in kept:
        assert output["output_type"] != "error"
        assert output.get("name") != "stderr"
        assert output.get("data", {}).keys() <= SHOWN


@each
def test_a_notebook_begins_in_plain_words(path: Path) -> None:
    first = nbformat.read(path, as_version=4).cells[0]
    assert first.cell_type == "markdown"
    assert first.source.startswith("# ")


@each
def test_a_notebook_names_no_place_on_the_machine_that_ran_it(path: Path) -> None:
    text = path.read_text()
    assert str(ROOT) not in text
    assert str(Path.home()) + "/" not in text
    assert "127.0.0.1" not in text
