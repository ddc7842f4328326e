"""Promises of the command line, on a tiny model folder."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.cli import console
from core.cli.main import main
from core.engine.progress import ProgressEvent
from core.errors import UserError
from tests.unit.tiny import build, save

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save(build("llama"), tmp_path_factory.mktemp("model") / "tiny"))


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["run", *arguments, "--json"]) == 0
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    return json.loads(out)


def test_json_is_one_object_with_ids_candidates_choice_rank_and_stop_reason(
    folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    report = run_json(
        capsys, "the cat", "--model", folder, "--tokens", "3", "--temperature", "0", "--top", "4"
    )
    assert "".join(token["text"] for token in report["prompt_tokens"]) == "the cat"
    assert report["stop_reason"] in ("token-limit", "end-of-text")
    for step in report["steps"]:
        best = step["candidates"][0]
        assert (step["how"], step["rank"], step["choice"]["id"]) == ("greedy", 1, best["id"])
        assert len(step["candidates"]) == 4 and best["probability"] == 1.0
        assert best["model_probability"] == step["model_probability"] < 1
        logits = [c["logit"] for c in step["candidates"]]
        assert logits == sorted(logits, reverse=True)


def test_a_seed_repeats_a_run(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    def ids(seed: str) -> list[int]:
        report = run_json(
            capsys, "the cat", "--model", folder, "--temperature", "2", "--top-p", "1", "--seed", seed
        )
        return [step["choice"]["id"] for step in report["steps"]]

    assert ids("1") == ids("1") != ids("2")


def test_layer_gives_shapes_norms_and_attention_rows_that_sum_to_one(
    folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    report = run_json(
        capsys, "the cat", "--model", folder, "--tokens", "2", "--temperature", "0", "--layer", "1"
    )
    layer, count = report["layer"], len(report["prompt_tokens"]) + len(report["steps"])
    assert layer["shapes"]["q"] == [6, count, 8] and layer["shapes"]["k"] == [2, count, 8]
    assert len(layer["norms"]["resid_in"]) == count and len(layer["attention"]) == 6
    for rows in layer["attention"]:
        assert [len(row) for row in rows] == list(range(1, count + 1))
        np.testing.assert_allclose([sum(row) for row in rows], 1, atol=1e-5)


def test_the_readable_report_names_choice_and_stop_reason(
    folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "the cat", "--model", folder, "--tokens", "1", "--layer", "0", "--chat"]) == 0
    out = capsys.readouterr().out
    assert "token 1:" in out and "stopped: " in out and "head 5" in out and "(special)" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "  "], "The prompt is empty."),
        (["run", "hi", "--top-p", "7"], "top_p"),
        (["run", "hi", "--layer", "3"], "no layer 3"),
        (["fetch", "no-such-model"], "no-such-model"),
    ],
)
def test_what_a_person_can_mend_goes_to_stderr_with_status_1(
    arguments: list[str], message: str, folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--model", folder] if arguments[0] == "run" else arguments) == 1
    captured = capsys.readouterr()
    assert message in captured.err and captured.out == ""


@pytest.mark.parametrize(
    "arguments", [[], ["dance"], ["run"], ["run", "hi", "--tokens", "-1"], ["run", "hi", "--x"]]
)
def test_bad_usage_has_status_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2


def test_a_closed_pipe_and_a_narrow_terminal_are_survived(folder: str) -> None:
    command = [
        sys.executable,
        "-m",
        "core",
        "run",
        "the é cat",
        "--model",
        folder,
        "--tokens",
        "2",
        "--top",
        "100",
    ]
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    whole = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=120)
    assert whole.returncode == 0 and b"Traceback" not in whole.stderr and rb"'\xe9'" in whole.stdout
    reading, writing = os.pipe()
    os.close(reading)  # nobody reads, as after `| head`
    broken = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=writing, stderr=subprocess.PIPE, timeout=120
    )
    os.close(writing)
    assert broken.returncode == console.CLOSED_PIPE
    assert b"Traceback" not in broken.stderr and b"BrokenPipe" not in broken.stderr


def test_the_message_of_a_user_error_is_both_sentences(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> int:
        raise UserError("It broke.", "Mend it.")

    assert console.guarded(fail) == 1
    assert capsys.readouterr().err == "It broke.\nMend it.\n"


def test_progress_renews_one_line_in_a_terminal_and_writes_one_per_stage_elsewhere() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    events = [ProgressEvent("download", n * 10**7, 4 * 10**7, "Downloading") for n in range(5)]
    live, plain = Terminal(), io.StringIO()
    for stream in (live, plain):
        line = console.ProgressLine(stream)
        for event in events:
            line(event)
        line.close()
    assert "100%" in live.getvalue() and live.getvalue().count("\n") == 1
    assert plain.getvalue() == "Downloading\n"
