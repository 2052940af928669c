#ifndef TUNEONCE_BINDINGS_PYTHON_POLICY_KEYWORDS_H_
#define TUNEONCE_BINDINGS_PYTHON_POLICY_KEYWORDS_H_

#include <pybind11/pybind11.h>

#include <memory>
#include <string>

#include "python_observer.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/search_options.h"
#include "tuneonce/timer.h"

namespace tuneonce::python {

/// What TunedKernel's keywords say.
struct KernelKeywords {
  AutotunePolicy policy;
  std::shared_ptr<PythonObserver> observer;  ///< That of the policy; null if there is none.
};

/// Reads the keywords of TunedKernel; null: none. Throws a TypeError of one line for one that there is not, or a value
/// of another type, and what opening a store gives.
KernelKeywords ReadKernelKeywords(pybind11::handle keywords);
/// Reads those of exhaustive_search, a dict. Throws likewise.
SearchOptions ReadSearchKeywords(const pybind11::dict& keywords);
/// ", store=None, mode='tune', ...": TunedKernel's keywords and their defaults, as a signature has them.
std::string KernelKeywordsSignature();

/// Whether kernels that are made from now on, and do not say themselves, are disabled; before the first call the
/// environment says so (DISABLE_AUTOTUNE). With the GIL.
void DisableAutotune(pybind11::handle disable);

/// "cupti" or "events"; it lives as long as the process. Throws.
Timer* TimerNamed(pybind11::handle name);

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_POLICY_KEYWORDS_H_
