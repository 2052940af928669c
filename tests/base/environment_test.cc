#include "tuneonce/base/environment.h"

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

}  // namespace
}  // namespace tuneonce
