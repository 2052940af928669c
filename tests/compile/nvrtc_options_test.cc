// That no compile of NVRTC's gets the options of another one that runs beside it: by a double that has that fault.
#include <dlfcn.h>

#include <string>
#include <thread>
#include <vector>

#include "base/environment.h"
#include "compile/nvrtc_toolchain.h"
#include "testing/expect_status.h"
#include "testing/targets.h"
#include "testing/tools.h"

namespace tuneonce {
namespace {

/// Of so many compiles at the same time, each with the options of one of `each` in turn, the statuses.
std::vector<Status> CompileAtOnce(int count, const std::vector<std::vector<std::string>>& each) {
  Environment environment = Environment::Read();
  environment.nvrtc = TUNEONCE_FORGETFUL_NVRTC;
  NvrtcToolchain nvrtc(testing::ToolsOf(environment));
  std::vector<Status> statuses(static_cast<std::size_t>(count));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    threads.emplace_back([&, i] {
      KernelSource source = KernelSource::CudaCpp("__global__ void add() {}", "add");
      source.options = each[i % each.size()];
      statuses[i] = nvrtc.Compile(source, Hints(), testing::Sm(90)).status();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return statuses;
}

int MostAtATime() {
  void* library = dlopen(TUNEONCE_FORGETFUL_NVRTC, RTLD_NOW | RTLD_NOLOAD);
  auto most = reinterpret_cast<int (*)()>(dlsym(library, "forgetful_nvrtc_most"));
  return most == nullptr ? 0 : most();
}

TEST(NvrtcOptionsTest, CompilesWithOtherOptionsDoNotRunBesideEachOther) {
  for (const Status& status : CompileAtOnce(12, {{"--prec-div=true"}, {"--prec-div=false"}})) EXPECT_OK(status);
}

TEST(NvrtcOptionsTest, ThoseThatDifferInWhatTheyReadDo) {
  for (const Status& status : CompileAtOnce(8, {{}, {"-DTILE=4"}, {"-I/tmp"}, {"-I/"}})) EXPECT_OK(status);
  EXPECT_GT(MostAtATime(), 1);
}

}  // namespace
}  // namespace tuneonce
