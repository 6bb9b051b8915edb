"""How was the run set up, as far as its recording says?"""

from __future__ import annotations

from ..base.units import plural, size
from .facts import DeviceFacts, Facts


def configuration(facts: Facts) -> dict[str, str]:
    """Label → value, in the order shown; what is not known is not there."""
    used = [device for device in facts.devices if device.used]
    kind = used[0].type if used else ""
    rows = {
        "Device type": facts.device_type,
        "Devices": f"{len(used)} of {plural(len(facts.devices), 'visible ' + kind)} used"
        if used
        else "",
        "Device": " · ".join(sorted({_device_text(device) for device in used} - {""})),
        "Rank": "" if facts.rank is None else _rank(facts),
        "Communication": ", ".join(facts.traits.communication_backends),
        "Host": facts.host_name or "",
        "Steps": _steps_text(facts),
        "DataLoader": facts.traits.dataloader_class or "",
    }
    return {label: value for label, value in rows.items() if value}


def _device_text(device: DeviceFacts) -> str:
    memory = size(device.memory_bytes) if device.memory_bytes else ""
    return ", ".join(text for text in (device.name, memory) if text)


def _rank(facts: Facts) -> str:
    return f"{facts.rank}" if facts.world_size is None else f"{facts.rank} of {facts.world_size}"


def _steps_text(facts: Facts) -> str:
    if facts.step_source == "whole_trace":
        return "none marked"
    left_out = sum(step.excluded is not None for step in facts.steps)
    rest = f", {left_out} left out" if left_out else ""
    return f"{len(facts.steps)}{rest}"
