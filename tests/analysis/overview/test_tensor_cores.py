"""What kernel names say about tensor and matrix cores."""

from __future__ import annotations

import pytest

from kinetoscope.analysis.overview.utilization import ELIGIBLE_OPS, MatrixUse, matrix_use

YES = [
    "volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn",
    "turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_stages_32x1_tn",
    "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn",
    "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x64_32x6_nt_align1>(Params)",
    "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x64x32",
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1",
    "nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_NNT",
    "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64>>(Params)",
    "fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel)",
    "void cutlass::device_kernel<at::MainloopSm90TmaGmmaWarpSpecialized<4>>(Params)",
    "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x32x64_MI16x16x1_SN_LDSB1",
    "igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x256x32_wt32x32x8_ws1x2",
    "void ck::kernel_gemm_xdl_cshuffle_v3<ck::GridwiseGemm>(Argument)",
    "attn_fwd",
    "void cutlass::device_kernel<flash::FlashAttnBwdSm90<flash::Mainloop>>(Params)",
    "void cutlass::device_kernel<cutlass::fmha::kernel::Sm100FmhaBwdKernel>(Params)",
    "void ck_tile::kentry<256, 2, ck_tile::FmhaBwdDQDKDVKernel<int>>(P)",
]
NO = [
    "volta_sgemm_64x64_nt",
    "ampere_sgemm_128x64_tn",
    "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_aligna4",
    "void cutlass::Kernel<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>(Params)",
    "void implicit_convolve_sgemm<float, float, 1024, 6, 7, 3, 3, 5, 1, false, true, true>(int)",
    "cudnn_volta_scudnn_128x64_relu_xregs_large_nn_v1",
    "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>(int)",
    "triton_poi_fused_add_relu_3",
    "triton_per_fused_native_layer_norm_1",
    "void flash_bwd_dot_do_o_kernel<true, Flash_bwd_kernel_traits<64>>(Flash_bwd_params)",
    "void cutlass::device_kernel<flash::FlashAttnBwdPreprocess<cute::C<64>>>(Params)",
    "void flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<64>, 4>(Flash_fwd_params)",
]
UNKNOWN = ["triton_tem_fused_mm_2", "_matmul_ogs_NNT_bf16xbf16", "my_kernel", "pe_exe", ""]


@pytest.mark.parametrize("name", YES)
def test_names_that_say_yes(name: str) -> None:
    assert matrix_use(name) == MatrixUse.YES


@pytest.mark.parametrize("name", NO)
def test_names_that_say_no(name: str) -> None:
    assert matrix_use(name) == MatrixUse.NO


@pytest.mark.parametrize("name", UNKNOWN)
def test_names_that_do_not_tell(name: str) -> None:
    assert matrix_use(name) == MatrixUse.UNKNOWN


def test_ops_that_could_use_them() -> None:
    assert {"aten::mm", "aten::cudnn_convolution", "aten::convolution_backward"} <= ELIGIBLE_OPS
    assert "aten::add" not in ELIGIBLE_OPS
