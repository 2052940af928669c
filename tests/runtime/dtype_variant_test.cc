// Variants for one dtype each of a tensor whose dtype is open: code, records, warm-ups, pins and messages of each.
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "store/memory_store.h"
#include "testing/device_test.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

/// y = FACTOR x of whole numbers or floats, as the source says: which code ran shows in the result.
KernelSource Times(const std::string& type, const std::string& factor) {
  return KernelSource::CpuCpp("static void times(const tuneonce_block&, const " + type + "* x, " + type +
                                  "* y, int n) {\n  for (int i = 0; i < n; ++i) y[i] = x[i] * " + factor +
                                  ";\n}\nTUNEONCE_CPU_KERNEL(times);",
                              "times");
}

class DTypeVariantTest : public testing::CpuDeviceTest {
 protected:
  struct Listener : AutotuneObserver {
    void OnTuned(const std::string&, const std::string& key, const TuningRecord& result) override {
      tuned.push_back(result.best.variant + " at " + key);
    }
    std::vector<std::string> tuned;
  };

  DTypeVariantTest() {
    policy_.store = std::make_shared<MemoryStore>();
    policy_.observer = listener_;
    policy_.search.max_rounds = 1;
  }
  static KernelDefinition Definition() {
    KernelDefinition definition("times");
    definition.Parameters({In("x", {"N"}).ForWarmup(1), Out("y", SameDTypeAs("x"), {"N"}), DimValue("N")});
    definition.Grid(Grid::Fixed(1));
    auto add = [&](const char* name, DType dtype, const char* type, const char* factor) {
      Variant variant([=](const Config&, const Problem&) { return Times(type, factor); });
      definition.AddVariant(variant.Named(name).Assuming({DTypeIs("x", dtype)}));
    };
    add("of_float", kFloat32, "float", "2");
    add("of_int", kInt32, "int", "3");
    return definition;
  }
  TunedKernel Create(const KernelDefinition& definition = Definition()) {
    Result<TunedKernel> kernel = TunedKernel::Create(definition, policy_);
    EXPECT_OK(kernel);
    return *std::move(kernel);
  }
  static TensorView Of(const DeviceBuffer& buffer, DType dtype) {
    return TensorView::Contiguous(buffer.data(), dtype,
                                  {static_cast<std::int64_t>(buffer.bytes() / DTypeBytes(dtype))});
  }
  /// What comes of one element, 5.
  double Run(TunedKernel& kernel, DType dtype) {
    const std::int32_t five = 5;
    float as_float = 5;
    if (dtype == kInt32) std::memcpy(&as_float, &five, sizeof(five));
    DeviceBuffer x = Floats({as_float}), y = Floats({0});
    EXPECT_OK(kernel.Launch(stream_->get(), Of(x, dtype), Of(y, dtype)));
    const float got = Read(y).front();
    std::int32_t whole = 0;
    std::memcpy(&whole, &got, sizeof(whole));
    return dtype == kInt32 ? static_cast<double>(whole) : static_cast<double>(got);
  }
  TunedKernel::Shape Shape(std::int64_t n) const { return {{{"N", n}}}; }

  std::shared_ptr<Listener> listener_ = std::make_shared<Listener>();
  AutotunePolicy policy_;
};

TEST_F(DTypeVariantTest, EachRunsItsOwnCodeAndAnotherIsRefusedByName) {
  TunedKernel kernel = Create();
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(Run(kernel, kFloat32), 10);
    EXPECT_EQ(Run(kernel, kInt32), 15);
  }
  EXPECT_EQ(kernel.counters().tunes, 2);
  EXPECT_EQ(kernel.counters().hits, 2);
  EXPECT_EQ(listener_->tuned, (std::vector<std::string>{"of_float at N=1, x:float32", "of_int at N=1, x:int32"}));
  DeviceBuffer x = Floats({1}), y = Floats({0});
  EXPECT_ERROR(kernel.Launch(stream_->get(), Of(x, kFloat16), Of(y, kFloat16)), StatusCode::kInvalidArgument,
               "kernel 'times', parameter 'x': its code is for the dtypes int32, float32, not for");
  EXPECT_ERROR(kernel.Launch(stream_->get(), Of(x, kFloat32), Of(y, kInt32)), StatusCode::kInvalidArgument,
               "parameter 'y': expected a float32 tensor, the dtype of 'x'");
  EXPECT_EQ(kernel.counters().tunes, 2);
}

TEST_F(DTypeVariantTest, ARecordOfOneServesNoOther) {
  {
    TunedKernel kernel = Create();
    EXPECT_EQ(Run(kernel, kFloat32), 10);
  }
  TunedKernel kernel = Create();
  EXPECT_EQ(Run(kernel, kInt32), 15);
  EXPECT_EQ(kernel.counters().tunes, 1);
  EXPECT_EQ(Run(kernel, kFloat32), 10);
  EXPECT_EQ(kernel.counters().tunes, 1) << "that one is in the store";
  EXPECT_EQ(policy_.store->List()->size(), 2u);
}

TEST_F(DTypeVariantTest, AShapeMeansTheFirstVariantsUnlessItSaysAnother) {
  TunedKernel kernel = Create();
  ASSERT_OK(kernel.Warmup(stream_->get(), {Shape(1)}));
  EXPECT_EQ(Run(kernel, kFloat32), 10);
  EXPECT_EQ(kernel.counters().tunes, 1);
  TunedKernel::Shape whole = Shape(1);
  whole.values.emplace_back("x", kInt32);
  Result<std::vector<WarmedKey>> warmed = WarmupAll(stream_->get(), {{&kernel, {whole, Shape(1), Shape(2)}}});
  ASSERT_OK(warmed);
  EXPECT_EQ(kernel.counters().tunes, 3);
  EXPECT_EQ(Run(kernel, kInt32), 15);
  EXPECT_EQ(kernel.counters().tunes, 3);
  TunedKernel::Shape half = Shape(1);
  half.values.emplace_back("x", kFloat16);
  EXPECT_ERROR(kernel.Warmup(stream_->get(), {half}), StatusCode::kInvalidArgument,
               "its code is for the dtypes int32, float32");
}

TEST_F(DTypeVariantTest, TheBaselineIsThatOfTheDType) {
  policy_.mode = AutotunePolicy::Mode::kFallbackOnly;
  KernelDefinition definition = Definition();
  SearchSpace space;
  IntAxis tile = space.AddAxis("TILE", {64, 128});
  space.SetBaseline({{tile, 128}});
  definition.Space(space);
  TunedKernel kernel = Create(definition);
  EXPECT_EQ(Run(kernel, kInt32), 15);
  EXPECT_EQ(Run(kernel, kFloat32), 10);
  EXPECT_EQ(kernel.counters().tunes, 0);
}

TEST_F(DTypeVariantTest, APinIsOfOneDType) {
  KernelDefinition definition = Definition();
  SearchSpace space;
  space.AddAxis("TILE", {64, 128});
  definition.Space(space);
  TunedKernel kernel = Create(definition);
  TunedKernel::Shape whole = Shape(1);
  whole.values.emplace_back("x", kInt32);
  ASSERT_OK(kernel.Pin(whole, {{"TILE", 128}}));
  EXPECT_EQ(Run(kernel, kInt32), 15);
  EXPECT_EQ(kernel.counters().tunes, 0);
  EXPECT_EQ(Run(kernel, kFloat32), 10);
  EXPECT_EQ(kernel.counters().tunes, 1);
}

TEST_F(DTypeVariantTest, OneVariantMayBeForSeveral) {
  KernelDefinition definition("times");
  definition.Parameters({In("x", {"N"}), Out("y", SameDTypeAs("x"), {"N"}), DimValue("N")});
  Variant variant([](const Config&, const Problem&) { return Times("T", "2"); });
  definition.Grid(Grid::Fixed(1))
      .AddVariant(variant.DefineType("T", DTypeOf("x")).Assuming({DTypeIn("x", {kFloat32, kInt32, kBFloat16})}));
  TunedKernel kernel = Create(definition);
  EXPECT_EQ(Run(kernel, kFloat32), 10);
  EXPECT_EQ(Run(kernel, kInt32), 10);
  DeviceBuffer x = Floats({1, 2}), y = Floats({0, 0});
  ASSERT_OK(kernel.Launch(stream_->get(), Of(x, kBFloat16), Of(y, kBFloat16)));
  EXPECT_EQ(Read(y), (std::vector<float>{2, 4})) << "a float's upper half is a bfloat16, its lower one 0";
  EXPECT_ERROR(kernel.Launch(stream_->get(), Of(x, kFloat64), Of(y, kFloat64)), StatusCode::kInvalidArgument,
               "its code is for the dtypes int32, bfloat16, float32");
}

TEST_F(DTypeVariantTest, WhatContradictsTheDeclarationIsNotCreated) {
  struct Bad {
    Parameter x;
    std::vector<DType> dtypes;
    const char* error;
  };
  for (const Bad& bad : {Bad{In("x", kFloat32, {"N"}),
                             {kInt32},
                             "an assumption lists the dtype int32 for 'x', which is declared as float32"},
                         Bad{In("x", {"N"}), {}, "an assumption lists no dtype for 'x'"},
                         Bad{In("x", {"N"}), {DType::kAny}, "an assumption lists the dtype any for 'x': list"}}) {
    KernelDefinition definition("times");
    Variant variant([](const Config&, const Problem&) { return Times("int", "2"); });
    definition.Parameters({bad.x, Out("y", {"N"}), DimValue("N")})
        .Grid(Grid::Fixed(1))
        .AddVariant(variant.Assuming({DTypeIn("x", bad.dtypes)}));
    EXPECT_ERROR(TunedKernel::Create(definition, policy_).status(), StatusCode::kInvalidArgument, bad.error);
  }
}

}  // namespace
}  // namespace tuneonce
