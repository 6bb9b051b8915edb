"""The walk that people are taught: from the DataLoader to the idle device, from a kernel to its op.

On a recording of ResNet-50 on a V100 from 2021, in which the device waits for the data.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise

from kinetoscope.views.timeline.contract import SliceDetails, SliceLink, SliceRef
from tests.conftest import TRACES, requires_traces
from tests.drawing import LOADER
from tests.views.parts import Asked, asked_file

pytestmark = requires_traces


@cache
def view() -> Asked:
    """The recording without DataLoader workers."""
    folder = TRACES / "kineto_tb_samples" / "resnet50_num_workers_0"
    return asked_file(next(folder.iterdir()))


def link(details: SliceDetails, relation: str) -> SliceLink:
    """The link of a relation."""
    (found,) = [one for one in details.links if one.relation == relation]
    return found


def details(ref: SliceRef) -> SliceDetails:
    """Those of a slice."""
    answer: SliceDetails = view()("slice", slice=ref.slice)
    return answer


def test_below_the_data_loader_the_device_is_idle() -> None:
    found = view()("search", text="enumerate dataloader")
    (hit,) = found.names
    assert (hit.text, hit.slices) == (LOADER, 6)
    assert round(hit.total_ns / 1e6) == 416  # of 1066 ms in all

    at = view()("hit", text=LOADER, mode="exact").to
    while at is not None:
        area = view()("area", start_ns=at.ts, end_ns=at.ts + at.dur)
        (device,) = area.devices
        assert device.idle_ns > 0.75 * at.dur
        assert device.longest_gap_ts is not None
        at = view()("move", slice=at.slice, by="name").to


def test_a_backward_op_leads_to_its_forward_op_and_its_stack() -> None:
    backward = view()("hit", text="CudnnConvolutionBackward", mode="exact", ts=300_000_000).to
    about = details(backward)
    assert about.track_label == "Autograd thread · ops"
    forward = details(link(about, "forward").to)
    assert forward.slice.name == "aten::cudnn_convolution"
    assert forward.slice.ts < backward.ts
    assert link(forward, "backward").to.slice == backward.slice
    assert forward.stack[0].file.endswith("torch/nn/modules/conv.py")
    assert forward.inputs[0][0].startswith("[32, ")


def test_a_launch_leads_to_its_kernel_and_back() -> None:
    call = view()("hit", text="cudaLaunchKernel", mode="exact", ts=500_000_000).to
    about = details(call)
    kernel = details(link(about, "launches").to)
    assert link(kernel, "launched by").to.slice == call.slice
    assert link(kernel, "op").to.name.startswith("aten::")
    assert kernel.launch is not None
    assert kernel.launch.launch_ns == call.dur
    gap = kernel.slice.ts - call.ts - call.dur
    assert kernel.launch.queued_ns == gap
    assert view()("move", slice=call.slice, by="flow").to.slice == kernel.slice.slice
    back = view()("move", slice=kernel.slice.slice, by="flow", direction="previous").to
    assert back.slice == call.slice
    assert {arg.key for arg in kernel.args} >= {"grid", "block", "stream", "correlation"}


def test_steps_follow_each_other() -> None:
    steps = view().manifest().steps
    assert [step.name for step in steps] == [f"ProfilerStep#{n}" for n in range(5, 11)]
    assert all(one.end <= other.ts for one, other in pairwise(steps))


def test_the_whole_adds_up() -> None:
    manifest = view().manifest()
    area = view()("area", start_ns=0, end_ns=manifest.end_ns + 1, limit=5000)
    assert area.slices == manifest.slices == sum(row.count for row in area.rows)
    (device,) = area.devices
    assert device.busy_ns + device.idle_ns == manifest.end_ns + 1
    stream = next(track for track in manifest.tracks if track.kind == "stream")
    assert device.busy_ns == stream.busy_ns
    flame = view()("flame", start_ns=0, end_ns=manifest.end_ns + 1)
    threads = [track.busy_ns for track in manifest.tracks if track.kind == "thread"]
    kernels = sum(row.total_ns for row in area.rows if row.kind in (8, 9, 10, 11))
    assert flame.total == sum(threads) + kernels
