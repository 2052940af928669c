// Candidates that reach their tensors by a table of pointers: what they do wrong, and that it harms nobody.
#include <string>
#include <vector>

#include "testing/pointer_table_test.h"

namespace tuneonce {
namespace {

using testing::PointerTableTest;

TEST_F(PointerTableTest, ACandidateThatIsWrongThroughTheTableFailsAndHarmsNothing) {
  EXPECT_EQ(FailureOf(""), "");
  struct Case {
    const char* also;
    const char* failure;
  };
  const Case cases[] = {
      {"if (g == 2) { for (int i = 0; i < count; ++i) y[g][i] = 2 * x[g][i] + (i == 9 ? 1 : 0); return; }",
       "wrong result: output 'y' (tensor 2): 1 of 28 elements differ"},
      {"if (g == 1) return;", "not written: output 'y' (tensor 1): 8 of 8 elements were not written"},
      {"if (g == 0) x[0][1] = 8;", "wrote an input: the kernel wrote to its input 'x' (tensor 0)"},
      {"const_cast<float**>(x)[2] = x[1];", "wrote an input: it wrote the table of 'x'"},
      {"if (g == 1) y[g][count] = 8;", "out of bounds: it wrote behind 'y' (tensor 1)"},
      {"if (g == 0) const_cast<float**>(y)[groups] = y[0];", "out of bounds: it wrote behind the table of 'y'"},
  };
  for (const Case& each : cases) {
    const std::string failure = FailureOf(each.also);
    EXPECT_NE(failure.find(each.failure), std::string::npos) << each.also << ": " << failure;
  }
}

TEST_F(PointerTableTest, TheSearchLeavesTheCallersTensorsAloneAlsoWhereTheKernelAddsToThem) {
  const std::vector<int> rows = {3, 1};
  Group x = Make(rows, 3), y = Make(rows, 10);
  DeviceBuffer sizes = Ints(rows);
  TunedKernel kernel = Create(Doubled("for (int i = 0; i < count; ++i) y[g][i] += x[g][i]; return;", Access::kInOut));
  ASSERT_OK(kernel.Launch(stream_->get(), x.table(), View(sizes), y.table()));
  EXPECT_TRUE(AreAll(y, 13)) << "added once, by the launch";
  EXPECT_EQ(kernel.counters().tunes, 1);
}

TEST_F(PointerTableTest, IsNotIsolatedAndSaysSo) {
  policy_.search.isolation = Isolation::kPreferred;
  const std::vector<int> rows = {2, 3};
  Group x = Make(rows, 3), y = Make(rows, -1);
  DeviceBuffer sizes = Ints(rows);
  auto search = [&] {
    return exhaustive_search(Doubled(), stream_->get(), {x.table(), View(sizes), y.table()}, policy_.search);
  };
  Result<TuningRecord> here = search();
  ASSERT_OK(here);
  ASSERT_FALSE(here->notes.empty());
  EXPECT_EQ(here->notes.back(),
            "candidates ran in this process: 'x' is a table of pointers, which are not valid in a worker process");
  policy_.search.isolation = Isolation::kRequired;
  EXPECT_ERROR(search(), StatusCode::kFailedPrecondition, "which cannot be used: 'x' is a table of pointers");
  EXPECT_TRUE(AreAll(y, -1));
}

}  // namespace
}  // namespace tuneonce
