#ifndef TUNEONCE_TESTS_TESTING_EXPECT_STATUS_H_
#define TUNEONCE_TESTS_TESTING_EXPECT_STATUS_H_

#include <gtest/gtest.h>

#include <string>

#include "tuneonce/result.h"

namespace tuneonce::testing {

/// EXPECTs an error of this code whose message contains `part`.
#define EXPECT_ERROR(expression, expected_code, part)                                                \
  do {                                                                                               \
    ::tuneonce::Status error_status = ::tuneonce::testing::StatusOf(expression);                     \
    EXPECT_EQ(error_status.code(), expected_code) << #expression << ": " << error_status.ToString(); \
    EXPECT_NE(error_status.message().find(part), std::string::npos) << error_status.ToString();      \
  } while (false)
#define EXPECT_OK(expression)                                                   \
  do {                                                                          \
    ::tuneonce::Status ok_status = ::tuneonce::testing::StatusOf(expression);   \
    EXPECT_TRUE(ok_status.ok()) << #expression << ": " << ok_status.ToString(); \
  } while (false)
#define ASSERT_OK(expression)                                                   \
  do {                                                                          \
    ::tuneonce::Status ok_status = ::tuneonce::testing::StatusOf(expression);   \
    ASSERT_TRUE(ok_status.ok()) << #expression << ": " << ok_status.ToString(); \
  } while (false)

inline Status StatusOf(const Status& status) { return status; }
template <typename T>
Status StatusOf(const Result<T>& result) {
  return result.status();
}

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_EXPECT_STATUS_H_
