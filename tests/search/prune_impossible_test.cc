#include "search/candidate.h"
#include "testing/device_test.h"

namespace tuneonce {
namespace {

Candidate WithGeometry(Dim3 grid, Dim3 block, Dim3 cluster, std::int64_t shared_memory_bytes) {
  Candidate candidate;
  candidate.geometry.grid = grid;
  candidate.geometry.block = block;
  candidate.geometry.cluster = cluster;
  candidate.geometry.shared_memory_bytes = shared_memory_bytes;
  return candidate;
}

TEST(PruneImpossibleTest, WhatTheTargetCannotLaunchIsNotCompiled) {
  struct Case {
    Candidate candidate;
    const char* target;
    OutcomeKind failure;
    const char* reason;
  };
  const Dim3 one;
  const Case cases[] = {
      {WithGeometry({8, 1, 1}, {64, 32, 1}, one, 0), "sm_90", OutcomeKind::kResources,
       "the config needs 2048 threads per block, but sm_90 has at most 1024"},
      {WithGeometry({8, 1, 1}, {64, 1, 1}, {2, 1, 1}, 0), "sm_80", OutcomeKind::kResources,
       "the config needs 2 blocks per cluster, but sm_80 has at most 1"},
      {WithGeometry({8, 1, 1}, {64, 1, 1}, one, 100 * 1024), "sm_86", OutcomeKind::kResources,
       "the config needs 102400 bytes of shared memory, but sm_86 has at most 101376"},
      {WithGeometry({8, 100000, 1}, {64, 1, 1}, one, 0), "sm_90", OutcomeKind::kLaunch,
       "grid (8, 100000, 1), block (64, 1, 1) cannot be launched"},
  };
  for (const Case& c : cases) {
    PlannedConfig planned;
    planned.alternatives = {c.candidate, WithGeometry({8, 1, 1}, {64, 1, 1}, one, 0)};
    PruneImpossible(*Target::Named(c.target), &planned);
    ASSERT_EQ(planned.alternatives.size(), 1u) << c.reason;
    EXPECT_EQ(planned.alternatives.front().geometry.block, (Dim3{64, 1, 1}));
    ASSERT_EQ(planned.passed_over.size(), 1u);
    EXPECT_EQ(planned.passed_over.front().reason.find(c.reason), 0u) << planned.passed_over.front().reason;
    EXPECT_EQ(planned.failure, c.failure) << c.reason;
  }
  // A default-constructed target has no known limits.
  PlannedConfig planned;
  planned.alternatives = {cases[0].candidate};
  PruneImpossible(Target(), &planned);
  EXPECT_EQ(planned.alternatives.size(), 1u);
}

}  // namespace
}  // namespace tuneonce
