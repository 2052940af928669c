// What PTX is seen to do: of NVRTC's, of Triton's manner, and of texts that are none.
#include <gtest/gtest.h>

#include "base/file.h"
#include "inspect/classification.h"
#include "testing/device_test.h"
#include "testing/sampling.h"

namespace tuneonce {
namespace {

std::string Kernel(const std::string& body) {
  return ".version 8.0\n.target sm_90\n.address_size 64\n"
         ".visible .entry k(\n  .param .u64 .ptr .global .align 16 k_param_0,\n"
         "  .param .u64 .ptr .global .align 16 k_param_1,\n  .param .u64 .ptr .global .align 16 k_param_2\n)\n{\n"
         "  .reg .b32 %r<99>;\n"
         "  ld.param.u64 %rd1, [k_param_0];\n  ld.param.u64 %rd2, [k_param_1];\n  ld.param.u64 %rd3, [k_param_2];\n"
         "  mov.u32 %r1, %tid.x;\n  mul.wide.u32 %rd4, %r1, 4;\n  mov.u32 %r90, %ctaid.x;\n"
         "  add.s64 %rd5, %rd1, %rd4;\n  add.s64 %rd6, %rd2, %rd4;\n  add.s64 %rd7, %rd3, %rd4;\n" +
         body + "  ret;\n}\n";
}

const char kLoad[] = "  ld.global.b32 %r2, [%rd5];\n";
const char kWarpSum[] =
    "  shfl.sync.bfly.b32 %r3, %r2, 16, 31, -1;\n  add.f32 %r4, %r2, %r3;\n"
    "  shfl.sync.bfly.b32 %r5, %r4, 8, 31, -1;\n  add.f32 %r6, %r4, %r5;\n";
const char kProduct[] =
    "  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r20,%r21,%r22,%r23}, {%r2,%r2,%r2,%r2}, {%r2,%r2}, "
    "{%r20,%r21,%r22,%r23};\n";
const char kSoftmaxOfProduct[] =
    "  shfl.sync.bfly.b32 %r50, %r20, 2, 31, -1;\n  max.f32 %r51, %r20, %r50;\n"
    "  sub.f32 %r52, %r20, %r51;\n  ex2.approx.ftz.f32 %r53, %r52;\n";

TEST(PtxEvidenceTest, WhatIsSeenOfPlainKernels) {
  struct Case {
    const char* what;
    std::string body;
    const char* family;
  };
  const std::string load = kLoad, sum = kWarpSum, product = kProduct, softmax = kSoftmaxOfProduct;
  const Case kCases[] = {
      {"an element in, one out", load + "  add.f32 %r3, %r2, %r2;\n  st.global.b32 [%rd6], %r3;\n", "elementwise"},
      {"the same in place", load + "  add.f32 %r3, %r2, %r2;\n  st.global.b32 [%rd5], %r3;\n", "in_place"},
      {"through shared memory",
       load + "  st.shared.b32 [%r9], %r2;\n  ld.shared.b32 %r3, [%r10];\n"
              "  st.global.b32 [%rd6], %r3;\n",
       "unknown"},
      {"a row's sum", load + sum + "  st.global.b32 [%rd2], %r6;\n", "reduction"},
      {"rows that are scaled", load + sum + "  div.full.f32 %r7, %r2, %r6;\n  st.global.b32 [%rd6], %r7;\n",
       "norm_like"},
      {"a prefix sum",
       load + "  shfl.sync.up.b32 %r3, %r2, 1, 0, -1;\n  add.f32 %r4, %r2, %r3;\n"
              "  st.global.b32 [%rd6], %r4;\n",
       "unknown"},
      {"a product", load + product + "  st.global.b32 [%rd6], %r20;\n", "dense_matmul"},
      {"a product by blocks that stay", "$L1:\n" + load + product + "  st.global.b32 [%rd6], %r20;\n  @%p1 bra $L1;\n",
       "persistent_matmul"},
      {"two products, gated",
       load + product +
           "  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r30,%r31,%r32,%r33}, {%r2,%r2,%r2,%r2}, {%r8,%r8}, "
           "{%r30,%r31,%r32,%r33};\n  mul.f32 %r40, %r20, %r30;\n  st.global.b32 [%rd6], %r40;\n",
       "dual_gemm"},
      {"a product times its own sigmoid",
       load + product + "  ex2.approx.f32 %r39, %r20;\n  mul.f32 %r40, %r20, %r39;\n  st.global.b32 [%rd6], %r40;\n",
       "dense_matmul"},
      {"a softmax between products",
       load + product + softmax +
           "  cvt.rn.f16x2.f32 %r54, %r53, %r53;\n"
           "  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r30,%r31,%r32,%r33}, {%r54,%r54,%r54,%r54}, "
           "{%r2,%r2}, "
           "{%r30,%r31,%r32,%r33};\n  st.global.b32 [%rd6], %r30;\n",
       "attention"},
      {"a softmax between products, by way of shared memory",
       load + product + softmax +
           "  cvt.rn.f16x2.f32 %r54, %r53, %r53;\n"
           "  stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r70], {%r54, %r54};\n  bar.sync 0;\n"
           "  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r55, %r56, %r57, %r58}, [%r71];\n"
           "  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r30,%r31,%r32,%r33}, {%r55,%r56,%r57,%r58}, "
           "{%r2,%r2}, "
           "{%r30,%r31,%r32,%r33};\n  st.global.b32 [%rd6], %r30;\n",
       "attention"},
      {"sums of exponentials of products in shared memory, as a cross entropy has them",
       load + product + softmax +
           "  st.shared.b32 [%r70], %r53;\n  bar.sync 0;\n  ld.shared.b32 %r55, [%r71];\n"
           "  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r30,%r31,%r32,%r33}, {%r55,%r55,%r55,%r55}, "
           "{%r2,%r2}, "
           "{%r30,%r31,%r32,%r33};\n  st.global.b32 [%rd6], %r30;\n",
       "unknown"},
      {"rows by a table",
       "  mul.wide.u32 %rd8, %r90, 4;\n  add.s64 %rd9, %rd3, %rd8;\n  ld.global.b32 %r60, [%rd9];\n"
       "  mul.wide.s32 %rd10, %r60, 4;\n  add.s64 %rd11, %rd5, %rd10;\n  ld.global.b32 %r2, [%rd11];\n" +
           product + "  st.global.b32 [%rd6], %r20;\n",
       "grouped_gemm"},
      {"sums of products in plain arithmetic",
       load +
           "  ld.global.b32 %r3, [%rd6];\n  fma.rn.f32 %r4, %r2, %r3, 0f00000000;\n  fma.rn.f32 %r5, %r3, %r2, %r4;\n"
           "  st.global.b32 [%rd7], %r5;\n",
       "unknown"},
      {"nothing stored", load, "unknown"},
  };
  for (const Case& each : kCases) {
    Result<KernelEvidence> evidence = PtxEvidence(Kernel(each.body), "k");
    ASSERT_OK(evidence);
    Classification found = Classify(*evidence);
    EXPECT_STREQ(found.name(), each.family) << each.what << ": " << found.reasons.back();
  }
}

TEST(PtxEvidenceTest, ASoftmaxOfNvrtcIsAScaledRow) {
  Result<KernelEvidence> evidence = PtxEvidence(*ReadFile(TUNEONCE_TEST_DATA "/ptx/softmax.ptx"), "softmax");
  ASSERT_OK(evidence);
  EXPECT_GT(evidence->num_reductions, 0);
  EXPECT_STREQ(Classify(*evidence).name(), "norm_like") << Classify(*evidence).reasons.back();
}

TEST(PtxEvidenceTest, WhatIsNoPtxIsRefusedInOneLine) {
  const std::pair<std::string, const char*> kCases[] = {
      {"", "PTX: the text has no .version"},
      {std::string("\x7f"
                   "ELF\0",
                   5),
       "PTX: the text has no .version"},
      {".version 8.0\n", "PTX: no kernel 'k'"},
      {".version 8.0\n.entry k(", "PTX: the list of parameters has no closing parenthesis"},
      {".version 8.0\n.entry k() { ret;", "PTX: the kernel's body has no closing brace"},
      {Kernel("  call.uni (%r1), helper, (%r2);\n"),
       "PTX: the kernel calls a function, and the analysis does not look into calls: make the function inline "
       "(__forceinline__)"},
  };
  for (const auto& [text, message] : kCases) {
    Result<KernelEvidence> evidence = PtxEvidence(text, "k");
    ASSERT_FALSE(evidence.ok()) << message;
    EXPECT_EQ(evidence.status().message(), message);
  }
}

TEST(PtxEvidenceTest, NoDamageBringsItDown) {
  const std::string text = *ReadFile(TUNEONCE_TEST_DATA "/ptx/softmax.ptx");
  for (std::size_t i = 0; i < text.size(); i += 31 * testing::StepUnlessWhole(16)) {
    for (char replaced : {'{', '}', '[', '%', ';', '\0', '\n'}) {
      std::string damaged = text;
      damaged[i] = replaced;
      Result<KernelEvidence> evidence = PtxEvidence(damaged, "softmax");
      EXPECT_TRUE(evidence.ok() || evidence.status().message().find('\n') == std::string::npos);
    }
    EXPECT_FALSE(PtxEvidence(std::string_view(text).substr(0, i), "softmax").ok()) << "cut to " << i;
  }
}

}  // namespace
}  // namespace tuneonce
