// Finding compilers and their versions. The tools are scripts.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "base/file.h"
#include "compile/command_toolchain.h"
#include "compile/toolbox.h"
#include "testing/device_test.h"
#include "testing/in_child.h"
#include "testing/targets.h"
#include "testing/tools.h"

namespace tuneonce {
namespace {

using testing::CpuTarget;

class ToolTest : public ::testing::Test {
 protected:
  ToolTest() { EXPECT_NE(mkdtemp(folder_.data()), nullptr); }
  ~ToolTest() override { EXPECT_EQ(system(("rm -rf " + folder_).c_str()), 0); }

  std::string Script(const std::string& name, const std::string& body) {
    std::string path = folder_ + "/" + name;
    EXPECT_OK(WriteFile(path, "#!/bin/sh\n" + body + "\n"));
    EXPECT_EQ(chmod(path.c_str(), 0700), 0);
    return path;
  }
  void UseCxx(const std::string& command) { environment_.cxx = command; }
  CommandToolchain Host() const { return CommandToolchain(kHostCompiler, testing::ToolsOf(environment_)); }
  Result<Artifact> Compile() const {
    return Host().Compile(
        KernelSource::CpuCpp("static void k(const tuneonce_block&, int* y) { *y = 1; }\nTUNEONCE_CPU_KERNEL(k);", "k"),
        Hints(), CpuTarget());
  }

  std::string folder_ = "/tmp/tuneonce-test-XXXXXX";
  Environment environment_ = Environment::Read();
  const Toolbox tools_{environment_};
};

TEST_F(ToolTest, AToolThatTakesLongToSayItsVersionHoldsUpNobodyElse) {
  // The slow one ends when the quick one has answered, or in ten seconds.
  std::string slow = Script("slow",
                            "touch \"$0.asked\"\nfor i in $(seq 1000); do [ -e \"$0.go\" ] && echo release 1 && exit\n"
                            "/bin/sleep 0.01; done\ntouch \"$0.blocked\"; echo release 1");
  std::string quick = Script("quick", "echo release 2");
  std::thread other([&] { EXPECT_OK(tools_.Find("slow", slow)); });
  while (access((slow + ".asked").c_str(), F_OK) != 0) std::this_thread::yield();
  Result<Tool> tool = tools_.Find("quick", quick);
  EXPECT_OK(WriteFile(slow + ".go", ""));
  other.join();
  ASSERT_OK(tool);
  EXPECT_EQ(tool->version, "release 2");
  EXPECT_NE(access((slow + ".blocked").c_str(), F_OK), 0) << "it was waited for";
}

TEST_F(ToolTest, AllWhoWantAVersionAskOnce) {
  std::string tool = Script("tool", "echo x >> \"$0.asked\"; echo release 3");
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { EXPECT_EQ(tools_.Find("tool", tool)->version, "release 3"); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(*ReadFile(tool + ".asked"), "x\n");
}

TEST_F(ToolTest, WhatIsNoVersionIsAnErrorInWords) {
  EXPECT_ERROR(tools_.Find("tool", Script("a", "echo cannot open display; exit 0")), StatusCode::kUnavailable,
               "printed no version: cannot open display");
  EXPECT_ERROR(tools_.Find("tool", Script("b", "exit 0")), StatusCode::kUnavailable,
               "printed no version: nothing at all");
  EXPECT_ERROR(tools_.Find("tool", Script("c", "echo no licence >&2; exit 9")), StatusCode::kUnavailable, "no licence");
}

TEST_F(ToolTest, AVersionIsTheSameUnderALimitOnFiles) {
  EXPECT_EQ(testing::InChild([&] {
              UseCxx("c++");
              std::string version = *Host().Version();
              std::string copy = Script("compiler", "exec c++ \"$@\"");  // Another file: it is asked again.
              EXPECT_EQ(chmod(folder_.c_str(), 0755) | chmod(copy.c_str(), 0755), 0);
              const rlimit limit{1 << 24, 1 << 24};
              EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
              if (geteuid() == 0 && setuid(65534) != 0) _exit(testing::kCannotBeTested);
              UseCxx(copy);
              EXPECT_EQ(*Host().Version(), version);
              EXPECT_OK(Compile());
            }),
            0);
}

TEST_F(ToolTest, CxxMayBeACommandWithArguments) {
  std::string compiler = Script("my c++", "exec c++ \"$@\"");
  const std::string commands[] = {"env c++", "'" + compiler + "' -DX=1", "env \"" + compiler + "\"", compiler,
                                  "  c++\t-g "};
  for (const std::string& command : commands) {
    SCOPED_TRACE(command);
    UseCxx(command);
    EXPECT_OK(Compile());
    EXPECT_EQ(Host().Description().find("found"), std::string::npos) << Host().Description();
  }
  UseCxx("c++");
  std::string plain = *Host().Version();
  UseCxx("c++ -m64");
  EXPECT_NE(*Host().Version(), plain) << "what it adds to the command line is part of an artifact's key";
  UseCxx("'c++ -g");
  EXPECT_ERROR(Compile(), StatusCode::kUnavailable, "an opening quote has no closing quote");
  UseCxx("no-such-wrapper c++");
  EXPECT_ERROR(Compile(), StatusCode::kUnavailable, "'no-such-wrapper c++'");
  UseCxx(" ");
  EXPECT_ERROR(Compile(), StatusCode::kUnavailable, "was not found");
}

TEST_F(ToolTest, OptionsThatNameFilesAreKnown) {
  std::string file = Script("options", "");
  const std::string naming[] = {"--options-file=" + file,
                                "--options-file=none," + file,
                                file,
                                "-l" + file,
                                "--apply-controls=" + file,
                                "-l" + folder_};
  for (const std::string& option : naming) EXPECT_TRUE(NamesFiles({"-O3", option})) << option;
  EXPECT_FALSE(NamesFiles({}));
  EXPECT_FALSE(NamesFiles({"-O3", "--maxrregcount=64", "--opt-level", "3", "-v", "-l", "--preview=a,b"}));
}

TEST_F(ToolTest, WhatACompilerCutsShortIsNoArtifact) {
  UseCxx(Script("cutting",
                "c++ \"$@\" || exit\nfor last; do :; done\n[ -e \"$last\" ] && truncate -s 5000 \"$last\"; exit 0"));
  EXPECT_ERROR(Compile(), StatusCode::kInternal, "is not a complete shared object");
}

TEST_F(ToolTest, AFailedCompileFailsAlsoWhereTheHostIgnoresItsChildren) {
  EXPECT_EQ(testing::InChild([&] {
              signal(SIGCHLD, SIG_IGN);
              EXPECT_ERROR(Host().Compile(KernelSource::CpuCpp("this is no C++", "k"), Hints(), CpuTarget()),
                           StatusCode::kInvalidArgument, "k.cc:1");
              EXPECT_OK(Compile());
            }),
            0);
}

}  // namespace
}  // namespace tuneonce
