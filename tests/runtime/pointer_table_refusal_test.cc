// What is refused of tables of pointers, and of tensors that are such tables and do not say so.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "testing/pointer_table_test.h"

namespace tuneonce {
namespace {

using testing::PointerTableTest;

TEST_F(PointerTableTest, WhatCannotBeDeclaredIsRefused) {
  struct Case {
    std::vector<Parameter> parameters;
    std::vector<Assumption> assumptions;
    CallingConvention convention;
    const char* error;
  };
  const Parameter a = In("a", kFloat32, {"G", "M"}).ByPointers({"M"});
  const CallingConvention plain = CallingConvention::kPlain;
  const Case cases[] = {
      {{In("a", kFloat32, {"G"}).ByPointers()}, {}, plain, "parameter 'a': ByPointers needs at least two dims"},
      {{In("a", kFloat32, {"G", "M"}).ByPointers({"G"})},
       {},
       plain,
       "lets the dim 'G' vary, but the tensors in the table have no such dim"},
      {{a, Scalar<int>("s").ByPointers()}, {}, plain, "parameter 's': ByPointers is only for tensor parameters"},
      {{a, StrideValue("a", 1)}, {}, plain, "StrideValue('a', 1): a tensor that is passed ByPointers is always dense"},
      {{a, Descriptor("map", "a", TensorMap{{8, 8}})}, {}, plain, "is passed as a table of pointers"},
      {{In("a", kFloat32, {"G", "M"}).ByPointers().ForWarmup(WarmupFill::Iota())}, {}, plain, "filled with a constant"},
      {{a}, {}, CallingConvention::kCutilePython, "cuTile's calling convention cannot pass a table of pointers"},
      {{a}, {ExtentDivisibleBy("a", 1, 8)}, plain, "whose tensors may differ in 'M'"},
      {{a}, {StrideIs("a", 1, 1)}, plain, "an assumption fixes a stride of 'a', which is a table of pointers"},
      {{a}, {Aligned("a", 12)}, plain, "the alignment of such a table must be a power of two"},
      {{a, Out("b", kFloat32, {"M"})}, {NoOverlap("b", "a")}, plain, "an assumption excludes overlaps with 'a'"},
  };
  for (const Case& each : cases) {
    KernelDefinition definition("k");
    Variant variant(testing::NoSource);
    variant.Grid(Grid::Fixed(1)).Assuming(each.assumptions).Convention(each.convention);
    definition.Parameters(each.parameters).AddVariant(variant);
    EXPECT_ERROR(TunedKernelOn::Create(*device_, definition, policy_), StatusCode::kInvalidArgument, each.error);
  }
}

TEST_F(PointerTableTest, WhatDoesNotFitIsRefusedInWords) {
  TunedKernel kernel = Create(Doubled());
  const std::vector<int> rows = {2, 3};
  Group x = Make(rows, 3), y = Make(rows, -1);
  DeviceBuffer sizes = Ints(rows), other = Ints({1, 2, 3, 4, 5, 6, 7, 8});
  const TensorView a = x.table().tensors[0], b = x.table().tensors[1];
  auto table = [&](std::vector<TensorView> tensors) {
    return [&, tensors = std::move(tensors), at = x.table().view.data](TunedKernel& its) {
      return its.Launch(stream_->get(), PointerTable::Of(at, tensors.data(), tensors.size()), View(sizes), y.table());
    };
  };
  TensorView halves = b, flat = b, wide = b, unsized = b, gaps = b;
  halves.dtype = kFloat16;
  flat.rank = 1;
  wide = TensorView::Contiguous(b.data, kFloat32, {2, 6});
  unsized.bytes = 0;
  gaps.strides[0] = 8;
  struct Case {
    std::function<Status(TunedKernel&)> launch;
    const char* error;
  };
  const Case cases[] = {
      {table({a, halves}),
       "'x': tensor 1 of the table is float16[3, 4], but the first tensor is float32[2, 4]: all tensors"},
      {table({a, flat}), "'x': tensor 1 of the table is float32[3], but the first tensor is float32[2, 4]"},
      {table({halves, halves}), "'x': expected a table of pointers to float32 tensors of rank 2 (PointerTable), got a"},
      {table({a, wide}),
       "'x': the tensors of the table have different extents in dimension 1 ('N'), but are declared with the same "
       "extent"},
      {table({a, unsized}), "'x': tensor 1 of the table has a size of 0 bytes"},
      {table({a, gaps}), "1 of the tensors that 'x' points to have gaps, but the kernel needs contiguous memory"},
      {table({a, b, b}), "'rows', dimension 0 ('G'): extent 2 disagrees with G=3"},
      {table({b, a}), "'x': entry 0 of the table is 0x"},
      {[&](TunedKernel& its) { return its.Launch(stream_->get(), a, View(sizes), y.table()); },
       "'x': expected a table of pointers to float32 tensors of rank 2 (PointerTable), got float32[2, 4]"},
      {[&](TunedKernel& its) { return its.Launch(stream_->get(), x.table(), x.table(), y.table()); },
       "'rows': expected a int32 tensor of rank 1, got a table of float32[2, 3, 4]"},
      {[&](TunedKernel& its) {
         const PointerTable crooked = PointerTable::Of(static_cast<char*>(other.data()) + 4, &a, 1);
         return its.Launch(stream_->get(), crooked, View(sizes), y.table());
       },
       "'x': the table of addresses is not aligned to 8 bytes"},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.error);
    EXPECT_ERROR(each.launch(kernel), StatusCode::kInvalidArgument, each.error);
  }
  EXPECT_TRUE(AreAll(y, -1));
  EXPECT_EQ(kernel.counters().tunes, 0);
  ASSERT_OK(kernel.Launch(stream_->get(), x.table(), View(sizes), y.table()));
  EXPECT_TRUE(AreAll(y, 6)) << "a call that was wrong says nothing about its key";
}

TEST_F(PointerTableTest, ATableThatIsNotDeclaredIsRefusedBeforeACandidateWritesThroughIt) {
  const std::vector<int> rows = {2, 3};
  Group y = Make(rows, -1);
  SearchSpace space;
  IntAxis kind = space.AddAxis("KIND", {0, 1});
  space.SetBaseline({{kind, 0}});
  auto define = [&](std::vector<std::string> dims) {
    KernelDefinition definition("hidden");
    const std::string source =
        "static void hidden(const tuneonce_block&, float* const* y, int* n) { y[0][0] = KIND; *n = 1; }"
        "TUNEONCE_CPU_KERNEL(hidden);";
    definition.Parameters({In("y", kInt64, std::move(dims)), Out("n", kInt32, {"ONE"})})
        .Space(space)
        .AddVariant(Variant([=](const Config& c, const Problem&) {
                      return KernelSource::CpuCpp(source, "hidden").Define("KIND", c[kind]);
                    }).Grid(Grid::Fixed(1)));
    return definition;
  };
  DeviceBuffer n = Ints({0});
  const TensorView out = View(n), table = TensorView::Contiguous(y.table().view.data, kInt64, {2});
  TunedKernel kernel = Create(define({"G"}));
  const char* refused = "parameter 'y': element 0 of the input is a device address";
  EXPECT_ERROR(kernel.Launch(stream_->get(), table, out), StatusCode::kInvalidArgument, refused);
  EXPECT_ERROR(kernel.Warmup(stream_->get(), table, out), StatusCode::kInvalidArgument, refused);
  EXPECT_ERROR(exhaustive_search(define({"G"}), stream_->get(), {table, out}, policy_.search),
               StatusCode::kInvalidArgument, refused);
  EXPECT_TRUE(AreAll(y, -1));
}

TEST_F(PointerTableTest, LargeNumbersThatAreNoAddressesAreNoTable) {
  SearchSpace space;
  IntAxis kind = space.AddAxis("KIND", {0, 1});
  space.SetBaseline({{kind, 0}});
  KernelDefinition definition("counted");
  definition.Parameters({In("x", kInt64, {"G"}), Out("n", kInt64, {"G"})})
      .Space(space)
      .AddVariant(Variant([=](const Config& c, const Problem&) {
                    return KernelSource::CpuCpp(
                               "static void counted(const tuneonce_block&, const long* x, long* n) "
                               "{ n[0] = x[0] + 0 * KIND; n[1] = x[1]; }"
                               "TUNEONCE_CPU_KERNEL(counted);",
                               "counted")
                        .Define("KIND", c[kind]);
                  }).Grid(Grid::Fixed(1)));
  const std::int64_t values[] = {1732500000000000, std::int64_t{1} << 40};
  DeviceBuffer x = *DeviceBuffer::Allocate(stream_->view(), 16), n = *DeviceBuffer::Allocate(stream_->view(), 16);
  ASSERT_OK(x.CopyFromHost(values, 16));
  TunedKernel kernel = Create(definition);
  ASSERT_OK(kernel.Launch(stream_->get(), TensorView::Contiguous(x.data(), kInt64, {2}),
                          TensorView::Contiguous(n.data(), kInt64, {2})));
  EXPECT_EQ(kernel.counters().tunes, 1);
}

}  // namespace
}  // namespace tuneonce
