#ifndef TUNEONCE_BINDINGS_CLI_COMPARE_RUN_H_
#define TUNEONCE_BINDINGS_CLI_COMPARE_RUN_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compare_operand.h"
#include "compare_report.h"
#include "tune_job.h"
#include "tuneonce/context.h"
#include "tuneonce/device.h"
#include "tuneonce/search_options.h"
#include "tuneonce/stream.h"

namespace tuneonce::cli {

/// On what, and how, is compared.
struct CompareOptions {
  SearchOptions search;
  std::vector<std::string> shape;    ///< "M=4096", as MakeTuneJob takes it.
  std::vector<std::string> scalars;  ///< "eps=1e-5".
  std::string shapes;                ///< A file of shapes; empty: one shape.
  std::string bundle;                ///< For stores: the kernel, if its name does not find it.
};

/// Compares kernels at one shape after the other. Its device's primary context is current on this thread while it
/// lives; neither copyable nor movable. Thread rule: one thread.
class CompareRun {
 public:
  /// REQUIRES: `options` outlives it. Errors: the device's.
  static Result<std::unique_ptr<CompareRun>> Create(const Device& device, const CompareOptions& options);
  CompareRun(const CompareRun&) = delete;
  CompareRun& operator=(const CompareRun&) = delete;

  const Device& device() const { return context_.device(); }
  const DeviceIdentity& identity() const { return identity_; }
  StreamView stream() const { return stream_->view(); }
  const CompareOptions& options() const { return options_; }

  /// Compares both at a shape of A's, on the values that A declares for warm-ups. The result contains any error.
  ComparedShape At(const ComparedKernel& a, const ComparedKernel& b, const TuneJob& job) const;
  /// Errors: Cancelled, once an interrupt has come.
  Status CheckInterrupted() const;

 private:
  CompareRun(Context context, DeviceIdentity identity, const CompareOptions& options);

  Context context_;
  ScopedContext current_;
  DeviceIdentity identity_;
  std::optional<Stream> stream_;
  const CompareOptions& options_;
};

/// Compares two bundles or back ends at each shape: both are tuned there, and their best configs run in pairs. An error
/// at one shape is part of that shape's result. Errors: a missing bundle or device, different signatures, invalid
/// shapes; Cancelled.
Result<CompareReport> CompareBundles(const CompareOperand& a, const CompareOperand& b, const Device& device,
                                     const CompareOptions& options);

/// Compares what a launch on this device would run with either store, at each key of this device that both have, or at
/// the given shapes. Errors: those of CompareBundles; NotFound without such a key.
Result<CompareReport> CompareStores(const std::string& a, const std::string& b, const Device& device,
                                    const CompareOptions& options);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_COMPARE_RUN_H_
