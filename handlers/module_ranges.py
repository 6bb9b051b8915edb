"""Ranges around the forward of each module, so that a recording names modules without stacks.

    [module]Conv2d: layer1.0.conv1

A range is opened by hooks on each module, only while a profiler records on that thread. The hooks
never raise, and they stand aside where they could be in the way: in scripted modules, in what
``torch.compile`` compiles, and while a model is traced. A copy of a model, and a model that was
saved whole, has hooks that do nothing and need nothing of ours.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

_log = logging.getLogger("kinetoscope.handlers")
_MOST_NAMES = 20_000
_MOST_NAME_CHARS = 300


class ModuleRanges:
    """Hooks on all modules of a model, or of several models by name; ``remove`` takes them away.

        ranges = ModuleRanges(model)
        ...
        ranges.remove()

    ``names`` has the type of each hooked module by its name in the model, as ``named_modules()``
    calls it; the model itself is "".

    Raises:
        TypeError: ``modules`` is neither an ``nn.Module`` nor a mapping of names to such.
    """

    def __init__(self, modules: Any) -> None:  # noqa: ANN401  # torch is not imported here
        torch = sys.modules.get("torch")
        models = modules if isinstance(modules, Mapping) else {"": modules}
        if torch is None or not all(isinstance(one, torch.nn.Module) for one in models.values()):
            kind = type(modules).__name__
            raise TypeError(f"modules: an nn.Module or a mapping of names to them, not {kind}")
        self.names: dict[str, str] = {}
        self._handles: list[Any] = []
        self._state = _State(torch)
        known: set[int] = set()
        with contextlib.ExitStack() as undo:
            undo.callback(self.remove)
            for name, model in models.items():
                for path, type_, module in _hookable(torch, str(name), model, known):
                    self._hook(path, type_, module)
            undo.pop_all()

    def _hook(self, path: str, type_: str, module: Any) -> None:  # noqa: ANN401
        shown = path[:_MOST_NAME_CHARS]
        if len(self.names) < _MOST_NAMES:
            self.names[shown] = type_
        one = _Range(f"[module]{type_}: {shown}" if shown else f"[module]{type_}", self._state)
        self._handles.append(module.register_forward_pre_hook(_Before(one)))
        after = _After(one)
        try:
            handle = module.register_forward_hook(after, always_call=True)
        except TypeError:  # before torch 2.0 a forward that raises leaves its range open a while
            handle = module.register_forward_hook(after)
        self._handles.append(handle)

    def remove(self) -> None:
        """Take the hooks away. Ranges that are open are closed as their forward ends."""
        self._state.is_on = False
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def __enter__(self) -> ModuleRanges:  # noqa: PYI034  # Self is of Python 3.11
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def _hookable(
    torch: ModuleType,
    name: str,
    model: Any,  # noqa: ANN401
    known: set[int],
) -> Iterator[tuple[str, str, Any]]:
    """Path, type and module to hook; of a compiled module only the outermost."""
    waiting = [(name, model)]
    # Looked up, not imported: where a model is compiled, this is imported.
    compiled = getattr(sys.modules.get("torch._dynamo.eval_frame"), "OptimizedModule", None)
    while waiting:
        path, module = waiting.pop()
        if id(module) in known or isinstance(module, torch.jit.ScriptModule):
            continue
        known.add(id(module))
        if getattr(module, "_compiled_call_impl", None) is not None:
            continue  # compiled in place: its hooks would be compiled with it
        if compiled is not None and isinstance(module, compiled):
            yield path, type(getattr(module, "_orig_mod", module)).__name__, module
            continue
        yield path, type(module).__name__, module
        children = [
            (f"{path}.{label}" if path else label, child)
            for label, child in module.named_children()
        ]
        waiting.extend(reversed(children))


class _State:
    """Shared state of the hooks of one object: functions of torch, and open ranges by thread."""

    def __init__(self, torch: ModuleType) -> None:
        self.is_on = True
        self.threads = threading.local()
        self.enter, self.leave = _functions(torch)
        self.is_recording: Any = getattr(torch.autograd, "_profiler_enabled", _always)
        self.is_compiling: Any = getattr(getattr(torch, "compiler", None), "is_compiling", _never)
        self.is_tracing: Any = torch.jit.is_tracing

    @property
    def open(self) -> list[tuple[_Range, Any]]:
        """The open ranges of this thread, the innermost last."""
        found: list[tuple[_Range, Any]] | None = getattr(self.threads, "open", None)
        if found is None:
            found = self.threads.open = []
        return found


def _functions(torch: ModuleType) -> tuple[Callable[[str], Any], Callable[[Any], object]]:
    """Functions that open and close a range, at a quarter of the cost where torch allows it."""
    enter = getattr(torch.autograd, "_record_function_with_args_enter", None)
    leave = getattr(torch.autograd, "_record_function_with_args_exit", None)
    if enter is not None and leave is not None:
        return enter, leave

    def enter_range(name: str) -> Any:  # noqa: ANN401
        return torch.autograd.profiler.record_function(name).__enter__()

    return enter_range, lambda range_: range_.__exit__(None, None, None)


def _always() -> bool:
    return True


def _never() -> bool:
    return False


class _Range:
    """The range of one module."""

    def __init__(self, name: str, state: _State) -> None:
        self.name, self.state = name, state

    def act(self, *, opens: bool) -> None:
        """Open the range; or close it, with ranges inside it that a raising forward left open."""
        state = self.state
        try:
            open_ = state.open
            if opens:
                if state.is_on and not state.is_tracing():
                    open_.append((self, state.enter(self.name)))
            elif any(owner is self for owner, _ in open_):
                owner = None
                while owner is not self:
                    owner, range_ = open_.pop()
                    state.leave(range_)
        except Exception:  # noqa: BLE001  # whatever it is, the training goes on
            if state.is_on:
                state.is_on = False
                _log.exception(
                    "kinetoscope could not open or close the range of a module: %s. "
                    "From here on no module is named.",
                    self.name,
                )


class _Hook:
    """A hook that does nothing once it is copied or saved."""

    def __init__(self, range_: _Range) -> None:
        self._range, self._state = range_, range_.state

    def __reduce__(self) -> tuple[Any, ...]:
        # Of parts that every Python has: who loads a saved model may not have this package.
        return functools.partial, (sys.audit, "kinetoscope.module_ranges.inert")


class _Before(_Hook):
    """Opens a range; a forward pre-hook."""

    def __call__(self, _module: object, _args: object) -> None:
        state = self._state
        if not state.is_compiling() and state.is_recording():
            self._range.act(opens=True)


class _After(_Hook):
    """Closes a range; a forward hook."""

    def __call__(self, _module: object, _args: object, _output: object) -> None:
        state = self._state
        if not state.is_compiling() and state.open:
            self._range.act(opens=False)
