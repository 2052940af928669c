// tuneonce compare, of two stores
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "compare/compare_run.h"
#include "records/records_store.h"
#include "runtime/tuned_kernel_on.h"
#include "tuneonce/bundle.h"
#include "tuning/tune_shapes.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// A key that both stores hold, or a shape that was given.
struct StoredShape {
  std::string bundle;  ///< The name by which the kernel is found.
  std::string key;     ///< The key in the records. Empty: that of the shape.
  std::vector<std::string> settings;
  std::optional<TuneJob> job;  ///< Instead of the settings.
  Status wrong;
  std::string text;  ///< Its label before its job is known.
};

/// Returns the settings for MakeTuneJob from a record: its measured dims, and what else its key has.
std::vector<std::string> SettingsOf(const TuningRecord& record) {
  std::vector<std::string> settings = absl::StrSplit(record.tuned_at, ", ", absl::SkipEmpty());
  std::map<std::string, std::string> dims;
  for (const std::string& setting : settings) dims.emplace(setting.substr(0, setting.find('=')), "");
  for (absl::string_view part : absl::StrSplit(record.key.key_text, ", ", absl::SkipEmpty())) {
    const std::pair<std::string, std::string> dtype = absl::StrSplit(part, absl::MaxSplits(':', 1));
    const std::pair<std::string, std::string> value = absl::StrSplit(part, absl::MaxSplits('=', 1));
    if (dtype.first.size() < part.size()) {
      settings.push_back(dtype.first + "=" + dtype.second);
    } else if (value.first.size() < part.size() && value.first.back() != '<' && dims.count(value.first) == 0) {
      settings.push_back(value.first + "=" + value.second);
    }
  }
  return settings;
}

/// The keys of this device that both hold, in A's order; of the kernel that the bundle of the options is, if there is
/// one.
Result<std::vector<StoredShape>> KeysOfBoth(const AnyStore& a, const AnyStore& b, const DeviceIdentity& identity,
                                            const CompareOptions& options) {
  std::string kernel;
  if (!options.bundle.empty()) {
    TUNEONCE_ASSIGN_OR_RETURN(Bundle bundle, Bundle::Load(options.bundle, options.search.runtime));
    kernel = bundle.definition().name();
  }
  auto is_here = [&](const TuningKey& key) {
    return key.device_name == identity.name && (kernel.empty() || key.kernel == kernel);
  };
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<TuningRecord> of_a, a.List());
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<TuningRecord> of_b, b.List());
  std::vector<StoredShape> shapes;
  for (const TuningRecord& record : of_a) {
    const bool is_in_both = std::any_of(of_b.begin(), of_b.end(), [&](const TuningRecord& other) {
      return other.key.SameKernel(record.key) && other.key.SameDevice(record.key);
    });
    const bool is_known = std::any_of(shapes.begin(), shapes.end(), [&](const StoredShape& shape) {
      return shape.key == record.key.key_text && shape.text == record.key.kernel;
    });
    if (!is_here(record.key) || !is_in_both || is_known) continue;  // Known: by another driver.
    StoredShape shape;
    shape.bundle = options.bundle.empty() ? record.key.kernel : options.bundle;
    shape.key = record.key.key_text;
    shape.settings = SettingsOf(record);
    shape.text = record.key.kernel;
    shapes.push_back(std::move(shape));
  }
  if (!shapes.empty()) return shapes;
  const std::string of_kernel = kernel.empty() ? "" : " of '" + kernel + "'";
  return NotFoundError("the stores have no key" + of_kernel + " in common for " + identity.name +
                       ": tuneonce records diff shows what they have");
}

/// Shapes that are given, of whatever key.
Result<std::vector<StoredShape>> ShapesGiven(const Device& device, const CompareOptions& options) {
  std::vector<StoredShape> shapes;
  if (options.shapes.empty()) {
    if (options.bundle.empty())
      return InvalidArgumentError("--shape needs --bundle when stores are compared, to know the kernel");
    shapes.emplace_back();
    shapes.back().bundle = options.bundle;
    shapes.back().settings = options.shape;
    return shapes;
  }
  TUNEONCE_ASSIGN_OR_RETURN(WantedShapes wanted, ReadShapes(options.shapes, options.bundle, device, options.shape,
                                                            options.scalars, options.search.runtime));
  for (WantedShape& each : wanted.shapes) {
    shapes.emplace_back();
    shapes.back().bundle = std::move(each.bundle);
    shapes.back().wrong = std::move(each.wrong);
    shapes.back().text = absl::StrCat("line ", each.line);
    if (shapes.back().wrong.ok()) shapes.back().job = std::move(each.job);
  }
  return shapes;
}

/// A bundle's kernel, and what it would run with either store. Nothing is searched or loaded.
class StoredKernel {
 public:
  static Result<std::unique_ptr<StoredKernel>> Create(const CompareRun& run, Bundle bundle,
                                                      const std::shared_ptr<RecordStore>& a,
                                                      const std::shared_ptr<RecordStore>& b) {
    const KernelDefinition definition = Undecided(bundle);
    AutotunePolicy policy;
    policy.search.runtime = run.options().search.runtime;
    policy.store = a;
    TUNEONCE_ASSIGN_OR_RETURN(TunedKernel by_a, TunedKernelOn::Create(run.device(), definition, policy));
    policy.store = b;
    TUNEONCE_ASSIGN_OR_RETURN(TunedKernel by_b, TunedKernelOn::Create(run.device(), definition, policy));
    return std::unique_ptr<StoredKernel>(new StoredKernel(run, std::move(bundle), std::move(by_a), std::move(by_b)));
  }

  ComparedShape At(const StoredShape& wanted) const {
    ComparedShape shape;
    Result<TuneJob> job = JobOf(wanted);
    Result<ComparedKernel> a = job.ok() ? ByStore("A", by_a_, *job, wanted.key) : job.status();
    Result<ComparedKernel> b = a.ok() ? ByStore("B", by_b_, *job, wanted.key) : a.status();
    if (b.ok()) return run_.At(*a, *b, *job);
    shape.kernel = definition_->name();
    shape.shape = job.ok() ? job->text : wanted.key;
    shape.status = b.status();
    return shape;
  }

 private:
  StoredKernel(const CompareRun& run, Bundle bundle, TunedKernel by_a, TunedKernel by_b)
      : run_(run),
        bundle_(std::move(bundle)),
        definition_(std::make_shared<const KernelDefinition>(Undecided(bundle_))),
        by_a_(std::move(by_a)),
        by_b_(std::move(by_b)) {}

  Result<TuneJob> JobOf(const StoredShape& wanted) const {
    if (wanted.job) return *wanted.job;
    return MakeTuneJob(bundle_, run_.device(), wanted.settings, run_.options().scalars);
  }

  /// `key`: that the shape must have; empty: any.
  Result<ComparedKernel> ByStore(const char* name, const TunedKernel& kernel, const TuneJob& job,
                                 const std::string& key) const {
    TUNEONCE_ASSIGN_OR_RETURN(LaunchPlan plan, kernel.Explain(run_.stream().get(), job.shape));
    if (!key.empty() && plan.key != key) {
      return InvalidArgumentError("cannot derive a shape from the key " + key +
                                  " on this machine: give one with --shape");
    }
    if (plan.record == nullptr || !plan.config) {
      const std::string why(RecordMissName(plan.miss));
      return NotFoundError(absl::StrCat(name, " has no usable record for ", plan.key, why.empty() ? "" : ": ", why,
                                        plan.detail.empty() ? "" : ", ", plan.detail));
    }
    return ComparedKernel{definition_, "", plan.config, plan.variant};
  }

  const CompareRun& run_;
  const Bundle bundle_;
  const std::shared_ptr<const KernelDefinition> definition_;
  const TunedKernel by_a_, by_b_;
};

}  // namespace

Result<CompareReport> CompareStores(const std::string& a, const std::string& b, const Device& device,
                                    const CompareOptions& options) {
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<AnyStore> of_a, OpenStore(a, /*for_reading=*/true));
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<AnyStore> of_b, OpenStore(b, /*for_reading=*/true));
  TUNEONCE_ASSIGN_OR_RETURN(std::unique_ptr<CompareRun> run, CompareRun::Create(device, options));
  const bool is_given = !options.shape.empty() || !options.shapes.empty();
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<StoredShape> shapes, is_given
                                                                 ? ShapesGiven(device, options)
                                                                 : KeysOfBoth(*of_a, *of_b, run->identity(), options));
  CompareReport report{a, b, run->identity().name, {}};
  std::map<std::string, std::unique_ptr<StoredKernel>> kernels;
  for (const StoredShape& wanted : shapes) {
    Status status = wanted.wrong;
    if (status.ok() && kernels.count(wanted.bundle) == 0) {
      Result<Bundle> bundle = Bundle::Load(wanted.bundle, options.search.runtime);
      Result<std::unique_ptr<StoredKernel>> kernel =
          bundle.ok() ? StoredKernel::Create(*run, *bundle, of_a, of_b) : bundle.status();
      status = kernel.status();
      if (kernel.ok()) kernels.emplace(wanted.bundle, *std::move(kernel));
    }
    if (status.ok()) {
      report.shapes.push_back(kernels.at(wanted.bundle)->At(wanted));
    } else {
      report.shapes.emplace_back();
      report.shapes.back().kernel = wanted.bundle;
      report.shapes.back().shape = wanted.key.empty() ? wanted.text : wanted.key;
      report.shapes.back().status = std::move(status);
    }
    TUNEONCE_RETURN_IF_ERROR(run->CheckInterrupted());
  }
  return report;
}

}  // namespace v0
}  // namespace tuneonce
