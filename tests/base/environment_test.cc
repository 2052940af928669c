#include "base/environment.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tuneonce {
namespace {

TEST(EnvironmentTest, IsReadOnceAndCanBeOverruled) {
  setenv("DISABLE_AUTOTUNE", "1", 1);
  setenv("TUNEONCE_CPU_DEVICES", "99", 1);  // Out of range: the default stays.
  EXPECT_TRUE(Environment::Get().disable_autotune);
  EXPECT_EQ(Environment::Get().cpu_devices, 1);
  setenv("DISABLE_AUTOTUNE", "0", 1);
  EXPECT_TRUE(Environment::Get().disable_autotune) << "the environment is read at first use only";
  Environment::SetDisableAutotune(false);
  EXPECT_FALSE(Environment::Get().disable_autotune);
}

TEST(EnvironmentTest, TheProjectsOwnNameWorksToo) {
  setenv("TUNEONCE_DISABLE_AUTOTUNE", "1", 1);
  EXPECT_TRUE(Environment::Get().disable_autotune);
}

TEST(EnvironmentTest, EachVariableHasItsField) {
  // All are set before the first read, which is for the whole process.
  for (auto [name, value] : {std::pair{"TUNEONCE_TILEIRAS", "/t/tileiras"},
                             {"TUNEONCE_PTXAS", "/t/ptxas"},
                             {"TUNEONCE_CUPTI", "/t/cupti.so"},
                             {"TUNEONCE_STORE", "/t/store.db"},
                             {"TUNEONCE_BUNDLES", "/t/a:/t/b"},
                             {"XDG_CACHE_HOME", "/t/cache"},
                             {"ENABLE_TILE", "0"},
                             {"VIRTUAL_ENV", "/t/venv"},
                             {"HOME", "/t/home"},
                             {"TUNEONCE_COMPILE_WORKERS", "3"},
                             {"NVTX_INJECTION64_PATH", "/t/nvtx.so"}}) {
    setenv(name, value, 1);
  }
  unsetenv("CUDA_INJECTION64_PATH");
  unsetenv("TUNEONCE_ENABLE_TILE");
  Environment environment = Environment::Get();
  EXPECT_EQ(environment.tileiras, "/t/tileiras");
  EXPECT_EQ(environment.ptxas, "/t/ptxas");
  EXPECT_EQ(environment.cupti, "/t/cupti.so");
  EXPECT_EQ(environment.store, "/t/store.db");
  EXPECT_EQ(environment.cache_folder, "/t/cache");
  EXPECT_EQ(environment.bundles, "/t/a:/t/b");
  EXPECT_FALSE(environment.enable_tile);
  EXPECT_EQ(environment.virtual_env, "/t/venv");
  EXPECT_EQ(environment.home, "/t/home");
  EXPECT_EQ(environment.compile_workers, 3);
  EXPECT_EQ(environment.profiler, "/t/nvtx.so");
}

}  // namespace
}  // namespace tuneonce
