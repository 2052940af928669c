#ifndef TUNEONCE_BINDINGS_PYTHON_POLICY_KEYWORDS_H_
#define TUNEONCE_BINDINGS_PYTHON_POLICY_KEYWORDS_H_

#include <pybind11/pybind11.h>

#include <memory>
#include <string>

#include "python_observer.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/plugin/timer.h"

namespace tuneonce::python {

/// The values of TunedKernel's keywords.
struct KernelKeywords {
  AutotunePolicy policy;
  std::shared_ptr<PythonObserver> observer;  ///< The observer of the policy, or null.
};

/// Reads the keywords of TunedKernel; null: none. Throws a TypeError of one line for one that there is not, or a value
/// of another type, and what opening a store gives.
KernelKeywords ReadKernelKeywords(pybind11::handle keywords);
/// Reads those of exhaustive_search, a dict. Throws likewise.
SearchOptions ReadSearchKeywords(const pybind11::dict& keywords);
/// ", store=None, mode='tune_on_miss', ...": TunedKernel's keywords and their defaults, as a signature has them.
std::string KernelKeywordsSignature();
/// A line for each of these keywords that says what it does.
std::string KernelKeywordsDoc();

/// Sets whether kernels that are made from now on without the keyword are disabled. Before the first call the
/// environment decides (DISABLE_AUTOTUNE). Needs the GIL.
void DisableAutotune(pybind11::handle disable);

/// "cupti" or "events"; it lives as long as the process. Throws.
Timer* TimerNamed(pybind11::handle name);

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_POLICY_KEYWORDS_H_
