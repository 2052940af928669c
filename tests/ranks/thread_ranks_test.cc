#include <gtest/gtest.h>

#include "ranks/rank_group_conformance.h"

namespace tuneonce {
namespace {

class ThreadRanksTest : public ::testing::TestWithParam<RankGroupCase> {};

TEST_P(ThreadRanksTest, Conforms) {
  for (int size : {2, 3, 8}) {
    RunByThreads(GetParam(), size, [&](int) { return MakeThreadRanks(size); });
  }
}

INSTANTIATE_TEST_SUITE_P(, ThreadRanksTest, ::testing::ValuesIn(RankGroupCases()),
                         [](const auto& about) { return about.param.name; });

}  // namespace
}  // namespace tuneonce
