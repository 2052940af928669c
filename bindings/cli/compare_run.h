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
  std::string bundle;                ///< Of stores: the kernel, where it is not found by its name.
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

  /// Both at a shape of A's, on what A declares for warm-ups. What goes wrong is in it.
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

/// Two bundles, or back ends, at each shape: both are tuned there, and their best run side by side. What goes wrong at
/// one shape is that shape's. Errors: a bundle or device that is not there, signatures that differ, shapes that cannot
/// be read; Cancelled.
Result<CompareReport> CompareBundles(const CompareOperand& a, const CompareOperand& b, const Device& device,
                                     const CompareOptions& options);

/// What a launch on this device would run by either store: at each key of this device that both hold, or at the shapes
/// that are given. Errors: as CompareBundles; NotFound if there is no such key.
Result<CompareReport> CompareStores(const std::string& a, const std::string& b, const Device& device,
                                    const CompareOptions& options);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_COMPARE_RUN_H_
