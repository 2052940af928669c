#include <algorithm>
#include <optional>
#include <utility>

#include "cuda/driver_api.h"
#include "numbers.h"
#include "output.h"
#include "records_explain.h"
#include "report/config_json.h"
#include "runtime/tuned_kernel_on.h"
#include "tuneonce/bundle.h"
#include "tuneonce/device.h"
#include "tuneonce/runtime.h"

namespace tuneonce::cli {
namespace {

/// Returns the example's shape with the extents and dtypes of `shape`.
Result<TunedKernel::Shape> ShapeOf(const Bundle& bundle, bool is_cpu_device, const std::vector<std::string>& shape) {
  const KernelDefinition& definition = bundle.definition();
  Bundle::Example example = bundle.example();
  if (is_cpu_device) {
    for (const auto& [dim, extent] : example.cpu_dims) example.dims[dim] = extent;
  }
  TUNEONCE_ASSIGN_OR_RETURN(auto settings, ParseSettings(shape, "shape"));
  for (const auto& [name, text] : settings) {
    std::optional<std::int64_t> extent = ParseNumber<std::int64_t>(text);
    std::optional<DType> dtype = DTypeNamed(text);
    const std::vector<std::string>& dims = definition.dims();
    bool is_dim = std::find(dims.begin(), dims.end(), name) != dims.end();
    if (!is_dim && !dtype)
      return InvalidArgumentError("--shape " + name + "=" + text + ": the kernel has no dim '" + name + "', and '" +
                                  text + "' is not a dtype");
    if (is_dim && (!extent || *extent < 1)) {
      return InvalidArgumentError("--shape " + name + "=" + text + ": the value must be a whole number of at least 1");
    }
    if (is_dim) example.dims[name] = *extent;
    if (!is_dim) example.dtypes[name] = *dtype;
  }
  TunedKernel::Shape named;
  for (const auto& [name, extent] : example.dims) named.values.emplace_back(name, extent);
  for (const auto& [name, dtype] : example.dtypes) named.values.emplace_back(name, dtype);
  for (const auto& [name, value] : example.scalars) named.values.emplace_back(name, value);
  return named;
}

const char* NameOf(RecordMatch match) {
  static constexpr const char* kNames[] = {"exact", "other_driver", "other_device", "not_found"};
  return kNames[static_cast<std::size_t>(match)];
}

}  // namespace

Result<SelectionHere> AskHere(const std::string& kernel, const std::string& device_name,
                              const std::vector<std::string>& shape, std::shared_ptr<RecordStore> store) {
  TUNEONCE_ASSIGN_OR_RETURN(Bundle bundle, Bundle::Load(kernel));
  TUNEONCE_ASSIGN_OR_RETURN(Device device, OpenDevice(device_name));
  TUNEONCE_ASSIGN_OR_RETURN(DeviceIdentity identity, device.Identity());
  TUNEONCE_ASSIGN_OR_RETURN(TunedKernel::Shape named, ShapeOf(bundle, device.api().is_cpu_device(), shape));
  TUNEONCE_ASSIGN_OR_RETURN(Context context, Context::RetainPrimary(device));
  ScopedContext current(context.view());
  TUNEONCE_RETURN_IF_ERROR(current.status());
  TUNEONCE_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device.api()));
  RuntimeOptions of_runtime;
  of_runtime.environment = {{"DISABLE_AUTOTUNE", ""}};  // The store is read even if the environment disables tuning.
  AutotunePolicy policy;
  TUNEONCE_ASSIGN_OR_RETURN(policy.search.runtime, Runtime::Create(std::move(of_runtime)));
  policy.store = std::move(store);
  TUNEONCE_ASSIGN_OR_RETURN(TunedKernel asked, TunedKernelOn::Create(device, bundle.definition(), std::move(policy)));
  SelectionHere here{identity.name, {}};
  TUNEONCE_ASSIGN_OR_RETURN(here.plan, asked.Explain(stream.get(), named));
  return here;
}

nlohmann::ordered_json SelectionHereJson(const SelectionHere& here) {
  const LaunchPlan& plan = here.plan;
  nlohmann::ordered_json json = {{"device", here.device}, {"key", plan.key}};
  json["serves"] = plan.record != nullptr;
  json["match"] = plan.record != nullptr ? nlohmann::ordered_json(NameOf(plan.match)) : nullptr;
  std::string miss(RecordMissName(plan.miss));
  std::replace(miss.begin(), miss.end(), ' ', '_');
  json["miss"] = miss.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(miss);
  json["config"] = plan.config ? ConfigJson(*plan.config) : nlohmann::ordered_json(nullptr);
  json["detail"] = plan.detail;
  return json;
}

void PrintSelectionHere(const SelectionHere& here) {
  const LaunchPlan& plan = here.plan;
  std::string detail = plan.detail.empty() ? "" : ", " + plan.detail;
  if (plan.record != nullptr) {
    PrintLine("on this machine's %s, %s gets {%s}%s", here.device.c_str(), plan.key.c_str(),
              plan.config ? plan.config->ToString().c_str() : "", detail.c_str());
  } else {
    PrintLine("on this machine's %s, the store has no selection for %s: %s%s", here.device.c_str(), plan.key.c_str(),
              std::string(RecordMissName(plan.miss)).c_str(), detail.c_str());
  }
}

}  // namespace tuneonce::cli
