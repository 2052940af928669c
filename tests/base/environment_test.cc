#include "base/environment.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace tuneonce {
namespace {

/// Leaves the process's variables as they were: under an emulator all tests are run in one process.
class EnvironmentTest : public ::testing::Test {
 protected:
  EnvironmentTest() {
    for (char** variable = environ; *variable != nullptr; ++variable) before_.emplace_back(*variable);
  }
  ~EnvironmentTest() override {
    clearenv();
    for (const std::string& variable : before_) {
      const std::size_t end = variable.find('=');
      setenv(variable.substr(0, end).c_str(), variable.substr(end + 1).c_str(), 1);
    }
  }

 private:
  std::vector<std::string> before_;
};

TEST_F(EnvironmentTest, IsReadWhenItIsAskedForAndStaysAsItWas) {
  setenv("DISABLE_AUTOTUNE", "1", 1);
  setenv("TUNEONCE_CPU_DEVICES", "99", 1);  // Out of range: the default stays.
  Environment before = Environment::Read();
  EXPECT_TRUE(before.disable_autotune);
  EXPECT_EQ(before.cpu_devices, 1);
  setenv("DISABLE_AUTOTUNE", "0", 1);
  EXPECT_TRUE(before.disable_autotune);
  EXPECT_FALSE(Environment::Read().disable_autotune);
}

TEST_F(EnvironmentTest, TheProjectsOwnNameWorksToo) {
  setenv("TUNEONCE_DISABLE_AUTOTUNE", "1", 1);
  EXPECT_TRUE(Environment::Read().disable_autotune);
}

const std::map<std::string, std::string> kVariables = {{"TUNEONCE_TILEIRAS", "/t/tileiras"},
                                                       {"TUNEONCE_PTXAS", "/t/ptxas"},
                                                       {"TUNEONCE_CUPTI", "/t/cupti.so"},
                                                       {"TUNEONCE_NVML", "/t/nvml.so"},
                                                       {"TUNEONCE_STORE", "/t/store.db"},
                                                       {"XDG_CACHE_HOME", "/t/cache"},
                                                       {"ENABLE_TILE", "0"},
                                                       {"TUNEONCE_BUNDLES", "/t/a:/t/b"},
                                                       {"TUNEONCE_RECORD_SHAPES", "/t/shapes"},
                                                       {"TUNEONCE_FLEET_KEYS", "/t/keys"},
                                                       {"TUNEONCE_REDIS_PASSWORD", "open"},
                                                       {"VIRTUAL_ENV", "/t/venv"},
                                                       {"HOME", "/t/home"},
                                                       {"TUNEONCE_COMPILE_WORKERS", "3"},
                                                       {"TUNEONCE_CPU_DEVICES", "2"},
                                                       {"TUNEONCE_CPU_MEMORY_MIB", "64"},
                                                       {"TUNEONCE_WORKER", "/t/worker"},
                                                       {"NVTX_INJECTION64_PATH", "/t/nvtx.so"}};

void ExpectAll(const Environment& environment) {
  EXPECT_EQ(environment.tileiras, "/t/tileiras");
  EXPECT_EQ(environment.record_shapes, "/t/shapes");
  EXPECT_EQ(environment.fleet_keys, "/t/keys");
  EXPECT_EQ(environment.redis_password, "open");
  EXPECT_EQ(environment.ptxas, "/t/ptxas");
  EXPECT_EQ(environment.worker, "/t/worker");
  EXPECT_EQ(environment.cupti, "/t/cupti.so");
  EXPECT_EQ(environment.store, "/t/store.db");
  EXPECT_EQ(environment.cache_folder, "/t/cache");
  EXPECT_EQ(environment.bundles, "/t/a:/t/b");
  EXPECT_FALSE(environment.enable_tile);
  EXPECT_EQ(environment.virtual_env, "/t/venv");
  EXPECT_EQ(environment.home, "/t/home");
  EXPECT_EQ(environment.compile_workers, 3);
  EXPECT_EQ(environment.cpu_devices, 2);
  EXPECT_EQ(environment.cpu_memory_mib, 64);
  EXPECT_EQ(environment.profiler, "/t/nvtx.so");
}

TEST_F(EnvironmentTest, EachVariableHasItsField) {
  for (const auto& [name, value] : kVariables) setenv(name.c_str(), value.c_str(), 1);
  unsetenv("CUDA_INJECTION64_PATH");
  unsetenv("TUNEONCE_ENABLE_TILE");
  ExpectAll(Environment::Read());
}

TEST_F(EnvironmentTest, WhatIsGivenCountsInPlaceOfTheProcesss) {
  setenv("TUNEONCE_CPU_DEVICES", "5", 1);
  setenv("TUNEONCE_ENABLE_TILE", "1", 1);  // The other name of what is given.
  setenv("CUDA_INJECTION64_PATH", "/process/profiler.so", 1);
  setenv("TUNEONCE_NVRTC", "/process/nvrtc.so", 1);
  Result<Environment> environment = Environment::Read(kVariables);
  ASSERT_TRUE(environment.ok()) << environment.status().ToString();
  ExpectAll(*environment);
  EXPECT_EQ(environment->nvrtc, "/process/nvrtc.so");
  EXPECT_EQ(Environment::Read({{"TUNEONCE_NVRTC", ""}})->nvrtc, "") << "an empty value is as good as none";
  EXPECT_EQ(Environment::Read({{"TUNEONCE_CPU_DEVICES", ""}})->cpu_devices, 1);
}

TEST_F(EnvironmentTest, AWorkerGetsTheListedVariablesAsTheyCount) {
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "NVIDIA_TF32_OVERRIDE", "NVRTC_DISABLE_CONCURRENT_NVVM",
                           "TUNEONCE_CPU_DEVICES", "TMPDIR"}) {
    setenv(name, "1", 1);
  }
  for (const char* name : {"LD_PRELOAD", "CUDA_INJECTION64_PATH", "AWS_SECRET_ACCESS_KEY", "TUNEONCE_STORE"}) {
    setenv(name, "/not/for/it", 1);
  }
  unsetenv("TUNEONCE_CUPTI");
  setenv("PATH", "/a=b:/c", 1);
  std::map<std::string, std::string> given = {
      {"TUNEONCE_CPU_DEVICES", "2"}, {"TUNEONCE_CUPTI", "/t/cupti.so"}, {"TMPDIR", ""}, {"TUNEONCE_STORE", "memory"}};
  std::vector<std::string> all = Environment::Read(given)->of_worker;
  for (const char* there : {"CUDA_VISIBLE_DEVICES=1", "NVIDIA_TF32_OVERRIDE=1", "NVRTC_DISABLE_CONCURRENT_NVVM=1",
                            "PATH=/a=b:/c", "TUNEONCE_CPU_DEVICES=2", "TUNEONCE_CUPTI=/t/cupti.so"}) {
    EXPECT_EQ(std::count(all.begin(), all.end(), there), 1) << there;
  }
  for (const std::string& variable : all) {
    for (const char* absent : {"TMPDIR", "LD_PRELOAD", "CUDA_INJECTION", "AWS", "TUNEONCE_STORE"}) {
      EXPECT_NE(variable.rfind(absent, 0), 0u) << variable;
    }
  }
}

TEST_F(EnvironmentTest, AMistakeInTheProcesssVariablesIsAWarning) {
  auto warns_of = [](const std::string& what) {
    const std::vector<std::string> warnings = Environment::Read().warnings;
    return std::any_of(warnings.begin(), warnings.end(),
                       [&](const std::string& line) { return line.find(what) != std::string::npos; });
  };
  EXPECT_FALSE(warns_of("TUNEONCE_STOER"));
  setenv("TUNEONCE_STOER", "memory", 1);
  setenv("TUNEONCE_CPU_DEVICES", "99", 1);
  setenv("TUNEONCE_LOG", "loud", 1);
  EXPECT_TRUE(warns_of("'TUNEONCE_STOER' is not a variable that this library reads"));
  EXPECT_TRUE(warns_of("TUNEONCE_CPU_DEVICES is '99': it must be a number from 1 to 8; the default is used"));
  EXPECT_TRUE(warns_of("TUNEONCE_LOG is 'loud': it must be one of: warn, info, debug; the default is used"));
  setenv("TUNEONCE_CPU_DEVICES", "2", 1);
  EXPECT_FALSE(warns_of("TUNEONCE_CPU_DEVICES"));
  setenv("DISABLE_AUTOTUNE", "true", 1);
  setenv("TUNEONCE_ENABLE_TILE", "off", 1);
  EXPECT_TRUE(warns_of("DISABLE_AUTOTUNE is 'true': it must be 0 or 1; the default is used"));
  EXPECT_TRUE(warns_of("TUNEONCE_ENABLE_TILE is 'off': it must be 0 or 1; the default is used"));
}

TEST_F(EnvironmentTest, WhatCannotBeUsedIsNamed) {
  struct Case {
    const char* name;
    const char* value;
    const char* message;
  };
  for (const Case& c : {Case{"TUNEONCE_STOER", "memory", "'TUNEONCE_STOER' is not a variable that this library reads"},
                        {"", "x", "'' is not a variable"},
                        {"TUNEONCE_CPU_DEVICES", "9", "TUNEONCE_CPU_DEVICES is '9': it must be a number from 1 to 8"},
                        {"TUNEONCE_DISABLE_AUTOTUNE", "yes", "TUNEONCE_DISABLE_AUTOTUNE is 'yes': it must be 0 or 1"},
                        {"TUNEONCE_CPU_DEVICES", "two", "TUNEONCE_CPU_DEVICES is 'two'"},
                        {"TUNEONCE_COMPILE_WORKERS", "-1", "TUNEONCE_COMPILE_WORKERS is '-1'"},
                        {"TUNEONCE_CPU_MEMORY_MIB", "1e3", "TUNEONCE_CPU_MEMORY_MIB is '1e3'"}}) {
    Status status = Environment::Read({{c.name, c.value}}).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << c.name;
    EXPECT_NE(status.message().find(c.message), std::string::npos) << status.message();
  }
}

}  // namespace
}  // namespace tuneonce
