// From evidence to a family: the tree of docs/internal/spaces.md, branch by branch, and what is left unknown.
#include "inspect/classification.h"

#include <gtest/gtest.h>

#include <functional>

#include "definition/family.h"

namespace tuneonce {
namespace {

TEST(ClassificationTest, EachBranchOfTheTreeHasItsFamily) {
  struct Case {
    const char* what;
    std::function<void(KernelEvidence&)> seen;
    const char* family;
  };
  const Case kCases[] = {
      {"a product", [](auto& e) { e.num_products = 1; }, "dense_matmul"},
      {"a product by blocks that stay", [](auto& e) { e.num_products = 1, e.is_persistent = true; },
       "persistent_matmul"},
      {"8-bit floats, scaled", [](auto& e) { e.num_products = e.num_float8_products = 1, e.has_scaled_product = true; },
       "fp8_matmul"},
      {"8-bit floats without scales", [](auto& e) { e.num_products = e.num_float8_products = 1; }, "unknown"},
      {"rows by a table", [](auto& e) { e.num_products = 1, e.num_loads_by_content = 2; }, "grouped_gemm"},
      {"8-bit floats by a table",
       [](auto& e) {
         e.num_products = e.num_float8_products = e.num_loads_by_content = 1, e.has_scaled_product = true;
       },
       "unknown"},
      {"a gated pair", [](auto& e) { e.num_products = 2, e.has_gated_products = true; }, "dual_gemm"},
      {"a product of a softmax",
       [](auto& e) { e.num_products = 2, e.num_products_of_softmax = 1, e.num_reductions = 2; }, "attention"},
      {"the same by a table",
       [](auto& e) { e.num_products = 2, e.num_products_of_softmax = 1, e.num_loads_by_content = 1; },
       "varlen_attention"},
      {"products in a row", [](auto& e) { e.num_products = 3, e.num_products_of_products = 1; }, "unknown"},
      {"a product and a reduction", [](auto& e) { e.num_products = e.num_reductions = 1; }, "unknown"},
      {"rows that are scaled", [](auto& e) { e.num_reductions = 1, e.applies_reduction = true; }, "norm_like"},
      {"the same in place", [](auto& e) { e.num_reductions = e.num_in_place = 1, e.applies_reduction = true; },
       "norm_like"},
      {"rows to a number each", [](auto& e) { e.num_reductions = 1; }, "reduction"},
      {"sums of products in plain arithmetic", [](auto& e) { e.num_plain_products = 4, e.num_reductions = 1; },
       "unknown"},
      {"a scan", [](auto& e) { e.num_scans = 1; }, "unknown"},
      {"a tensor in place", [](auto& e) { e.num_in_place = 1; }, "in_place"},
      {"atomics alone", [](auto& e) { e.num_atomics = 1; }, "unknown"},
      {"a transposition", [](auto& e) { e.num_permutes = 1; }, "unknown"},
      {"a gather", [](auto& e) { e.num_loads_by_content = 1; }, "unknown"},
      {"loads and stores", [](auto&) {}, "elementwise"},
      {"nothing stored", [](auto& e) { e.num_stores = 0; }, "unknown"},
  };
  for (const Case& each : kCases) {
    KernelEvidence evidence;
    evidence.num_loads = evidence.num_stores = 1;
    each.seen(evidence);
    Classification found = Classify(evidence);
    EXPECT_STREQ(found.name(), each.family) << each.what;
    ASSERT_FALSE(found.reasons.empty()) << each.what;
    // Of what is unknown the last reason says why.
    const std::string& last = found.reasons.back();
    bool ends_with_what_was_seen = last.find(" load") != std::string::npos && last.find(" store") != std::string::npos;
    EXPECT_EQ(ends_with_what_was_seen, found.family != nullptr) << last;
  }
}

TEST(ClassificationTest, MemoryBoundIsByFamily) {
  for (const Family& family : AllFamilies()) {
    std::string name = family.name;
    bool is = name == "norm_like" || name == "reduction" || name == "elementwise" || name == "in_place";
    EXPECT_EQ(IsMemoryBound(family), is) << name;
  }
}

}  // namespace
}  // namespace tuneonce
