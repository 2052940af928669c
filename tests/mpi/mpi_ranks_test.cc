// The suite of all RankGroups over MPI: each rank is a process, and runs the same cases in the same order.
#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "ranks/rank_group_conformance.h"
#include "testing/expect_status.h"
#include "tuneonce/mpi_rank_group.h"

namespace tuneonce {
namespace {

std::uint64_t next_attempt = 0;  // The same in all ranks.

std::shared_ptr<RankGroup> Next() {
  MpiRankOptions options;
  options.attempt = next_attempt++;
  Result<std::shared_ptr<RankGroup>> made = MakeMpiRank(options);
  EXPECT_OK(made);
  return *made;
}

class MpiRanksTest : public ::testing::TestWithParam<RankGroupCase> {};

TEST_P(MpiRanksTest, Conforms) { GetParam().body(Next); }

std::vector<RankGroupCase> CasesOfTheLiving() {
  std::vector<RankGroupCase> cases;
  for (RankGroupCase& each : RankGroupCases()) {
    if (!each.needs_dead_ranks) cases.push_back(std::move(each));
  }
  return cases;
}
INSTANTIATE_TEST_SUITE_P(, MpiRanksTest, ::testing::ValuesIn(CasesOfTheLiving()),
                         [](const auto& about) { return about.param.name; });

TEST(MpiRankGroupTest, ADeciderThatHangsEndsNobodysWait) {
  std::shared_ptr<RankGroup> group = Next();
  if (group->rank() == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // In no call of the group.
  } else {
    EXPECT_ERROR(group->PutOnce("cell", "mine", 50), StatusCode::kDeadlineExceeded, "rank 0, which decides");
    EXPECT_FALSE(group->Get("nothing", 50)->has_value());
  }
  Result<std::string> held = group->PutOnce("cell", "another", 20000);
  ASSERT_OK(held);
  Result<std::vector<std::string>> all = group->AllGather(*held, 20000);
  ASSERT_OK(all);
  for (const std::string& each : *all) EXPECT_EQ(each, *held);
}

TEST(MpiRankGroupTest, WhatWasSaidArrivesThoughItsSenderIsInNoCallAnyMore) {
  std::shared_ptr<RankGroup> group = Next();
  const std::string large(60000, 'x');  // A long list of keys.
  // Beside MPI, whose calls would bring what is on its way along: a file of each receiver.
  auto heard = [](int rank) {
    return ::testing::TempDir() + "tuneonce_mpi_" + std::to_string(getppid()) + "_" + std::to_string(rank);
  };
  if (group->rank() == 0) {
    EXPECT_OK(group->Put("large", large));
    EXPECT_OK(group->PutOnce("decided", large, 0));
    for (int rank = 1; rank < group->size(); ++rank) {
      int looks = 0;
      while (unlink(heard(rank).c_str()) != 0 && ++looks < 2000)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      EXPECT_LT(looks, 2000) << "rank " << rank << " did not hear it";
    }
  } else {
    Result<std::optional<std::string>> decided = group->Get("decided", 20000);
    ASSERT_OK(decided);
    EXPECT_TRUE(**decided == large);
    EXPECT_TRUE(**group->Get("large", 0) == large);
    std::ofstream(heard(group->rank())) << "heard";
  }
  EXPECT_OK(group->AllGather("", 20000));
}

TEST(MpiRankGroupTest, MessagesOfOthersOnTheSameTagAreNotTakenForItsOwn) {
  std::shared_ptr<RankGroup> group = Next();
  const int to = (group->rank() + 1) % group->size();
  const int tag = MpiRankOptions().tag + static_cast<int>((next_attempt - 1) % 1000);
  {  // Of another attempt whose tag is the same.
    MpiRankOptions other;
    other.attempt = next_attempt - 1 + 1000;
    std::shared_ptr<RankGroup> same_tag = *MakeMpiRank(other);
    EXPECT_OK(same_tag->Put("cell", "old"));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (const std::string& bytes : {std::string(), std::string("abc"), std::string(100, '\xff')}) {
    MPI_Send(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to, tag, MPI_COMM_WORLD);
  }
  Result<std::vector<std::string>> all = group->AllGather("new", 20000);
  ASSERT_OK(all);
  EXPECT_FALSE(group->Get("cell", 30)->has_value());
  EXPECT_OK(group->AllGather("", 20000));
}

TEST(MpiRankGroupTest, WhatCannotBeIsAClearError) {
  std::shared_ptr<RankGroup> group = Next();
  MpiRankOptions options;
  options.communicator = MPI_Comm_c2f(MPI_COMM_NULL);
  EXPECT_ERROR(MakeMpiRank(options), StatusCode::kInvalidArgument, "communicator");
  options = MpiRankOptions();
  options.tag = 32767;
  EXPECT_ERROR(MakeMpiRank(options), StatusCode::kInvalidArgument, "tag");
  std::thread([&] {  // MPI was initialized for its main thread.
    EXPECT_ERROR(group->Put("x", ""), StatusCode::kFailedPrecondition, "MPI_THREAD_SERIALIZED");
  })
      .join();
  EXPECT_OK(group->AllGather("", 20000));
}

}  // namespace
}  // namespace tuneonce

int main(int argc, char** argv) {
  if (tuneonce::MakeMpiRank().ok()) return 2;  // Before MPI is there.
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  ::testing::InitGoogleTest(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  MPI_Finalize();
  return tuneonce::MakeMpiRank().ok() ? 2 : failed;
}
