"""`detect`: the kind of content, on small quotes of real results and on the shared ones."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.condense.base import ContentKind
from ctxkit.condense.detect import detect
from ctxkit.messages import ModelRequest
from ctxkit.transcripts import load
from ctxkit.wire import wire_named

DATA = Path(__file__).parents[3] / "shared" / "data"
QUOTES: list[tuple[ContentKind, str]] = [
    ("json_rows", '[{"flight": "HAT052", "origin": "ATL"}, {"flight": "HAT110", "origin": "LAS"}]'),
    ("json_rows", '[\n  {\n    "flight": "HAT052"\n  }\n]\n'),
    ("json", '{"status": "success", "data": {"result": []}}'),
    ("json", "[1, 2, 3]"),
    ("json", "{}"),
    ("json", '{"tool_name": "list_rules"}\n\n{"status": "success"}\n{\n  "groups": []\n}'),
    ("log", '{"event": "start"}\nlistening on port 80\n{"event": "stop"}\n{"event": "end"}'),
    ("ndjson", '{"level":30,"msg":"a"}\n{"level":30,"msg":"b"}\n{"level":50,"msg":"c"}\n'),
    ("table", "id,name,city,zip\n1,Ann,Ulm,89073\n2,Bob,Bern,3000\n3,Cem,Basel,4000\n"),
    ("table", "| id | name |\n|----|------|\n| 1  | Ann  |\n| 2  | Bob  |\n"),
    (
        "table",
        "NAMESPACE   NAME   READY   STATUS\nkube-system   dns   1/1   Running\nshop   api   0/1   Error",
    ),
    (
        "log",
        (
            '{"tool_name": "fetch_pod_logs"}\nimages: "./images/"\n'
            "ts=2025-05-22T06:39:05Z caller=logging.go:85 method=Health result=2 took=53.159µs\n"
            "ts=2025-05-22T06:39:08Z caller=logging.go:85 method=Health result=2 took=43.279µs\n"
        ),
    ),
    ("log", "\n".join(f"Sent order e91{number}293... to finance:0" for number in range(30))),
    (
        "log",
        "npm notice 83.6kB dist/core/agent-session.js.map\nnpm notice 1.7kB dist/core/bash-executor.d.ts\n",
    ),
    (
        "search_hits",
        (
            "cmd/cli/clean_test.go:329:\t\tBaseCommit:      commitHash.String(),\n"
            "cmd/cli/clean_test.go-330-\t\tStartedAt:       time.Now(),\n--\n"
            "cmd/cli/state.go:27:\t// BaseCommit is the HEAD commit\n"
        ),
    ),
    (
        "search_hits",
        '29:interface CompactionEvent {\n57:\ttype: "compaction";\n312:\tif (isCompaction(e)) {\n',
    ),
    ("search_hits", "./README.md:├── index.ts\n./README.md:├── cli.ts\n./docs/a.md:└── x\n"),
    ("listing", "/srv/app/node_modules/js-tokens/README.md\n/srv/app/node_modules/stack-utils/LICENSE.md\n"),
    (
        "listing",
        "total 8\ndrwxr-xr-x@  36 dev  staff  1152 Sep 23 09:52 .\n-rw-r--r--  1 dev  x  9 Sep 23 09:52 a",
    ),
    ("listing", "src\n├── app\n│   └── main.py\n└── lib\n"),
    (
        "traceback",
        (
            'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    main()\n'
            '  File "a.py", line 2, in main\n    raise ValueError("no")\nValueError: no\n'
        ),
    ),
    (
        "traceback",
        "src/a.ts(212,28): error TS2304: Cannot find name 'x'.\nsrc/a.ts(215,8): error TS2339: No such y.\n",
    ),
    (
        "traceback",
        "> lint\n\n/srv/a.js\n   1:32  error  Expected x  sort\n  11:8   warning  Prefer y  top\n",
    ),
    (
        "test_output",
        "--- PASS: TestRegistration (0.00s)\n--- FAIL: TestSave (0.07s)\nFAIL\nFAIL\tentire.io/cli\t4.834s\n",
    ),
    ("test_output", "tests/test_a.py ....F\n=== 1 failed, 4 passed in 0.12s ===\n"),
    ("test_output", "?   \tgithub.com/a/b\t[no test files]\nok  \tgithub.com/a/c\t(cached)\n"),
    (
        "diff",
        "diff --git a/setup.go b/setup.go\nindex ada043a..f4aa6aa 100644\n--- a/setup.go\n+++ b/setup.go\n",
    ),
    ("code", '     1→package cli\n     2→\n     3→import (\n     4→\t"context"\n     5→)\n'),
    ("code", "[File: setup.py (3 lines total)]\n1:import os\n2:import sys\n3:os.remove(sys.argv[1])\n"),
    ("code", "Found 2 code sections.\n\nsympy/a.py\n```\n    33\timport copy\n\n    34\timport io\n```\n"),
    ("code", "import os\n\n\ndef main() -> None:\n    return os.getcwd()\n"),
    ("html", "<!DOCTYPE html>\n<html><head></head><body>x</body></html>"),
    ("code", "<!DOCTYPE html>\n<html><body><%= render('header') %></body></html>"),
    ("code", "<html>\n<body>{% for item in items %}<p>{{ item }}</p>{% endfor %}</body></html>"),
    ("html", "<ul>\n<li>one</li>\n<li>two</li>\n</ul>\n"),
    ("markdown", "# Skills\n\nFolders of instructions.\n\n- one\n- two\n"),
    ("markdown", "Run this:\n\n```\nmake\n```\n"),
    ("base64", "Base64: " + "AAAAIGZ0eXBpc29tAAACAGlzb21pc28y" * 40),
    ("base64", "PNG\x00\x00\x01"),
    ("text", "It was a quiet morning, and nobody was there."),
    ("text", ""),
]
OUTPUTS: dict[str, ContentKind] = {
    "holmes-604f2704.txt.gz": "json",
    "holmes-67942837.txt.gz": "json",
    "holmes-7b55836b.txt.gz": "json",
    "holmes-bdcbb7f1.html.gz": "html",
    "holmes-c0c8e2af.txt.gz": "table",
}
# What the tools of the shared runs return, and how much of it is surely of one kind.
TOOLS: dict[str, tuple[ContentKind, float]] = {
    "Read": ("code", 0.95),
    "Grep": ("search_hits", 0.9),
    "Glob": ("listing", 1.0),
    "web_search": ("json_rows", 0.95),
    "ViewCode": ("code", 0.95),
    "Task": ("markdown", 0.9),
}


@pytest.mark.parametrize(("kind", "text"), QUOTES)
def test_a_result_is_taken_for_what_it_is(kind: ContentKind, text: str) -> None:
    assert detect(text) == kind


@pytest.mark.parametrize(("kind", "text"), QUOTES)
def test_a_result_is_taken_for_the_same_however_often_its_lines_come(kind: ContentKind, text: str) -> None:
    if "\n" in text and kind in ("log", "search_hits", "listing", "traceback", "test_output"):
        assert detect(text.rstrip("\n").join(["", "\n"]) * 2_000) == kind


@pytest.mark.skipif(not DATA.exists(), reason="the shared data are not here")
def test_large_recorded_results_are_taken_for_what_they_are() -> None:
    for path in (DATA / "tool_outputs").glob("*.gz"):
        with gzip.open(path, "rt") as file:
            assert (path.name, detect(file.read())) == (path.name, OUTPUTS.get(path.name, "log"))


@pytest.mark.skipif(not DATA.exists(), reason="the shared data are not here")
def test_what_tools_of_recorded_runs_return_is_taken_for_what_it_is() -> None:
    found: dict[str, list[ContentKind]] = {tool: [] for tool in TOOLS}
    for name in ("claude_code_misc", "cassette_loops", "moatless"):
        for transcript in load(DATA / "transcripts" / f"{name}.jsonl.gz"):
            if not transcript.wire.startswith(("anthropic", "openai_chat")):
                continue
            request = ModelRequest(wire_named(transcript.wire), {"messages": list(transcript.messages)})
            for block in request.tool_results():
                if block.tool in found and len(block.text) > 3_000:
                    found[block.tool].append(detect(block.text))
    for tool, (kind, share) in TOOLS.items():
        if found[tool]:
            assert found[tool].count(kind) >= share * len(found[tool]), tool
    assert sum(map(len, found.values())) > 50


@given(st.text(st.characters()) | st.text(st.sampled_from('{}[]",:0 \n\t<>/=-.|#'), max_size=300))
def test_no_text_is_too_strange(text: str) -> None:
    assert detect(text) == detect(text)
