"""Each guide of docs/guides, followed: its scripts are saved, its commands are run, in order.

A comment before a block says what it needs, or why it is not run:

    <!-- needs: lightning -->      the module is installed, or the block is skipped; s3: a server;
                                   v100: recordings of others, whose figures the text has
    <!-- log: train_cpu -->        that sample is in log/
    <!-- not run: REASON -->
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import ROOT, TRACES
from tests.remote_servers import Store, s3

GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))
FOLLOWED = [one for one in GUIDES if one.stem != "troubleshooting"]  # which is a table
SAMPLES = ROOT / "samples" / "traces"
V100 = TRACES / "kineto_tb_samples"
BLOCK = re.compile(r"((?:^<!-- [^\n]* -->\n)*)^```(\w+)\n([\s\S]*?)^```$", re.MULTILINE)
SERVERS = ("kinetoscope serve", "tensorboard ")
SECONDS = 300.0
TORCH_ABORTS = "terminate called without an active exception"
"""What torch 2.13 says over gloo now and then when a process ends, also without a profiler."""


@dataclass(frozen=True)
class Block:
    """A block of a guide, with the comments before it."""

    kind: str
    text: str
    needs: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    not_run: str = ""


def blocks(guide: str) -> Iterator[Block]:
    """The blocks in order."""
    for comments, kind, text in BLOCK.findall(guide):
        said = dict(re.findall(r"<!-- (needs|log|not run): (.*) -->", comments))
        yield Block(
            kind,
            text,
            tuple(filter(None, said.get("needs", "").split(", "))),
            tuple(filter(None, said.get("log", "").split(", "))),
            said.get("not run", ""),
        )


def follow(block: Block, folder: Path, environment: Mapping[str, str]) -> str:
    """Do what a block says, as someone who reads it would; what its commands print."""
    for name in block.logs:
        shutil.copytree(SAMPLES / name, folder / "log" / name, dirs_exist_ok=True)
    if block.kind == "python":
        first = block.text.splitlines()[0]
        named = re.fullmatch(r"# (\w+\.py)", first)
        script = folder / (named[1] if named else "cell.py")
        script.write_text(block.text, "utf-8")
        if named is None:
            run([sys.executable, script.name], folder, environment)
        return ""
    lines = block.text.splitlines(keepends=True)
    commands = "".join(line for line in lines if not line.startswith(SERVERS))
    printed = run(["bash", "-e", "-c", commands], folder, environment) if commands.strip() else ""
    for line in lines:
        if line.startswith(SERVERS):
            opens(shlex.split(line, comments=True), folder, environment)
    return printed


def run(command: list[str], folder: Path, environment: Mapping[str, str]) -> str:
    """A command that ends, and ends well; what it printed."""
    tries = 8
    while True:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False,
            timeout=SECONDS,
        )  # fmt: skip
        tries -= 1
        if done.returncode == 0 or TORCH_ABORTS not in done.stderr or not tries:
            break
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


def opens(command: list[str], folder: Path, environment: Mapping[str, str]) -> None:
    """A server that answers at the address it prints, and ends at Ctrl-C."""
    with_port = [*command, "--port", "0"]
    log = folder / "server.log"
    with log.open("w") as out:
        process = subprocess.Popen(with_port, cwd=folder, env=environment, stdout=out, stderr=out)
    try:
        end = time.monotonic() + SECONDS
        while not (found := re.search(r"http://\S+:\d+/", log.read_text("utf-8"))):
            assert process.poll() is None, log.read_text("utf-8")
            assert time.monotonic() < end, "it printed no address"
            time.sleep(0.1)
        with urllib.request.urlopen(found[0], timeout=60) as answer:  # noqa: S310  # our server
            assert answer.status == 200
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A server that speaks S3, with the bucket `logs`."""
    folder = tmp_path / "moto"
    folder.mkdir()
    with s3(folder) as running:
        assert running.address.startswith("s3://logs/")
        yield running


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize("guide", FOLLOWED, ids=lambda one: one.stem)
def test_a_guide_can_be_followed(
    guide: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    pytest.importorskip("torch", reason="guides record with torch")
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "KINETOSCOPE_CACHE_DIR": str(tmp_path / "cache"),
        "OMP_NUM_THREADS": "1",
    }
    found = list(blocks(guide.read_text("utf-8")))
    assert [one for one in found if not one.not_run], "a guide has something to follow"
    missing: set[str] = set()
    for block in found:
        if block.not_run:
            continue
        if "s3" in block.needs:
            environment |= request.getfixturevalue("store").environment
        lacks = [one for one in block.needs if not is_there(one)]
        missing.update(one for one in lacks if one != "v100")
        if not lacks:
            follow(block, tmp_path, environment)
    if missing:
        pytest.skip(f"the rest was followed; not installed: {', '.join(sorted(missing))}")


def is_there(need: str) -> bool:
    """Whether what a block needs is here; the story of the V100 has a test of its own."""
    return need == "s3" or (need != "v100" and importlib.util.find_spec(need) is not None)


FIGURE = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:\s%|\s(?:ms|GiB)\b)?")
STORY = (ROOT / "docs/guides/five_minutes.md").read_text("utf-8")
TOLD = [one for one in STORY.split("\n## ") if "needs: v100" in one]


@pytest.mark.skipif(not V100.is_dir(), reason=f"no recordings at {V100}")
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize("section", TOLD, ids=lambda one: one.partition(":")[0])
def test_a_figure_of_the_story_is_one_that_the_program_prints(section: str, tmp_path: Path) -> None:
    """Each number of a section stands in what the section's commands print."""
    (tmp_path / "log").symlink_to(V100)
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "KINETOSCOPE_CACHE_DIR": str(tmp_path / "cache"),
    }
    (block,) = blocks(section)
    printed = follow(block, tmp_path, environment)
    text = section.partition("\n```\n")[2]
    told = [
        one.replace("\n", " ")
        for one in FIGURE.findall(re.sub(r"`[^`]*`|torch [\d.]+ or [\d.]+", "", text))
    ]
    missing = [one for one in told if not is_printed(one, printed.replace("\xa0", " "))]
    assert missing == []


def is_printed(figure: str, printed: str) -> bool:
    """Whether the number stands there; its unit may head the column."""
    number = figure.split(maxsplit=1)[0]
    return re.search(rf"(?<![\d.,]){re.escape(number)}(?![\d.,]*\d)", printed) is not None


def test_every_guide_is_in_the_list() -> None:
    listed = re.findall(r"\(guides/(\w+)\.md\)", (ROOT / "docs/README.md").read_text("utf-8"))
    assert sorted(listed) == [one.stem for one in GUIDES]


MESSAGES = re.findall(
    r"^\| `([^`]+)` \|", (ROOT / "docs/guides/troubleshooting.md").read_text("utf-8"), re.MULTILINE
)


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_of_troubleshooting_is_one_of_ours(message: str) -> None:
    text = message.removesuffix(" …")
    folders = (ROOT / "tb_plugin", ROOT / "handlers", ROOT / "frontend" / "src")
    files = (x for y in folders for x in y.rglob("*") if x.suffix in {".py", ".ts", ".tsx"})
    # A sentence may be cut where a line of its source ends, or where a value stands in it.
    sources = (re.sub(r'"\s+f?"', "", file.read_text("utf-8")) for file in files)
    assert any(text in source for source in sources), message
