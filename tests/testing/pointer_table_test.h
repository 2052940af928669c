#ifndef TUNEONCE_TESTS_TESTING_POINTER_TABLE_TEST_H_
#define TUNEONCE_TESTS_TESTING_POINTER_TABLE_TEST_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/tuned_kernel_on.h"
#include "store/memory_store.h"
#include "testing/device_test.h"
#include "testing/pointed_group.h"
#include "tuneonce/device.h"
#include "tuneonce/exhaustive_search.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce::testing {

/// A kernel that reaches its tensors by two tables, and groups of tensors for it.
class PointerTableTest : public CpuDeviceTest {
 protected:
  PointerTableTest() {
    policy_.store = std::make_shared<MemoryStore>();
    policy_.search.max_rounds = 3;
    policy_.search.quiet = true;
  }

  using Group = PointedGroup;
  Group Make(const std::vector<int>& rows, float value) { return PointedGroup::Make(stream_->view(), rows, value); }
  bool AreAll(const Group& group, float value) { return group.AreAll(stream_->view(), value); }
  DeviceBuffer Ints(const std::vector<int>& values) { return IntsOn(stream_->view(), values); }
  static TensorView View(const DeviceBuffer& ints) { return IntView(ints); }
  static KernelDefinition Doubled(const std::string& also = "", Access access = Access::kOut,
                                  std::vector<std::int64_t> kinds = {0, 1}) {
    return DoubledGroups(also, access, std::move(kinds));
  }
  TunedKernel Create(const KernelDefinition& definition) {
    Result<TunedKernel> kernel = TunedKernelOn::Create(*device_, definition, policy_);
    EXPECT_OK(kernel);
    return *std::move(kernel);
  }
  void ExpectWorks(TunedKernel& kernel, const std::vector<int>& rows, float value = 3) {
    Group x = Make(rows, value), y = Make(rows, -1);
    DeviceBuffer sizes = Ints(rows);
    ASSERT_OK(kernel.Launch(stream_->get(), x.table(), View(sizes), y.table()));
    EXPECT_TRUE(AreAll(y, 2 * value));
    EXPECT_TRUE(AreAll(x, value));
  }
  /// What a search says of KIND=1, which does `also`; nothing of the caller's may change. Empty if it won.
  std::string FailureOf(const std::string& also) {
    const std::vector<int> rows = {5, 2, 7};
    Group x = Make(rows, 3), y = Make(rows, -1);
    DeviceBuffer sizes = Ints(rows);
    Result<TuningRecord> result = exhaustive_search(Doubled("if (KIND == 1) {" + also + "}"), stream_->get(),
                                                    {x.table(), View(sizes), y.table()}, policy_.search);
    EXPECT_OK(result);
    EXPECT_TRUE(AreAll(x, 3)) << "the caller's inputs are damaged";
    EXPECT_TRUE(AreAll(y, -1)) << "the caller's outputs are damaged";
    if (!result.ok() || result->failures().empty()) return "";
    return std::string(OutcomeName(result->failures()[0].kind)) + ": " + result->failures()[0].message;
  }

  AutotunePolicy policy_;
};

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_POINTER_TABLE_TEST_H_
