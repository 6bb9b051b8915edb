"""The models of ops read their arguments where torch's schemas have them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kinetoscope.analysis.speed_of_light.models import MODELS
from kinetoscope.analysis.speed_of_light.products import AttentionModel, ConvolutionModel

CAUSAL = {"is_causal", "custom_mask_type"}
MASK = {"attn_bias", "attn_mask", "bias"}
LENGTHS = ({"cum_seq_q", "cu_seqlens_q"}, {"cum_seq_k", "cu_seqlens_k"})


@pytest.fixture(name="schemas", scope="module")
def names_of_arguments() -> Mapping[str, list[list[str]]]:
    """Op → the names of the arguments of each overload."""
    torch = pytest.importorskip("torch")
    found: dict[str, list[list[str]]] = {}
    for schema in torch._C._jit_get_all_schemas():
        if schema.name in MODELS and schema.overload_name not in ("out", "grad_input"):
            found.setdefault(schema.name, []).append([one.name for one in schema.arguments])
    return found


def usual(overloads: list[list[str]]) -> list[str]:
    """The overload with the fewest arguments: of 8-bit floats one has scales, too."""
    return min(overloads, key=len)


def of_kind(kind: type) -> list[str]:
    return [name for name, model in MODELS.items() if isinstance(model, kind)]


@pytest.mark.parametrize("name", of_kind(AttentionModel))
def test_attention(name: str, schemas: Mapping[str, list[list[str]]]) -> None:
    model = MODELS[name]
    assert isinstance(model, AttentionModel)
    if name not in schemas:
        pytest.skip(f"this torch has no {name}")
    arguments = usual(schemas[name])
    assert arguments.index("query") == model.query
    assert model.causal is not None
    assert arguments[model.causal] in CAUSAL
    assert (arguments[model.causal] == "custom_mask_type") == model.is_code
    masks = [at for at, one in enumerate(arguments) if one in MASK]
    assert ([] if model.mask is None else [model.mask]) == masks
    assert (arguments.index("out") if "out" in arguments else None) == model.result
    if model.lengths is not None:
        for at, names in zip(model.lengths, LENGTHS, strict=True):
            assert arguments[at] in names
    if model.scaled is not None:
        least, causal = model.scaled
        longer = [one for one in schemas[name] if len(one) >= least > len(arguments)]
        assert [one.index("is_causal") for one in longer] in ([], [causal])


@pytest.mark.parametrize("name", of_kind(ConvolutionModel))
def test_convolutions(name: str, schemas: Mapping[str, list[list[str]]]) -> None:
    model = MODELS[name]
    assert isinstance(model, ConvolutionModel)
    if name not in schemas:
        pytest.skip(f"this torch has no {name}")
    arguments = usual(schemas[name])
    found = (model.stride, model.padding, model.dilation, model.bias, model.transposed)
    words = ("stride", "padding", "dilation", "bias", "transposed")
    assert found == tuple(arguments.index(one) if one in arguments else None for one in words)
    assert model.always_transposed == name.endswith("_transpose")
