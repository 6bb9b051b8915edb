"""Which annotations of inference engines mark iterations, and what do their names tell?

An iteration is one forward pass of a scheduled batch. Each engine writes it as a range whose name
carries the counts. ``FORMS`` holds one expression per form; the forms are those that the engines
write in their public sources. A name must match as a whole. Integers have at most 18 digits, and
keys that no form knows are left aside.

A user's own form is a regular expression in ``KINETOSCOPE_ITERATIONS``, with any of the groups
``phase``, ``batch``, ``context_requests``, ``context_tokens``, ``generation_requests`` and
``generation_tokens``. It comes before the forms here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ...base.errors import QueryError
from ...base.machine import ITERATIONS_VARIABLE
from ...base.regex import regex

Phase = Literal["", "prefill", "decode", "mixed", "idle"]
Role = Literal["iteration", "stage", "part", "capture"]
_MOST_BATCH = 2**31 - 1
GPT_FAST = "gpt-fast"
UNMARKED = ("Hugging Face", "Megatron", GPT_FAST)
"""Loops that mark no iterations: these are the calls of the model, in a recording with stacks."""


class Requests(Struct, frozen=True):
    """Requests of one kind in a batch, and sums over them. None: the name does not tell."""

    requests: int | None = None
    tokens: int | None = None  # Σ q: new tokens
    keys: int | None = None  # Σ k: keys that attention reads, cached ones included
    squares: int | None = None  # Σ q²
    pairs: int | None = None  # Σ q · k


NO_GROUP = Requests(0, 0, 0, 0, 0)


class Iteration(Struct, frozen=True):
    """Meaning of the name of one range."""

    engine: str  # "vLLM", "SGLang", "ATOM", "TensorRT-LLM", "xDiT", "" of a user's own form
    rank: int  # of nested ranges that are one iteration, that of the least rank describes it
    role: Role = "iteration"
    phase: Phase = ""
    mode: str = ""  # where there is no phase: "diffusion 256×256", "draft extend"
    is_certain: bool = True  # False: a request counted as decoding may still be in prefill
    is_speculative: bool = False  # tokens of generation are drafted ones; accepted ones unknown
    batch: int | None = None  # requests
    padded: int | None = None  # batch size of the graph that runs it
    number: int | None = None  # of the iteration, where the engine writes it
    context: Requests = Requests()
    generation: Requests = Requests()

    @property
    def size(self) -> int | None:
        """Size of the batch as graphs are captured for it: vLLM counts tokens, others requests."""
        first, second = self.context.tokens, self.generation.tokens
        if self.engine == "vLLM" and first is not None and second is not None:
            return first + second
        return self.batch

    @property
    def label(self) -> str:
        """The name to show: ``prefill 15 · 15,360 tokens``, ``decode 32``, ``mixed 9+37``."""
        kind = self.phase or self.mode or "forward"
        first, second = self.context.requests, self.generation.requests
        if self.phase == "mixed" and first is not None and second is not None:
            return f"mixed {first:,}+{second:,}"
        told = f" {self.batch:,}" if self.batch is not None else ""
        if self.phase == "prefill" and self.context.tokens is not None:
            tokens = self.context.tokens
            return f"{kind}{told} · {tokens:,} token{'s' if tokens != 1 else ''}"
        return f"{kind}{told}"


def counted(engine: str, rank: int, context: Requests, generation: Requests) -> Iteration:
    """An iteration whose phase follows from the numbers of requests in both groups."""
    first, second = context.requests or 0, generation.requests or 0
    # No request has no tokens, whatever the name leaves out.
    context = NO_GROUP if context.requests == 0 and not context.tokens else context
    generation = NO_GROUP if generation.requests == 0 and not generation.tokens else generation
    has_context, has_generation = first or context.tokens, second or generation.tokens
    phase: Phase = "prefill" if has_context else "idle"
    if has_generation:
        phase = "mixed" if has_context else "decode"
    return Iteration(
        engine,
        rank,
        phase=phase,
        is_speculative=0 < second < (generation.tokens or 0),  # one new token a request is usual
        batch=first + second,
        context=context,
        generation=generation,
    )


# --- the forms ------------------------------------------------------------------------------------

_N = r"(\d{1,18})"
_KEY = regex(r"(\w+)=(\[[^\]]*\]\S*|[^\s\]]+)")
_SUMS = rf"\(sq{_N}sk{_N}sqsq{_N}sqsk{_N}\)"


def _vllm_detailed(found: re.Match[str]) -> Iteration:
    first, *context = (int(text) for text in found.groups()[1:6])
    second, *generation = (int(text) for text in found.groups()[6:])
    return counted("vLLM", 0, Requests(first, *context), Requests(second, *generation))


def _vllm_default(found: re.Match[str]) -> Iteration:
    first, tokens, squares, second, new, more = (_int(text) for text in found.groups())
    return counted(
        "vLLM", 1, Requests(first, tokens, squares=squares), Requests(second, new, squares=more)
    )


def _vllm_old(found: re.Match[str]) -> Iteration:
    new, cached = (int(text) for text in found.groups())
    told = counted("vLLM", 2, Requests(new), Requests(cached))
    return replace(told, is_certain=not cached)


_SGLANG: Mapping[str, Phase] = {
    "EXTEND": "prefill",
    "DECODE": "decode",
    "MIXED": "mixed",
    "TARGET_VERIFY": "decode",
    "IDLE": "idle",
}


def _sglang(found: re.Match[str]) -> Iteration:
    mode, keys = found[1], _keys(found[2])
    phase, batch = _SGLANG.get(mode, ""), _int(keys.get("bs"))
    context, generation = _sums("c", keys), _sums("g", keys)
    tokens = _int(keys.get("toks"))
    if phase == "prefill":
        told = context.tokens if context.tokens is not None else tokens
        context, generation = replace(context, requests=batch, tokens=told), NO_GROUP
    elif phase == "decode":
        told = generation.tokens if generation.tokens is not None else tokens
        if told is None and mode == "DECODE":
            told = batch  # one new token for each request
        context, generation = NO_GROUP, replace(generation, requests=batch, tokens=told)
    elif phase == "idle":
        context = generation = NO_GROUP
    return Iteration(
        "SGLang",
        2,
        phase=phase,
        mode=mode.lower().replace("_", " "),
        is_speculative=mode == "TARGET_VERIFY",
        batch=batch,
        context=context,
        generation=generation,
    )


def _sums(prefix: str, keys: Mapping[str, str]) -> Requests:
    names = ("", "_sq", "_sk", "_sqsq", "_sqsk")
    return Requests(*(_int(keys.get(f"{prefix}{name}")) for name in names))


def _atom(found: re.Match[str]) -> Iteration:
    kind, keys = found[1], _keys(found[2])
    size, _, padded = keys.get("bs", "").partition("/")
    batch, tokens = _int(size), _int(keys.get("tok"))
    contexts = keys.get("ctx", "")
    each = [int(text) for text in re.findall(r"\d{1,18}", contexts)]
    listed = sum(each) if each and not re.search(r"\.\.|…", contexts) else None
    known = _int(keys.get("sk"))
    group = Requests(
        batch,
        tokens,
        listed if known is None else known,
        _int(keys.get("sqsq")),
        _int(keys.get("sqsk")),
    )
    told = Iteration("ATOM", 2, batch=batch, padded=_int(padded))
    if kind.startswith("dummy_"):
        return replace(told, phase="idle", context=NO_GROUP, generation=NO_GROUP)
    if kind == "prefill":
        return replace(told, phase="prefill", context=group, generation=NO_GROUP)
    first, second = _int(keys.get("p")) or 0, _int(keys.get("d"))
    if first:
        # The name tells the tokens of both together alone.
        return replace(told, phase="mixed", context=Requests(first), generation=Requests(second))
    is_drafted = bool(_int(keys.get("spec"))) or (tokens or 0) > (batch or 0)
    if tokens is None and not is_drafted:
        group = replace(group, tokens=batch)
    return replace(
        told, phase="decode", context=NO_GROUP, generation=group, is_speculative=is_drafted
    )


_TENSORRT_COUNT = regex(rf"{_N} (ctx reqs|ctx tokens|gen reqs|gen tokens|mm reqs)", re.ASCII)


def _tensorrt(found: re.Match[str]) -> Iteration:
    counts = {name: int(text) for text, name in _TENSORRT_COUNT.findall(found[2])}
    context = Requests(counts.get("ctx reqs"), counts.get("ctx tokens"))
    generation = Requests(counts.get("gen reqs"), counts.get("gen tokens"))
    told = counted("TensorRT-LLM", 2, context, generation)
    return replace(told, number=_int(found[1]))


def _diffusion(found: re.Match[str]) -> Iteration:
    batch, height, width = (int(text) for text in found.groups())
    return Iteration("xDiT", 2, mode=f"diffusion {height}×{width}", batch=batch)


def _of_user(found: re.Match[str]) -> Iteration:
    groups = {name: text for name, text in found.groupdict().items() if text}
    context = Requests(_int(groups.get("context_requests")), _int(groups.get("context_tokens")))
    generation = Requests(
        _int(groups.get("generation_requests")), _int(groups.get("generation_tokens"))
    )
    told = counted("", -1, context, generation)
    names = groups.keys() & {"context_requests", "generation_requests"}
    written = groups.get("phase", "").lower()
    phases: Mapping[str, Phase] = {
        "prefill": "prefill", "decode": "decode", "mixed": "mixed", "idle": "idle",
    }  # fmt: skip
    phase = phases.get(written, "" if written or not names else told.phase)
    if "batch" in groups or not names:
        told = replace(told, batch=_int(groups.get("batch")))
    return replace(told, phase=phase, mode=written if not phase else "")


def _fixed(engine: str, rank: int, role: Role) -> Callable[[re.Match[str]], Iteration]:
    return lambda found: Iteration(engine, rank, role, batch=_int(next(iter(found.groups()), None)))


class Form(Struct, frozen=True):
    """One form of a name, and what its groups mean."""

    name: str
    pattern: re.Pattern[str]
    read: Callable[[re.Match[str]], Iteration]


def _form(name: str, pattern: str, read: Callable[[re.Match[str]], Iteration]) -> Form:
    return Form(name, regex(pattern, re.ASCII), read)


FORMS: tuple[Form, ...] = (
    _form(
        "vLLM, detailed_trace_annotation",
        rf"execute_{_N}_context_{_N}{_SUMS}_generation_{_N}{_SUMS}",
        _vllm_detailed,
    ),
    _form(
        "vLLM, default",
        rf"execute_context_{_N}\({_N}(?:_{_N})?\)_generation_{_N}\({_N}(?:_{_N})?\)",
        _vllm_default,
    ),
    _form("vLLM, old", rf"execute_new_{_N}_cached_{_N}", _vllm_old),
    _form("SGLang", r"step\[([A-Z][A-Z_]{0,40})((?: +[^\s=\]]+=[^\s\]]*)*)\]", _sglang),
    _form(
        "ATOM",
        r"(prefill|decode|eager_decode|dummy_prefill|dummy_decode)\[(bs=.*)\]",
        _atom,
    ),
    _form(
        "TensorRT-LLM",
        rf"\[Executor\] _forward_step(?: {_N})?: ((?:\d{{1,18}} [a-z]+ [a-z]+(?:, )?)+)",
        _tensorrt,
    ),
    _form("xDiT", rf"execute_diffusion_{_N}_{_N}x{_N}", _diffusion),
    _form(
        "xDiT, pipeline call",
        r"model_inference",
        lambda _: Iteration("xDiT", 5, "part"),
    ),
    _form(
        "vLLM, custom scopes",
        r"gpu_model_runner: forward",
        lambda _: Iteration("vLLM", 4, "stage"),
    ),
    _form(
        "vLLM, parts",
        r"(?:gpu_model_runner|schedule|llm_engine step): .*|Preprocess",
        lambda _: Iteration("vLLM", 5, "part"),
    ),
    _form(
        "ATOM, draft",
        r"(?:draft|propose_\w+)\[.*\]",
        lambda _: Iteration("ATOM", 5, "part"),
    ),
    _form("vLLM, capture", rf"capture_{_N}(?:_[A-Z_]+)?", _fixed("vLLM", 5, "capture")),
    _form("capture", rf"capture_graph_bs_{_N}", _fixed("SGLang", 5, "capture")),
)
_LONGEST = 1000  # characters of a name: beyond it, it is none of these
_BATCH = regex(
    r"^execute_(\d+)_|^capture_(\d+)(?:_|$)|\b(?:bs|batch_size|batch size)[ =:]+(\d+)\b",
    re.IGNORECASE | re.ASCII,
)


def read_name(name: str) -> Iteration | None:
    """Iteration, stage, part or capture by the name of a range; else None.

    >>> read_name("step[DECODE bs=32]").label, read_name("forward")
    ('decode 32', None)
    """
    if len(name) > _LONGEST:
        return None
    own = own_form(os.environ.get(ITERATIONS_VARIABLE, ""))
    if own is not None and (found := own.fullmatch(name)):
        return _of_user(found)
    if _of_any_form().fullmatch(name) is None:
        return None
    for form in FORMS:
        if found := form.pattern.fullmatch(name):
            return form.read(found)
    return None


@cache
def _of_any_form() -> re.Pattern[str]:
    """One expression for all forms: most names are none of them."""
    return re.compile("|".join(f"(?:{form.pattern.pattern})" for form in FORMS), re.ASCII)


@cache
def own_form(pattern: str) -> re.Pattern[str] | None:
    """The user's expression; None for none.

    Raises:
        QueryError: it is no regular expression.
    """
    if not pattern:
        return None
    try:
        return re.compile(pattern)
    except re.error as error:
        raise QueryError(
            f"{ITERATIONS_VARIABLE}: {pattern!r}: {error}",
            hint=r"For example: serve_(?P<phase>prefill|decode)_(?P<batch>\d+)",
        ) from None


def batch_of(name: str) -> int:
    """The size of a captured graph that the name of a range tells, −1 for none.

    >>> batch_of("execute_context_1(8)_generation_31(31)"), batch_of("step[DECODE bs=8]")
    (32, 8)
    >>> batch_of("capture_8192_PIECEWISE"), batch_of("forward")
    (8192, -1)
    """
    told = read_name(name)
    batch = told.size if told is not None else None
    if batch is None and (match := _BATCH.search(name)):
        batch = _int(next((text for text in match.groups() if text), None))
    return batch if batch is not None and batch <= _MOST_BATCH else -1


def _int(text: str | None) -> int | None:
    return int(text) if text and len(text) <= 18 and text.isascii() and text.isdigit() else None


def _keys(text: str) -> dict[str, str]:
    return dict(_KEY.findall(text))
