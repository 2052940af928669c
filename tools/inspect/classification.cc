#include "inspect/classification.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "definition/family.h"

namespace tuneonce {
inline namespace v0 {
namespace {

std::string Counted(int count, const char* one, const char* several) {
  return absl::StrCat(count, " ", count == 1 ? one : several);
}

/// Returns what was found in the code, as the first of the reasons.
std::vector<std::string> Seen(const KernelEvidence& e) {
  std::vector<std::string> seen;
  if (e.num_products > 0) seen.push_back(Counted(e.num_products, "matrix product", "matrix products"));
  if (e.num_float8_products > 0) seen.push_back(absl::StrCat(e.num_float8_products, " of 8-bit floats"));
  if (e.num_products_of_softmax > 0) {
    seen.push_back(absl::StrCat(e.num_products_of_softmax, " of a softmax of another's result"));
  }
  if (e.num_products_of_products > 0) {
    seen.push_back(absl::StrCat(e.num_products_of_products, " of another's result, without a softmax"));
  }
  if (e.num_plain_products > 0) seen.push_back("products are added up without matrix instructions");
  if (e.has_scaled_product) seen.push_back("a matrix product has scale factors");
  if (e.has_gated_products) seen.push_back("two products are multiplied with each other");
  if (e.num_reductions > 0) seen.push_back(Counted(e.num_reductions, "reduction", "reductions"));
  if (e.applies_reduction) seen.push_back("a reduction's result is applied to the elements");
  if (e.num_scans > 0) seen.push_back(Counted(e.num_scans, "scan", "scans"));
  if (e.num_permutes > 0 && e.num_products == 0) seen.push_back("elements change places");
  if (e.num_atomics > 0) seen.push_back(Counted(e.num_atomics, "atomic operation", "atomic operations"));
  if (e.num_loads_by_content > 0) {
    seen.push_back(absl::StrCat(Counted(e.num_loads_by_content, "load", "loads"),
                                " at places, or under conditions, that were loaded"));
  }
  if (e.num_in_place > 0) seen.push_back(Counted(e.num_in_place, "tensor is", "tensors are") + " written in place");
  if (e.is_persistent) seen.push_back("blocks stay and walk over tiles");
  seen.push_back(absl::StrCat(Counted(e.num_loads, "load", "loads"), ", ", Counted(e.num_stores, "store", "stores")));
  return seen;
}

/// Returns the family of a kernel with products, or null with the reason.
const char* FamilyOfProducts(const KernelEvidence& e, std::string* why_not) {
  if (e.num_products_of_softmax > 0) return e.num_loads_by_content > 0 ? "varlen_attention" : "attention";
  if (e.num_products_of_products > 0) {
    *why_not = "products that feed products are of no family but attention";
  } else if (e.num_float8_products > 0 && e.num_loads_by_content > 0) {
    *why_not = "it is grouped, and of 8-bit floats: grouped_gemm and fp8_matmul have different tiles";
  } else if (e.num_float8_products > 0 && !e.has_scaled_product) {
    *why_not = "products of 8-bit floats without scales: fp8_matmul's tiles are those of scales";
  } else if (e.num_float8_products > 0) {
    return "fp8_matmul";
  } else if (e.num_loads_by_content > 0) {
    return "grouped_gemm";
  } else if (e.has_gated_products) {
    return "dual_gemm";
  } else if (e.num_reductions > 0 || e.num_scans > 0) {
    *why_not = "products and reductions, but no softmax between products";
  } else {
    return e.is_persistent ? "persistent_matmul" : "dense_matmul";
  }
  return nullptr;
}

const char* FamilyWithoutProducts(const KernelEvidence& e, std::string* why_not) {
  if (e.num_plain_products > 0) {
    *why_not = "families that multiply do it by matrix instructions";
  } else if (e.num_scans > 0) {
    *why_not = "no family has scans";
  } else if (e.num_reductions > 0) {
    return e.applies_reduction ? "norm_like" : "reduction";
  } else if (e.num_in_place > 0) {
    return "in_place";
  } else if (e.num_atomics > 0) {
    *why_not = "it adds to memory that others write: no family has that alone";
  } else if (e.num_permutes > 0 || e.num_loads_by_content > 0) {
    *why_not = "elements do not stay where they are";
  } else {
    return "elementwise";
  }
  return nullptr;
}

}  // namespace

const char* Classification::name() const { return family != nullptr ? family->name : "unknown"; }

Classification Classify(const KernelEvidence& evidence) {
  Classification result;
  result.reasons = Seen(evidence);
  std::string why_not;
  const char* name = nullptr;
  if (evidence.num_stores == 0 && evidence.num_atomics == 0) {
    why_not = "nothing is seen to be stored";
  } else if (evidence.num_products > 0) {
    name = FamilyOfProducts(evidence, &why_not);
  } else {
    name = FamilyWithoutProducts(evidence, &why_not);
  }
  if (!why_not.empty()) result.reasons.push_back(std::move(why_not));
  if (name == nullptr) return result;
  Result<const Family*> family = FindFamily(name);
  if (family.ok()) result.family = *family;
  return result;
}

bool IsMemoryBound(const Family& family) {
  constexpr std::string_view kNames[] = {"norm_like", "reduction", "elementwise", "in_place"};
  return std::find(std::begin(kNames), std::end(kNames), family.name) != std::end(kNames);
}

}  // namespace v0
}  // namespace tuneonce
