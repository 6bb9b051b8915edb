"""What a kernel is for, by its name; a file of the user's goes first."""

from __future__ import annotations

from pathlib import Path

import pytest

from kinetoscope.analysis import kernel_families
from kinetoscope.analysis.kernel_families import FILE, SETTING, families, family_of, parse_rules
from kinetoscope.base.errors import QueryError


@pytest.mark.parametrize(
    ("kernel", "family"),
    [
        ("volta_sgemm_64x64_nt", "gemm"),
        ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT320x224x64_MI16x16x1", "gemm"),
        ("bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_et64x8", "gemm"),
        ("triton_tem_fused_mm_0", "gemm"),
        ("void cudnn::detail::dgrad_engine<float, 512, 6, 5>(int)", "convolution"),
        ("void cudnn::bn_bw_1C11_kernel_new<float, float>(float)", "norm"),
        ("void at::native::vectorized_elementwise_kernel<4, adam_lambda>(int)", "elementwise"),
        ("void at::native::elementwise_kernel<128, 4, lambda#1>(int)", "elementwise"),
        ("void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>>", "optimizer"),
        ("std::enable_if<true, void>::type vllm::fused_add_rms_norm_kernel<8>", "norm"),
        ("void moe::dev::finalize::finalizeKernelVecLoad<cutlass::bfloat16_t>(int)", "moe"),
        ("void at::native::(anonymous namespace)::max_pool_backward_nchw<float>(int)", "pooling"),
        ("triton_poi_fused__scaled_dot_product_flash_attention_cat_10", "triton"),
        ("attn_fwd", "attention"),
        ("void cutlass::device_kernel<flash::FlashAttnBwdSm90<flash::Mainloop<cute::C<64>>>>(P)",
         "attention"),
        ("void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<int>>>(P)",
         "attention"),
        ("void cutlass::device_kernel<cutlass::fmha::kernel::Sm100FmhaBwdKernel<int>>(P)",
         "attention"),
        ("void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<64>>(P)",
         "attention"),
        ("void ck_tile::kentry<256, 2, ck_tile::FmhaBwdDQDKDVKernel<int>>(P)", "attention"),
        ("fmha_cutlassB_bf16_aligned_64x64_k64_dropout_sm80(PyTorchMemEff::Params)", "attention"),
        ("void attention_kernel_backward_batched_impl<AttentionBackwardKernel<int>>(P)",
         "attention"),
        ("cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_7", "attention"),
        ("void flashinfer::BatchDecodeWithPagedKVCacheKernel<int>(P)", "attention"),
        ("_ZN7cutlass13device_kernelIN5flash11enable_sm90INS1_16FlashAttnFwdSm90I", "attention"),
        ("_attn_bwd_dkdv", "attention"),
        ("triton_tem_fused_flex_attention_backward_3", "attention"),
        ("void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int>>>(P)",
         "gemm"),
        ("void cutlass::device_kernel<at::detail::enable_3x_kernel_for_sm9x<cutlass::gemm::K>>(P)",
         "gemm"),
        ("void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16>(P)", "gemm"),
        ("void cutlass__5x_cudnn::Kernel<cutlass_tensorop_bf16_s16816fprop_nhwc>(P)",
         "convolution"),
        ("void cutlass::device_kernel<cutlass::conv::kernel::ConvUniversal<int>>(P)",
         "convolution"),
        ("void flashinfer::norm::RMSNormKernel<8u, __half>(P)", "norm"),
        ("void deep_ep::layout::get_dispatch_layout<256, 32, 8>(long const*)", "moe"),
        ("my_kernel", "unclassified"),
    ],
)  # fmt: skip
def test_families(kernel: str, family: str) -> None:
    assert family_of(kernel) == family


def test_patterns_of_ours_are_searched_in_lower_case() -> None:
    rules = parse_rules(Path(kernel_families.__file__).with_name(FILE).read_bytes(), FILE)
    assert [rule.pattern for rule in rules if rule.pattern != rule.pattern.lower()] == []
    assert family_of("VOLTA_SGEMM_64X64_NT") == "gemm"


@pytest.mark.parametrize(
    ("kernel", "family"),
    [
        ("my_moe_kernel", "moe"),
        ("moe2", "moe"),
        ("Mamoe", "unclassified"),
        ("deconv_1", "convolution"),
        ("reconvene", "unclassified"),
        ("xdeconv1", "unclassified"),
        ("MHA_fwd", "attention"),
        ("amha_fwd", "unclassified"),
        ("mla", "attention"),
        ("xmla", "unclassified"),
        ("adamw(int)", "optimizer"),
        ("madam", "unclassified"),
    ],
)
def test_a_word_does_not_begin_inside_another(kernel: str, family: str) -> None:
    assert family_of(kernel) == family


@pytest.fixture(name="own_rules")
def clear_rules(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    file = tmp_path / "rules.json"
    monkeypatch.setenv(SETTING, str(file))
    monkeypatch.setattr(kernel_families, "families", families.__wrapped__)
    return file


def test_the_users_rules_go_first(own_rules: Path) -> None:
    own_rules.write_text('[{"family": "ours", "pattern": "SGEMM"}]', encoding="utf-8")
    found = kernel_families.families()
    assert found.of("volta_sgemm_64x64_nt").name == "ours"
    assert found.of("attn_fwd").name == "attention"


@pytest.mark.parametrize(
    "text",
    ["", "{}", '[{"family": "x"}]', '[{"family": "x", "pattern": "("}]', '[{"pattern": 1}]'],
)
def test_a_file_that_holds_no_rules_is_told(own_rules: Path, text: str) -> None:
    own_rules.write_text(text, encoding="utf-8")
    with pytest.raises(QueryError, match="rules"):
        kernel_families.families()


def test_a_file_that_is_not_there_is_told(own_rules: Path) -> None:
    del own_rules
    with pytest.raises(QueryError, match="cannot be read"):
        kernel_families.families()


def test_rules_are_regular_expressions() -> None:
    assert parse_rules(b'[{"family": "a", "pattern": "x+", "why": "y"}]', "f")[0].why == "y"
