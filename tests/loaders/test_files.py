import csv
import gzip
import io
import json
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from misstep.loaders import load_rows, read_rows
from misstep.registry import DataError, user_path


@pytest.fixture
def expected(own_file):
    return load_rows(str(own_file))


def facts(rows):
    return [(row.id, row.problem, row.steps, row.label, row.subset) for row in rows]


def test_json(tmp_path, own_rows, expected):
    path = tmp_path / "own.json"
    path.write_text(json.dumps(own_rows, indent=2), encoding="utf-8-sig")
    assert facts(load_rows(str(path))) == facts(expected)


def test_csv_with_steps_as_json(tmp_path, own_rows, expected):
    path = tmp_path / "own.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, ["id", "problem", "steps", "label", "subset", "note"])
        writer.writeheader()
        writer.writerows(row | {"steps": json.dumps(row["steps"])} for row in own_rows)
    assert facts(load_rows(str(path))) == facts(expected)


def test_parquet(tmp_path, own_rows, expected):
    path = tmp_path / "own.parquet"
    pq.write_table(pa.Table.from_pylist([{"subset": None} | row for row in own_rows]), path)
    assert facts(load_rows(str(path))) == facts(expected)


def in_format(rows, ending):
    """The bytes of a file with these rows."""
    if ending == ".json":
        return json.dumps(rows).encode()
    if ending == ".jsonl":
        return "\n".join(map(json.dumps, rows)).encode()
    if ending == ".parquet":
        stream = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(rows), stream)
        return stream.getvalue()
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(row | {"steps": json.dumps(row["steps"])} for row in rows)
    return text.getvalue().encode()


@pytest.mark.parametrize("place", ["local", "memory"])
@pytest.mark.parametrize("ending", [".json", ".jsonl", ".csv", ".parquet"])
def test_every_format_is_read_from_everywhere_plain_or_compressed(tmp_path, ending, place):
    import fsspec

    rows = [{"id": f"{i}", "problem": "ä\u2028\r\n", "steps": ["s"], "label": 0} for i in range(3)]
    content = in_format(rows, ending)
    folder = tmp_path if place == "local" else f"memory://{tmp_path.name}"
    for name, written in ((f"x{ending}", content), (f"x{ending}.gz", gzip.compress(content))):
        with fsspec.open(f"{folder}/{name}", "wb", auto_mkdir=True) as stream:
            stream.write(written)
        read = load_rows(f"{folder}/{name}")
        assert [(row.id, row.problem, row.steps) for row in read] == [
            (row["id"], row["problem"], row["steps"]) for row in rows
        ]


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".csv"])
def test_rows_are_streamed(tmp_path, ending):
    """A fault far behind does not keep the rows before it from being read."""
    good = in_format(
        [{"problem": "p", "steps": ["s"], "label": 0}] * 100_000, ending[:6].rstrip(".")
    )
    content = good + b"\n\xff"
    path = tmp_path / f"x{ending}"
    path.write_bytes(gzip.compress(content, 1) if ending.endswith(".gz") else content)
    rows = read_rows(str(path))
    assert next(rows)[0] == 1
    with pytest.raises(DataError, match="not UTF-8"):
        list(rows)


@pytest.mark.parametrize("kept", [3, 15, -4])
def test_a_broken_archive_gets_one_message(tmp_path, kept):
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a": 1}\n' * 9)[:kept])
    with pytest.raises(DataError, match=r"x\.jsonl\.gz: cannot be read"):
        load_rows(str(path))


@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
@pytest.mark.parametrize("chain", ["", "simplecache::"])
def test_a_server_without_range_requests_is_enough(tmp_path, ending, chain):
    rows = [{"id": "a", "problem": "p", "steps": ["s"], "label": 0}]
    (tmp_path / f"x{ending}").write_bytes(in_format(rows, ending))
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        read = load_rows(f"{chain}http://127.0.0.1:{server.server_port}/x{ending}")
        server.shutdown()
    assert [row.id for row in read] == ["a"]


def test_any_fsspec_address(own_rows, expected):
    import fsspec

    with fsspec.open("memory://own.jsonl", "w") as stream:
        stream.write("\n".join(json.dumps(row) for row in own_rows))
    assert facts(load_rows("memory://own.jsonl")) == facts(expected)


def test_a_line_separator_inside_a_string_does_not_end_the_row(tmp_path):
    path = tmp_path / "x.jsonl"
    row = {"problem": "a\u2028b", "steps": ["c\u0085d"], "label": 0}
    path.write_text(json.dumps(row, ensure_ascii=False) + "\n\n", encoding="utf-8")
    assert load_rows(str(path))[0].problem == "a\u2028b"


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("x.txt", b"", "unknown file format '.txt'. Allowed extensions"),
        ("x.json", b"{", "not valid JSON"),
        ("x.json", b'{"a": 1}', "a list is needed"),
        ("x.json", b"[" * 100_000, "not valid JSON"),
        ("x.json", b"[]", "holds no rows"),
        ("x.jsonl", b"", "holds no rows"),
        ("x.jsonl", b'{"a": 1}\n{"a": \n', "line 2: not valid JSON"),
        ("x.json", b'["\xff"]', "byte 2 is not UTF-8"),
        ("x.jsonl", b'{"a": 1}\n"\xff"', "line 2: not UTF-8"),
        ("x.jsonl", b"\xff\xfe", "not UTF-8"),
        ("x.csv", b"id\n\xff", "line 2: not UTF-8"),
        ("x.jsonl", b"9" * 5000, "line 1: not valid JSON"),
        ("x.csv", b"id,problem\n1,2,3\n", "line 2: more cells"),
        ("x.csv", b'id,problem\n"1,2\n', "not valid CSV"),
        ("x.parquet", b"PAR1", "not a valid Parquet file"),
    ],
)
def test_a_broken_file_gets_one_message(tmp_path, name, content, says):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=says):
        load_rows(str(path))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"nowhere\.jsonl: cannot be read \(No such file"):
        load_rows(str(tmp_path / "nowhere.jsonl"))


def test_relative_paths_are_those_of_the_shell(tmp_path, monkeypatch):
    started, now = tmp_path / "started", tmp_path / "now"
    for folder in (started, now):
        folder.mkdir()
        (folder / "both.jsonl").touch()
    (now / "here.jsonl").touch()
    monkeypatch.setattr("misstep.registry._user_input._START", started)
    monkeypatch.chdir(now)
    assert user_path("both.jsonl") == started / "both.jsonl"
    assert user_path("here.jsonl") == now / "here.jsonl"
    assert user_path("gone.jsonl") == started / "gone.jsonl"


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.json"])
def test_half_an_emoji_becomes_a_character_that_a_file_can_hold(tmp_path, name):
    """A reply that was cut inside an emoji has one half of it, which is no character."""
    path = tmp_path / name
    rows = [{"text": "whole \U0001f600, half \ud83d", "n": 0.1}, {"text": "plain"}]
    lines = [json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) if name.endswith("l") else f"[{','.join(lines)}]")
    found = [row for _, row in read_rows(str(path))]
    assert found == [{"text": "whole \U0001f600, half \ufffd", "n": 0.1}, {"text": "plain"}]
