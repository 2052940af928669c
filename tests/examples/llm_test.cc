// The example's language model: its numbers of half precision, and what it says to batches that it cannot take. That it
// computes what it should, tuneonce_llm checks.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "model.h"
#include "tuneonce/device.h"
#include "weights.h"

namespace llm {
namespace {

TEST(LlmHalfTest, EveryNumberIsItself) {
  for (int bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<Half>(bits);
    const float value = ToFloat(half);
    if (std::isnan(value)) continue;
    ASSERT_EQ(ToHalf(value), half) << value;
  }
}

TEST(LlmHalfTest, OthersAreRoundedToNearestAndTiesToEven) {
  EXPECT_EQ(ToHalf(1.0f + std::ldexp(1.0f, -11)), ToHalf(1.0f));
  EXPECT_EQ(ToHalf(1.0f + 3 * std::ldexp(1.0f, -11)), 0x3c02);
  EXPECT_EQ(ToHalf(2047.9f / 1024), 0x4000) << "up to the next power of two";
  EXPECT_EQ(ToHalf(std::ldexp(1.5f, -25)), 1) << "the smallest";
  EXPECT_EQ(ToHalf(65519.0f), 0x7bff);
  EXPECT_EQ(ToHalf(65520.0f), 0x7c00);
  EXPECT_TRUE(std::isnan(ToFloat(ToHalf(NAN))));
}

TEST(LlmWeightsTest, AreOfZeroMeanAndKeepTheScaleOfAProduct) {
  const ModelShape shape;
  const std::vector<Half> weights = MakeWeight(shape, Weight::kQuery, 1);
  double sum = 0, squares = 0;
  for (Half half : weights) {
    sum += static_cast<double>(ToFloat(half));
    squares += static_cast<double>(ToFloat(half)) * static_cast<double>(ToFloat(half));
  }
  const auto count = static_cast<double>(weights.size());
  EXPECT_NEAR(sum / count, 0, 1e-3);
  EXPECT_GT(squares / count * static_cast<double>(shape.hidden), 0.25);
  EXPECT_LT(squares / count * static_cast<double>(shape.hidden), 1.01);
}

TEST(LlmModelTest, WhatItCannotTakeIsSaid) {
  tuneonce::Device device = *tuneonce::OpenDevice("cpu");
  tuneonce::Context context = *tuneonce::Context::RetainPrimary(device);
  tuneonce::ScopedContext current(context.view());
  tuneonce::Stream stream = *tuneonce::Stream::Create(device.api());
  auto make = [](const tuneonce::EmbeddedBundle& bundle) { return TunedKernel::FromBundle(bundle); };
  ModelShape shape;
  shape.layers = 1;
  Model model = *Model::Make(stream.view(), *Kernels::Make(make), shape, {{16, 64}, {1, 2}});

  EXPECT_EQ(*model.Begin({{1, 2, 3}, {4}}), 16);
  EXPECT_EQ(*model.Begin({std::vector<std::int32_t>(17)}), 64);
  EXPECT_EQ(*model.DecodeBucket(1), 1);
  EXPECT_EQ(*model.DecodeBucket(2), 2);
  EXPECT_EQ(model.DecodeBucket(3).status().message(), "3 sequences: there may be 2");
  EXPECT_EQ(model.Begin({{}}).status().message(), "a sequence has 0 tokens: it may have 1 to 64");
  EXPECT_EQ(model.Begin({std::vector<std::int32_t>(65)}).status().message(),
            "a sequence has 65 tokens: it may have 1 to 64");
  EXPECT_EQ(model.Begin({{256}}).status().message(), "there is no token 256 of 256");
  const std::vector<std::int32_t> most(64);
  EXPECT_EQ(model.Begin({most, most}).status().message(), "2 sequences of 128 tokens: there may be 2 of 64");
  EXPECT_EQ(model.Begin({{1}, {1}, {1}}).status().message(), "3 sequences of 3 tokens: there may be 2 of 64");
}

}  // namespace
}  // namespace llm
