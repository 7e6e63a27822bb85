"""`condense_diff`: what changed where, before what stands around it."""

from __future__ import annotations

import re

import pytest

from ctxkit.condense.base import Budget
from ctxkit.condense.diff import condense_diff
from ctxkit.tokens import counter_for

COUNTER = counter_for(None)


def of_file(path: str, *, hunks: int = 3, changes: int = 6, git: bool = True) -> str:
    """The diff of one file, with as many lines of context as a large diff has."""
    head = f"diff --git a/{path} b/{path}\nindex c685263c..aac8c3e8 100644\n" if git else ""
    return f"{head}--- a/{path}\n+++ b/{path}\n" + "".join(
        f"@@ -{hunk}00,9 +{hunk}00,9 @@ def part_{hunk}():\n"
        + "".join(f"     context {hunk} {number} stays the same\n" for number in range(20))
        + "".join(
            f"-    old {path} {hunk} {number}\n+    new {path} {hunk} {number}\n" for number in range(changes)
        )
        + "".join(f"     context {hunk} {number} stays below\n" for number in range(20))
        for hunk in range(hunks)
    )


def shown(text: str, max_tokens: int = 1_000, *terms: str) -> list[str]:
    """The lines of the condensed text."""
    made = condense_diff(text, Budget(max_tokens, COUNTER, frozenset(terms)))
    assert COUNTER.count(made.text) <= max_tokens
    return made.text.split("\n")


@pytest.mark.parametrize("git", [True, False])
def test_every_file_and_every_hunk_stays_named(git: bool) -> None:
    files = [f"src/part_{number}/main.py" for number in range(6)]
    made = shown("".join(of_file(path, git=git) for path in files))
    assert sum(line.startswith("@@ ") for line in made) == 18
    for path in files:
        assert any(path in line for line in made if line.startswith(("diff", "+++")))


def test_changes_come_before_what_stands_around_them() -> None:
    made = shown(of_file("a.py", hunks=6), 1_200)
    assert sum(line.startswith(("-", "+")) for line in made) == 6 * 12
    assert sum(line.startswith("     context") for line in made) < 6 * 20


def test_changes_of_all_hunks_are_shown_evenly() -> None:
    made = shown(of_file("a.py", hunks=5, changes=200))
    of_hunk = [sum(f"new a.py {hunk} " in line for line in made) for hunk in range(5)]
    assert min(of_hunk) > 3 and max(of_hunk) - min(of_hunk) <= 2


@pytest.mark.parametrize(
    "path", ["web/package-lock.json", "uv.lock", "dist/app.min.js", "go.sum", "vendor/x.go"]
)
def test_what_tools_write_goes_first_and_stays_named(path: str) -> None:
    made = shown(
        of_file("src/main.py", hunks=2) + of_file(path, changes=100) + of_file("src/other.py", hunks=2), 1_500
    )
    assert f"diff --git a/{path} b/{path}" in made
    assert sum("new src/" in line for line in made) == 24
    assert not any(f"new {path}" in line for line in made)


def test_data_of_a_binary_file_goes_and_its_name_stays() -> None:
    binary = "diff --git a/x.png b/x.png\nnew file mode 100644\nGIT binary patch\nliteral 9000\n"
    binary += "".join(
        f"zcmb7QcOcd8_kVuA{number:06}Bea5lRwS$yF4LPDuEe%Ns?JvQn*sVj;Tq_P\n" for number in range(400)
    )
    made = shown(binary + of_file("a.py", hunks=2), 700)
    assert {"diff --git a/x.png b/x.png", "new file mode 100644"} <= set(made)
    assert sum("new a.py" in line for line in made) == 12


def test_names_that_are_said_twice_go_without_loss() -> None:
    text = of_file("src/main.py").rstrip()
    renamed = "diff --git a/x.py b/y.py\nsimilarity index 97%\n--- a/x.py\n+++ b/y.py\n@@ -1 +1 @@\n-a\n+b"
    other = "diff --git a/z b/z\n--- old/z\n+++ new/z\n@@ -1 +1 @@\n-a\n+b"
    whole = f"{text}\n{renamed}\n{other}"
    made = condense_diff(whole, Budget(COUNTER.count(whole) - 15, COUNTER))
    assert made.lossless
    assert "--- a/" not in made.text and "--- old/z\n+++ new/z" in made.text
    assert (
        re.sub(r"(diff --git (a/\S+) (b/\S+)\n(?:[is].*\n)?)(?=@@)", r"\1--- \2\n+++ \3\n", made.text)
        == whole
    )


def test_a_removed_line_that_looks_like_a_name_is_a_change() -> None:
    around = "".join(f" context {number} stays the same\n" for number in range(200))
    text = f"--- a/x.sql\n+++ b/x.sql\n@@ -1,3 +1,3 @@\n{around}--- drop it\n++++ keep it\n{around}"
    made = shown(text, 300)
    assert "--- drop it" in made and "++++ keep it" in made


def test_commits_and_their_messages_are_shown() -> None:
    commits = [
        f"commit {number:040x}\nAuthor: Ann <ann@example.com>\nDate:   Mon\n\n    Change part {number}\n\n"
        + of_file(f"part_{number}.py", hunks=1)
        for number in range(8)
    ]
    made = shown("".join(commits), 1_500)
    for number in range(8):
        assert f"commit {number:040x}" in made and f"    Change part {number}" in made


def test_what_the_question_asks_about_is_shown_with_its_surroundings() -> None:
    text = of_file("a.py", hunks=9, changes=100).replace("context 7 3 stays the same", "context find_me")
    made = shown(text, 1_000, "find_me")
    place = made.index("     context find_me")
    assert made[place + 1] == "     context 7 4 stays the same"


def test_the_note_says_what_was_left_out_of_all_files() -> None:
    assert "lines and ids of blobs (about" in shown(of_file("a.py", hunks=9))[-1]
    assert "ids of blobs" not in shown(of_file("a.py", hunks=9, git=False))[-1]


def test_what_is_defined_in_a_change_comes_before_other_changes() -> None:
    text = of_file("a.py", hunks=1, changes=900).replace("+    new a.py 0 500", "+    def find_me(self):")
    assert "+    def find_me(self):" in shown(text, 500)


def test_many_hunks_without_changes_do_not_slow_down_one_with_many() -> None:
    text = "@@ -1 +1 @@\n" * 100_000 + "+x = 1\n" * 20_000
    assert any(line.startswith("+") for line in shown(text, 2_000))
