"""A joined log in the making: samples taken from other logs as they are packed."""

from io import BytesIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

import pytest
from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalLog,
    EvalSample,
    EvalSpec,
    read_eval_log,
    write_eval_log,
)
from inspect_ai.scorer import Score

from misstep.runs import Archive


class Unseekable(BytesIO):
    """A file that can only be written to its end, as a pipe."""

    def seekable(self):
        return False

    def seek(self, *_):
        raise OSError("not seekable")


def log_of(**values):
    """A log with these samples, and what each of them scored."""
    samples = [
        EvalSample(id=name, epoch=1, input="ü", target="", scores={"right": Score(value=value)})
        for name, value in values.items()
    ]
    spec = EvalSpec(
        created="2026-01-01T00:00:00+00:00",
        task="t",
        dataset=EvalDataset(),
        model="mockllm/model",
        config=EvalConfig(),
    )
    return EvalLog(eval=spec, samples=samples)


def written(path, **values):
    write_eval_log(log_of(**values), path)
    return str(path)


def values_of(log):
    return {sample.id: sample.scores["right"].value for sample in log.samples}


def joined(archive, parts, location):
    """The log that is written, and the samples that its header was made from."""
    given = []

    def header(samples):
        given.extend(samples)
        return log_of()

    archive.write(parts, str(location), header, lambda one: (one["epoch"], ord(one["id"])))
    return read_eval_log(str(location)), given


def test_samples_of_all_parts_are_there_with_what_they_scored(tmp_path):
    parts = [written(tmp_path / "1.eval", b=1, a=0), written(tmp_path / "2.eval", c=1)]
    with Archive() as archive:
        log, given = joined(archive, parts, tmp_path / "joined.eval")
    assert values_of(log) == {"a": 0, "b": 1, "c": 1}
    assert {sample.id: sample.scores["right"].value for sample in given} == values_of(log)


def test_what_was_taken_before_is_not_read_again(tmp_path, monkeypatch):
    part = written(tmp_path / "1.eval", a=0, b=1)
    with Archive() as archive:
        assert archive.take(part) == ["samples/a_epoch_1.json", "samples/b_epoch_1.json"]
        monkeypatch.setattr("misstep.runs._archive._packed", None)
        log, given = joined(archive, [part], tmp_path / "joined.eval")
    assert values_of(log) == {"a": 0, "b": 1}
    assert len(given) == 2


def test_the_finished_log_counts_whatever_was_taken_before(tmp_path):
    with Archive() as archive:
        archive.take(written(tmp_path / "early.eval", a=0, b=1, gone=1))
        part = written(tmp_path / "1.eval", a=1, b=1, c=0)
        log, given = joined(archive, [part], tmp_path / "joined.eval")
    assert values_of(log) == {"a": 1, "b": 1, "c": 0}
    assert [sample.scores["right"].value for sample in given] == [1, 1, 0]
    with ZipFile(tmp_path / "joined.eval") as members:
        assert members.testzip() is None
        assert len(members.namelist()) == len(set(members.namelist()))


def test_nothing_is_left_of_one_that_was_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Archive() as archive:
        archive.take(written(tmp_path / "1.eval", a=0))
        assert list(tmp_path.glob("misstep-*/*"))
    assert not list(tmp_path.glob("misstep-*"))


@pytest.mark.parametrize("kind", [BytesIO, Unseekable], ids=["seekable", "streamed"])
@pytest.mark.parametrize("method", [ZIP_STORED, ZIP_DEFLATED], ids=["stored", "packed"])
def test_members_are_copied_as_they_are_packed(kind, method, tmp_path):
    original = written(tmp_path / "1.eval", a=0, b=1)
    packed = kind()
    with ZipFile(original) as source, ZipFile(packed, "w", method) as archive:
        contents = {name: source.read(name) for name in source.namelist()}
        for name, content in contents.items():
            archive.writestr(name, content)
    part = tmp_path / "packed.eval"
    part.write_bytes(packed.getvalue())
    with Archive() as archive:
        joined(archive, [str(part)], tmp_path / "joined.eval")
    names = [name for name in contents if name.startswith("samples/")]
    with ZipFile(tmp_path / "joined.eval") as members, ZipFile(part) as source:
        assert members.testzip() is None
        assert [members.read(name) for name in names] == [contents[name] for name in names]
        for name in names:
            ours, theirs = members.getinfo(name), source.getinfo(name)
            assert ours.compress_size == theirs.compress_size
            assert ours.compress_type == theirs.compress_type == method


def test_a_damaged_sample_is_not_taken_in_silence(tmp_path):
    with ZipFile(tmp_path / "damaged.eval", "w") as archive:
        archive.writestr("samples/a_epoch_1.json", b"0123456789")
    content = (tmp_path / "damaged.eval").read_bytes()
    (tmp_path / "damaged.eval").write_bytes(content.replace(b"0123456789", b"0123X56789"))
    with Archive() as archive, pytest.raises(BadZipFile, match="CRC"):
        archive.take(str(tmp_path / "damaged.eval"))
