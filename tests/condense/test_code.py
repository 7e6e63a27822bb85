"""`condense_code`: the outline stays, and in full what the question asks about."""

from __future__ import annotations

import re

import pytest

from ctxkit.condense.base import Budget
from ctxkit.condense.code import condense_code
from ctxkit.tokens import counter_for

COUNTER = counter_for(None)
BODY = "        total = self.total + amount_{0} * {0}\n        self.log.append((total, {0}))\n"


def python(functions: int = 60) -> str:
    """A class with many methods of a few lines each."""
    methods = "\n".join(
        f'    def method_{number}(\n        self, amount: int\n    ) -> None:\n        """Book {number}."""\n'
        + BODY.format(number) * 6
        for number in range(functions)
    )
    imports = "import os\nfrom decimal import (\n    Decimal,\n)\n"
    return f"{imports}\n\n@final\nclass Shop:\n{methods}\nSHOP = Shop()\n"


def numbered(text: str, sign: str) -> str:
    """The text as tools show files."""
    width = 0 if sign == ":" else 6
    return "\n".join(f"{number:>{width}}{sign}{line}" for number, line in enumerate(text.split("\n"), 1))


def shown(text: str, max_tokens: int = 1_500, *terms: str) -> list[str]:
    """The lines of the condensed text."""
    made = condense_code(text, Budget(max_tokens, COUNTER, frozenset(terms)))
    assert COUNTER.count(made.text) <= max_tokens
    return made.text.split("\n")


def test_imports_signatures_and_decorators_stay_as_they_are_indented() -> None:
    made = shown(python(20))
    assert made[:4] == ["import os", "from decimal import (", "    Decimal,", ")"]
    assert made[made.index("class Shop:") - 1] == "@final"
    for number in range(20):
        place = made.index(f"    def method_{number}(")
        assert made[place + 1 : place + 3] == ["        self, amount: int", "    ) -> None:"]


def test_the_first_line_of_what_is_said_about_a_function_stays() -> None:
    assert '        """Book 7."""' in shown(python(20))
    above = "".join(
        f"// Adds {number}.\n// And logs.\nint add_{number}(int a) {{\n{BODY * 9}}}\n\n"
        for number in range(9)
    )
    assert {"// Adds 0.", "// Adds 8."} <= set(shown(above, 500))


def test_the_body_of_what_the_question_names_is_shown_in_full() -> None:
    text = python()
    start = text.index("    def method_33(")
    body = text[start : text.index("    def method_34(")].rstrip()
    assert body in "\n".join(shown(text, 1_500, "shop.method_33"))
    assert body not in "\n".join(shown(text, 1_500))


def test_a_line_with_a_word_of_the_question_is_shown_with_what_it_is_in() -> None:
    text = python().replace("amount_33", "amount_33_discount", 1)
    made = shown(text, 1_500, "amount_33_discount")
    place = next(number for number, line in enumerate(made) if "discount" in line)
    assert "    def method_33(" in made[:place]


@pytest.mark.parametrize(
    "line",
    [
        "export async function loadUsers(id: string): Promise<User[]> {",
        "    private static List<String> names(int size) {",
        "func (s *Store) Save(ctx context.Context, id string) error {",
        "pub(crate) fn parse<T: Read>(input: T) -> Result<Ast> {",
        "impl<T> Display for Wrapper<T> {",
        "static ast_t* make_pattern_type(pass_opt_t* opt, ast_t* pattern)",
        "const handler = async (event) => {",
        "type Options struct {",
        "async def fetch(url: str) -> bytes:",
        "defmodule Shop.Cart do",
        '  it("adds two numbers", () => {',
        "# TODO: drop this",
    ],
)
def test_what_is_defined_or_to_do_is_shown_in_any_language(line: str) -> None:
    """It stands in the middle, where nothing else speaks for it."""
    lines = [f"    total_{number} += {number} * rate;" for number in range(2_000)]
    lines[997] = line
    assert line in shown("\n".join(lines), 300)


def test_hidden_lines_are_named_so_that_they_can_be_read_later() -> None:
    text = python()
    original = text.split("\n")
    rebuilt: list[str] = []
    for line in shown(text)[:-1]:
        gap = re.fullmatch(r"\[\.\.\. lines (\d+)-(\d+) \.\.\.\]", line)
        rebuilt.extend(original[int(gap[1]) - 1 : int(gap[2])] if gap else [line])
    assert rebuilt == original


@pytest.mark.parametrize("sign", ["\t", "→", "|", ":"])
def test_numbers_in_front_stay_true_and_lose_only_their_padding(sign: str) -> None:
    text = f"Here is src/shop.py:\n{numbered(python(), sign)}"
    made = shown(text, 1_500, "method_33")
    assert made[0] == "Here is src/shop.py:"
    original = python().split("\n")
    for line in made[1:-1]:
        number, found, code = line.partition(sign)
        assert line.startswith("[... ") or (found and original[int(number) - 1] == code)
    assert any("def method_33(" in line for line in made)


def test_where_padding_is_all_that_is_too_much_nothing_is_hidden() -> None:
    text = numbered(python(10), "\t")
    unpadded = re.sub(r"^ +", "", text, flags=re.MULTILINE)
    made = condense_code(text, Budget(COUNTER.count(unpadded), COUNTER))
    assert made.text == unpadded and made.lossless


def test_a_name_is_mentioned_once_before_the_rest_is_shown() -> None:
    lines = [f"    total += {number} * rate;" for number in range(2_000)]
    lines[1_234] = "    os.makedirs(cacheFolder);"
    assert lines[1_234] in shown("\n".join(lines), 300)


def test_keys_that_are_numbers_are_no_line_numbers() -> None:
    lines = [f'    {status}: "status {status}",' for status in range(1_000)]
    made = shown("\n".join(["STATUS = {", *lines, "}"]), 300)
    assert made[1:3] == lines[:2]
    assert any(re.fullmatch(r"\[\.\.\. lines \d+-\d+ \.\.\.\]", line) for line in made)
