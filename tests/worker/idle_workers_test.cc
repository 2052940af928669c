// Workers that wait for the next search, and the thread that ends them.
#include "worker/idle_workers.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <thread>

namespace tuneonce {
namespace {

TEST(IdleWorkersTest, AForkedChildThatDestroysThemDoesNotHang) {
  auto workers = std::make_unique<IdleWorkers>();
  workers->Put("cpu", IdleWorkers::Worker());  // Starts the thread, which the child does not have.
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // Ends a child that hangs.
    workers.reset();
    _exit(0);
  }
  ASSERT_GT(child, 0);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(workers->Has("cpu")) << "the parent's go on";
}

TEST(IdleWorkersTest, AWorkerIsTakenOnceAndEndedWhenItLingeredLongEnough) {
  IdleWorkers workers(std::chrono::milliseconds(1));
  EXPECT_FALSE(workers.Take("cpu").has_value());
  for (int i = 0; i < 2; ++i) {  // The thread goes on when there are none.
    workers.Put("cpu", IdleWorkers::Worker());
    while (workers.Has("cpu")) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  IdleWorkers lasting;
  lasting.Put("cpu", IdleWorkers::Worker());
  EXPECT_FALSE(lasting.Take("cuda").has_value());
  EXPECT_TRUE(lasting.Take("cpu").has_value());
  EXPECT_FALSE(lasting.Take("cpu").has_value());
}

}  // namespace
}  // namespace tuneonce
