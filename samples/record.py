"""Record the traces below `samples/traces` anew, and make them fit to be published.

    python samples/record.py              # all
    python samples/record.py serving      # or some

A trace names the machine it was recorded on: its host, its directories, the path of the file. These
few values, and nothing else, are replaced by neutral ones. Events stay as they were recorded.
"""

import gzip
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

SAMPLES = Path(__file__).resolve().parent
TRACES = SAMPLES / "traces"
RUNS = {
    "train_cpu": ["train_cpu.py", "--worker-name", "worker0"],
    "train_ddp_cpu": ["train_ddp_cpu.py"],
    "resnet_workers0": ["resnet.py", "--workers", "0", "--worker-name", "worker0"],
    "resnet_workers4": ["resnet.py", "--workers", "4", "--worker-name", "worker0"],
    "transformer": ["transformer.py", "--worker-name", "worker0"],
    "serving": ["serving.py", "--worker-name", "worker0"],
    "compiled": ["compiled.py", "--worker-name", "worker0"],
}
MAX_BYTES = 1_000_000
BESIDE = ".compile.json.gz"
HOST, PROJECT = "host", "/project"


def neutral(text: str, run: str, file_name: str) -> str:
    """The text of a trace without what it says of this machine."""
    key = '"kinetoscope": '
    start = text.index(key) + len(key)
    metadata, end = json.JSONDecoder().raw_decode(text, start)
    metadata |= {"host": HOST, "cwd": PROJECT, "source_roots": [f"{PROJECT}/samples"]}
    text = text[:start] + json.dumps(metadata) + text[end:]
    text = re.sub(r'"host_name": "[^"]*"', f'"host_name": "{HOST}"', text)
    path = f"{PROJECT}/log/{run}/{file_name.removesuffix('.gz')}"
    return re.sub(r'"traceName": "[^"]*"', f'"traceName": "{path}"', text)


def check(text: str) -> None:
    """Stop if a name of this machine is left."""
    json.loads(text)
    directories = {SAMPLES.parent, Path.home(), Path(tempfile.gettempdir())}
    prefixes = {Path(sys.prefix), Path(sys.base_prefix)}
    names = [f"{path}/" for path in directories | prefixes] + [f'"{socket.gethostname()}"']
    left = [name for name in names if name in text]
    if left:
        sys.exit(f"these names are left in the trace: {left}")


def main() -> None:
    with tempfile.TemporaryDirectory() as logdir:
        for run in sys.argv[1:] or RUNS:
            command = RUNS[run]
            subprocess.run(
                [sys.executable, *command, "--logdir", f"{logdir}/{run}"],
                cwd=SAMPLES,
                env={**os.environ, "OMP_NUM_THREADS": "1"},  # steadier steps on a busy machine
                check=True,
            )
            shutil.rmtree(TRACES / run, ignore_errors=True)
            (TRACES / run).mkdir(parents=True)
            for trace in sorted(Path(logdir, run).iterdir()):
                if trace.name.endswith(BESIDE):  # the trace has its digest
                    check(gzip.decompress(trace.read_bytes()).decode())
                    shutil.copy(trace, TRACES / run)
                    continue
                text = neutral(gzip.decompress(trace.read_bytes()).decode(), run, trace.name)
                check(text)
                packed = gzip.compress(text.encode(), mtime=0)
                if len(packed) > MAX_BYTES:
                    sys.exit(f"{trace.name} has {len(packed):,} bytes, more than {MAX_BYTES:,}")
                (TRACES / run / trace.name).write_bytes(packed)
                print(f"{run}/{trace.name}: {len(packed):,} bytes")


if __name__ == "__main__":
    main()
