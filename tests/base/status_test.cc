#include <gtest/gtest.h>

#include "base/callback.h"
#include "tuneonce/result.h"

namespace tuneonce {
namespace {

TEST(StatusTest, SuccessHasNoText) {
  Status ok;
  EXPECT_TRUE(ok.ok());
  EXPECT_EQ(ok.code(), StatusCode::kOk);
  EXPECT_EQ(ok.ToString(), "OK");
  EXPECT_TRUE(Status(StatusCode::kOk, "ignored").ok());
}

TEST(StatusTest, ErrorsKeepCodeTextAndDriverNumber) {
  Status error = Status::FromDriver(StatusCode::kInternal, "broken", 700, true).WithPrefix("kernel 'x'");
  EXPECT_EQ(error.ToString(), "Internal: kernel 'x': broken");
  EXPECT_EQ(error.driver_code(), 700);
  EXPECT_TRUE(error.sticky());
  EXPECT_EQ(InvalidArgumentError("a").driver_code(), 0);
  EXPECT_TRUE(Status().WithPrefix("p").ok());
}

TEST(StatusTest, EveryCodeHasAName) {
  for (int code = 0; code <= static_cast<int>(StatusCode::kDataLoss); ++code) {
    EXPECT_NE(StatusCodeName(static_cast<StatusCode>(code)), "Unknown");
  }
}

Result<int> Half(int value) {
  if (value % 2 != 0) return InvalidArgumentError("odd");
  return value / 2;
}

Result<int> Quarter(int value) {
  TUNEONCE_ASSIGN_OR_RETURN(int half, Half(value));
  return Half(half);
}

TEST(ResultTest, CarriesAValueOrAnError) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(6).status().message(), "odd");
  EXPECT_EQ(Result<int>(Status()).status().code(), StatusCode::kInternal) << "an OK status carries no value";
}

TEST(ResultDeathTest, TheUseOfAMissingValueIsReported) {
#ifdef NDEBUG
  const Status error = InvalidArgumentError("odd");
  ::testing::internal::CaptureStderr();
  ReportUseOfFailedResult(error);  // The rest of a use is undefined.
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "tuneonce: the value of a failed Result was used: InvalidArgument: odd; ask ok() first\n");
#else
  EXPECT_DEATH((void)*Quarter(6), "the value of a failed Result was used: InvalidArgument: odd");
#endif
}

TEST(CallbackTest, ExceptionsBecomeErrorsAndTheScopeIsKnown) {
  EXPECT_FALSE(InsideCallback());
  EXPECT_TRUE(*CallUser("f", [] { return InsideCallback(); }));
  EXPECT_FALSE(InsideCallback());
  Result<int> thrown = CallUser("grid_fn", []() -> int { throw std::runtime_error("no such axis"); });
  EXPECT_EQ(thrown.status().message(), "grid_fn threw: no such axis");
  EXPECT_FALSE(CallUser("f", []() -> int { throw 3; }).ok());
  EXPECT_EQ(CallUser("f", [] { return NotFoundError("x"); }).code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace tuneonce
