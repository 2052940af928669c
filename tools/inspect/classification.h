#ifndef TUNEONCE_TOOLS_INSPECT_CLASSIFICATION_H_
#define TUNEONCE_TOOLS_INSPECT_CLASSIFICATION_H_

#include <string>
#include <vector>

#include "definition/family.h"
#include "inspect/kernel_evidence.h"

namespace tuneonce {
inline namespace v0 {

/// The family of a kernel. It is null if the evidence fits no family or more than one. `reasons` states what was found.
struct Classification {
  const Family* family = nullptr;
  std::vector<std::string> reasons;

  const char* name() const { return family != nullptr ? family->name : "unknown"; }
};

/// A pure function of the evidence: the tree of docs/spaces.md, from the top.
Classification Classify(const KernelEvidence& evidence);

/// Whether the family's kernels are bound by memory at all sizes: their blocks share nothing.
bool IsMemoryBound(const Family& family);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_INSPECT_CLASSIFICATION_H_
