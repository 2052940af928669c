// Our own declarations of CUPTI against its headers, where they are installed.
#include "cuda/cupti_api.h"

#include <gtest/gtest.h>

#if __has_include(<cupti.h>)
#include <cupti.h>

#include <cstddef>

namespace tuneonce {
namespace {

static_assert(CuptiApi::kMultipleSubscribers == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
static_assert(CuptiApi::kConcurrentKernel == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
static_assert(CuptiApi::kDriverApi == CUPTI_CB_DOMAIN_DRIVER_API);
static_assert(CuptiApi::kDriverGetVersion == CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion);
static_assert(CuptiApi::kApiExit == CUPTI_API_EXIT);
static_assert(offsetof(CUpti_CallbackData, callbackSite) == 0);

template <typename Kernel>
constexpr bool HasOurOffsets() {
  return offsetof(Kernel, kind) == 0 && offsetof(Kernel, start) == CuptiApi::kKernelStart &&
         offsetof(Kernel, end) == CuptiApi::kKernelEnd && offsetof(Kernel, contextId) == CuptiApi::kKernelContextId &&
         offsetof(Kernel, streamId) == CuptiApi::kKernelStreamId;
}
static_assert(HasOurOffsets<CUpti_ActivityKernel4>());
static_assert(HasOurOffsets<CUpti_ActivityKernel8>());
static_assert(HasOurOffsets<CUpti_ActivityKernel9>());

TEST(CuptiApiTest, OurConstantsAreTheHeaders) {
  SUCCEED() << "checked by the compiler, with API " << CUPTI_API_VERSION;
}

}  // namespace
}  // namespace tuneonce

#else
TEST(CuptiApiTest, OurConstantsAreTheHeaders) { GTEST_SKIP() << "NOT INSTALLED: CUPTI's headers"; }
#endif
