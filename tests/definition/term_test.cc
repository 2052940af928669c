#include <limits>

#include "testing/device_test.h"
#include "tuneonce/geometry.h"

namespace tuneonce {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

class TermTest : public ::testing::Test {
 protected:
  TermTest() {
    config_ = space_.Enumerate(Target())->front();
    problem_.dims = Dims(3);
    problem_.dims[Dim{0}] = 1000;
    problem_.dims[Dim{1}] = 500;
    problem_.dims[Dim{2}] = kMost;
    target_.num_sms = 132;
    problem_.target = &target_;
    problem_.values = {&causal_, &count_, &large_};
    problem_.dtypes = {DType::kBool, DType::kInt32, DType::kUInt64};
  }
  Result<std::int64_t> Evaluate(Term term) {
    TUNEONCE_RETURN_IF_ERROR(term.Resolve(names_, Term::kNoValue + 1));
    return term.Evaluate(config_, problem_);
  }
  Dim3 Blocks(Grid grid) {
    EXPECT_OK(grid.Resolve(names_));
    return grid(config_, problem_);
  }

  const bool causal_ = true;
  const std::int32_t count_ = -7;
  const std::uint64_t large_ = ~std::uint64_t{0};
  const TermNames names_ = {{"M", "N", "HUGE"},
                            {{"causal", DType::kBool, 0},
                             {"count", DType::kInt32, 1},
                             {"large", DType::kUInt64, 2},
                             {"eps", DType::kFloat32, 3}}};
  SearchSpace space_;
  IntAxis tile_ = space_.AddAxis("TILE", {64});
  IntAxis zero_ = space_.AddAxis("ZERO", {0});
  IntAxis occupancy_ = space_.AddHintAxis("occupancy", {2});
  Config config_;
  Target target_;
  Problem problem_;
};

TEST_F(TermTest, ForOneConfigItsPartsAreConstants) {
  for (Term term :
       {Term(63) / tile_ * "M", CeilDiv("M", tile_) + CeilDiv("N", tile_), Term("count") * (Term(tile_) + 1),
        Term("M") / zero_, Term("M") * (Term(1) / zero_), Term("M") + "N"}) {
    ASSERT_OK(term.Resolve(names_, Term::kNoValue + 1));
    Term of_config = term.For(config_);
    EXPECT_TRUE(of_config.IsOfArguments()) << of_config.ToString();
    EXPECT_EQ(of_config.Value(Config(), problem_), term.Value(config_, problem_)) << term.ToString();
  }
  Term of_device = (NumSms() * occupancy_).For(config_);
  EXPECT_EQ(of_device.Value(Config(), problem_), 264);
}

TEST_F(TermTest, NumbersDimsAxesAndScalarsAreComputedWith) {
  struct Case {
    Term term;
    std::int64_t value;
    const char* text;
  };
  const Case cases[] = {
      {CeilDiv("M", tile_) * CeilDiv("N", tile_), 16 * 8, "ceil_div(M=1000, TILE=64) * ceil_div(N=500, TILE=64)"},
      {Term("M") / tile_ + 1, 16, "M=1000 / TILE=64 + 1"},
      {(Term("M") + "N") * 2, 3000, "(M=1000 + N=500) * 2"},
      {Min(NumSms() * occupancy_, "M"), 264, "min(device.num_sms=132 * occupancy=2, M=1000)"},
      {Max("M", Dim{1}), 1000, "max(M=1000, N=500)"},
      {Term("M") * "causal" + "count", 993, "M=1000 * causal=1 + count=-7"},
      {Term(-3) * "count", 21, "-3 * count=-7"},
      {Term("count") / 2 - Term("count") % 4, -5, "count=-7 / 2 - count=-7 % 4"},
      {CeilDiv("count", 2), -3, "ceil_div(count=-7, 2)"},
  };
  for (const Case& each : cases) {
    Result<std::int64_t> value = Evaluate(each.term);
    ASSERT_OK(value);
    EXPECT_EQ(*value, each.value) << each.text;
    Term resolved = each.term;
    ASSERT_OK(resolved.Resolve(names_, Term::kNoValue + 1));
    EXPECT_EQ(resolved.ToString(config_, problem_), each.text);
    EXPECT_EQ(resolved.Value(config_, problem_), each.value);
  }
}

TEST_F(TermTest, WhatHasNoValueIsSaidAndNeverComputed) {
  struct Case {
    Term term;
    const char* message;
  };
  const Case cases[] = {
      {CeilDiv("M", zero_), "ceil_div(M=1000, ZERO=0) divides by 0"},
      {1 + Term("M") / (Term("N") + -500) * 0, "M=1000 / (N=500 + -500) divides by 0"},
      {Term("HUGE") * 2, "HUGE=9223372036854775807 * 2 does not fit 64 bits"},
      {Term("HUGE") + 1, "does not fit 64 bits"},
      {(Term("HUGE") + 1) * -1, "HUGE=9223372036854775807 + 1 does not fit 64 bits"},
      {Term(kMost) * -1 + -1, "does not fit"},  // It fits, but is the number that stands for none.
      {Term("large") / 2, "large, which has no value that fits 64 bits"},
  };
  for (const Case& each : cases) {
    Term term = each.term;
    ASSERT_OK(term.Resolve(names_, Term::kNoValue + 1));
    EXPECT_EQ(term.Value(config_, problem_), Term::kNoValue) << each.message;
    EXPECT_ERROR(term.Evaluate(config_, problem_), StatusCode::kInvalidArgument, each.message);
  }
  Grid grid = Grid::Fixed(Min(5, CeilDiv("M", zero_)));
  GeometryFn geometry(grid);
  ASSERT_OK(geometry.Resolve(names_));
  EXPECT_FALSE(geometry(config_, problem_).IsLaunchable()) << "no value is not the least of two";
  EXPECT_ERROR(geometry.Check(config_, problem_), StatusCode::kInvalidArgument,
               "the grid: ceil_div(M=1000, ZERO=0) divides by 0");
}

TEST_F(TermTest, NamesOfNothingAndNumbersWithAFractionAreRefused) {
  struct Case {
    Term term;
    const char* message;
  };
  const Case cases[] = {
      {CeilDiv("Q", tile_), "unknown dim 'Q'; the kernel has: M, N, HUGE, and the scalars causal, count, large, eps"},
      {Term("M") * "eps", "the scalar 'eps' is a float32; terms take only integers and booleans"},
      {Min(1, Dim{3}), "no dim has the index 3"},
  };
  for (const Case& each : cases) EXPECT_ERROR(Evaluate(each.term), StatusCode::kInvalidArgument, each.message);
}

TEST_F(TermTest, ThePatternsAreShortFormsOfTerms) {
  const Term tiles = CeilDiv("M", tile_) * CeilDiv("N", 128);
  EXPECT_EQ(Blocks(Grid::OneD({"M", tile_})), Blocks(Grid::Fixed(CeilDiv("M", tile_))));
  EXPECT_EQ(Blocks(Grid::TileCoverage({{"M", tile_}, {"N", 128}})),
            Blocks(Grid::Fixed(CeilDiv("M", tile_), CeilDiv("N", 128))));
  for (int ctas : {1, 2}) {
    EXPECT_EQ(Blocks(Grid::PersistentTiles({{"M", tile_}, {"N", 128}}, ctas, occupancy_)),
              Blocks(Grid::Fixed(Min(NumSms() / ctas * occupancy_, tiles))));
  }
  EXPECT_EQ(Blocks(Grid::PersistentRows("M", occupancy_)), Blocks(Grid::Fixed(Min(NumSms() * occupancy_, "M"))));
  EXPECT_EQ(Blocks(Grid::Attention2D({"M", tile_}, 3, 5)), Blocks(Grid::Fixed(CeilDiv("M", tile_), 15)));
  EXPECT_EQ(Blocks(Grid::Fixed(Min(NumSms(), tiles), 3)), (Dim3{64, 3, 1})) << "a batch beside any pattern";
}

TEST_F(TermTest, DivisorsAndLeastValuesAreThoseThatTheFormShows) {
  auto resolved = [&](Term term) {
    EXPECT_OK(term.Resolve(names_, std::numeric_limits<std::int64_t>::min()));
    return term;
  };
  auto divisor = [&](Term term) { return resolved(std::move(term)).Divisor(config_); };
  auto least = [&](Term term) { return resolved(std::move(term)).LeastValue(config_); };
  EXPECT_EQ(divisor(24), 24);
  EXPECT_EQ(divisor(-24), 24);
  EXPECT_EQ(divisor(0), 1);
  EXPECT_EQ(divisor("M"), 1);
  EXPECT_EQ(divisor(16 * CeilDiv("M", 16)), 16);
  EXPECT_EQ(divisor(tile_ * CeilDiv("M", tile_)), Term(tile_).Value(config_, problem_));
  EXPECT_EQ(divisor(16 * Term("M") + 24), 8);
  EXPECT_EQ(divisor(Min(16 * Term("M"), 24)), 8);
  EXPECT_EQ(divisor(16 * Term("M") / 2), 1) << "a quotient's form shows nothing";
  EXPECT_EQ(least("M"), 0);
  EXPECT_EQ(least(NumSms() * 2), 2);
  EXPECT_EQ(least(Term("M") + 3), 3);
  EXPECT_EQ(least(Max("M", 5)), 5);
  EXPECT_EQ(least(Min("M", 5)), 0);
  EXPECT_EQ(least(CeilDiv("M", 16)), 0);
  EXPECT_EQ(least(Term("M") * -1), Term::kNoValue);
  EXPECT_EQ(least(Term("count") / 16), Term::kNoValue) << "a scalar may be negative, and division rounds down";
  EXPECT_EQ(least(Term("count") % 16), 0);
  EXPECT_EQ(least(Term("M") - 1), Term::kNoValue);
  EXPECT_EQ(divisor(16 * Term("M") - 24), 8);
}

TEST_F(TermTest, ACopyIsResolvedApartFromItsOriginal) {
  Term term = Term("N") * 2;
  Term copy = term;
  ASSERT_OK(term.Resolve(TermNames{{"N"}, {}}, 1));
  ASSERT_OK(copy.Resolve(names_, 1));
  EXPECT_EQ(copy.Value(config_, problem_), 1000);
  EXPECT_EQ(term.Value(config_, problem_), 2000);
}

TEST_F(TermTest, EachPropertyOfTheDeviceHasItsValueAndItsName) {
  target_.capability_major = 9;
  target_.max_shared_memory_bytes = 1;
  target_.l2_bytes = 2;
  target_.shared_memory_per_sm = 3;
  target_.max_threads_per_block = 4;
  target_.max_threads_per_sm = 5;
  target_.registers_per_sm = 6;
  target_.warp_size = 7;
  target_.max_cluster_size = 8;
  auto expect = [&](const Term& property, std::int64_t value, const std::string& name) {
    EXPECT_EQ(*Evaluate(property), value) << name;
    EXPECT_EQ(property.ToString(), "device." + name);
  };
  expect(NumSms(), 132, "num_sms");
  expect(Capability(), 90, "capability");
  expect(SharedMemory(), 1, "shared_memory");
  expect(L2Bytes(), 2, "l2_bytes");
  expect(SharedMemoryPerSm(), 3, "shared_memory_per_sm");
  expect(MaxThreadsPerBlock(), 4, "max_threads_per_block");
  expect(MaxThreadsPerSm(), 5, "max_threads_per_sm");
  expect(RegistersPerSm(), 6, "registers_per_sm");
  expect(WarpSize(), 7, "warp_size");
  expect(MaxClusterSize(), 8, "max_cluster_size");
}

}  // namespace
}  // namespace tuneonce
