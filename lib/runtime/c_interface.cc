#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/number_text.h"
#include "base/printable.h"
#include "shared/shape_log.h"
#include "tuneonce/c.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/option_table.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/sqlite_store.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuned_kernel.h"

struct tuneonce_policy {
  tuneonce::AutotunePolicy policy;
};

struct tuneonce_kernel {
  tuneonce::TunedKernel kernel;
};

struct tuneonce_context {
  explicit tuneonce_context(tuneonce::Context retained) : context(std::move(retained)), current(context.view()) {}

  tuneonce::Context context;
  tuneonce::ScopedContext current;
  std::vector<tuneonce::DeviceBuffer> buffers;
};

namespace tuneonce {
inline namespace v0 {
namespace {

static_assert(static_cast<int>(StatusCode::kDataLoss) == TUNEONCE_DATA_LOSS, "c.h lists the codes in their order");
static_assert(static_cast<int>(DType::kFloat64) == TUNEONCE_FLOAT64, "c.h lists the dtypes in their order");

thread_local std::string last_error;

tuneonce_status Ended(const Status& status) {
  last_error = Printable(status.message());  // One line, also where it quotes what the caller passed.
  return static_cast<tuneonce_status>(status.code());
}

/// Runs a function that returns a Status. No exception passes.
template <typename Function>
tuneonce_status Run(const Function& function) noexcept {
  try {
    return Ended(function());
  } catch (const std::bad_alloc&) {
    last_error = "out of memory";  // Short enough to need none.
    return TUNEONCE_RESOURCE_EXHAUSTED;
  } catch (...) {
    last_error = "an exception";
    return TUNEONCE_INTERNAL;
  }
}

Status CheckNotNull(const void* pointer, const char* name) {
  return pointer != nullptr ? Status() : InvalidArgumentError(absl::StrCat(name, " is null"));
}

/// The arguments of a call in C++. The views live as long as this object.
class GivenArguments {
 public:
  static Result<GivenArguments> Of(const tuneonce_argument* given, std::size_t count) {
    if (count > 0) TUNEONCE_RETURN_IF_ERROR(CheckNotNull(given, "arguments"));
    if (count > static_cast<std::size_t>(kMaxParameters)) {
      return InvalidArgumentError(
          absl::StrCat("the call has ", count, " arguments; at most ", kMaxParameters, " are possible"));
    }
    GivenArguments made;
    made.views_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) TUNEONCE_RETURN_IF_ERROR(made.Add(given[i], i));
    return made;
  }

  const Argument* data() const { return arguments_.data(); }
  std::size_t size() const { return arguments_.size(); }

 private:
  Status Add(const tuneonce_argument& given, std::size_t index) {
    if ((given.tensor == nullptr) == (given.scalar == nullptr)) {
      return InvalidArgumentError(absl::StrCat("argument ", index, " must be a tensor or a scalar: set one pointer"));
    }
    const int dtype = given.tensor != nullptr ? given.tensor->dtype : given.scalar_dtype;
    if (dtype < TUNEONCE_ANY || dtype > TUNEONCE_FLOAT64) {
      return InvalidArgumentError(absl::StrCat("argument ", index, " has the dtype ", dtype, ", which does not exist"));
    }
    if (given.tensor == nullptr) {
      arguments_.push_back(Argument::Scalar(static_cast<DType>(dtype), given.scalar));
      return Status();
    }
    const tuneonce_tensor& tensor = *given.tensor;
    if (tensor.rank < 0 || tensor.rank > kMaxRank) {
      return InvalidArgumentError(
          absl::StrCat("argument ", index, " has ", tensor.rank, " dimensions; 0 to ", kMaxRank, " are possible"));
    }
    if (tensor.shape == nullptr && tensor.rank > 0) {
      return InvalidArgumentError(absl::StrCat("argument ", index, " has rank ", tensor.rank,
                                               ", but its shape is null: memory without a shape has rank 0"));
    }
    views_.push_back(
        tensor.shape == nullptr && tensor.rank == 0 && tensor.bytes > 0 ? TensorView::Raw(tensor.data, tensor.bytes)
        : tensor.strides == nullptr
            ? TensorView::Contiguous(tensor.data, static_cast<DType>(dtype), tensor.shape, tensor.rank)
            : TensorView::Strided(tensor.data, static_cast<DType>(dtype), tensor.shape, tensor.strides, tensor.rank));
    arguments_.emplace_back(views_.back());
    return Status();
  }

  std::vector<TensorView> views_;  // Never grows beyond what was reserved.
  std::vector<Argument> arguments_;
};

std::optional<TunedKernel::Shape::Value> ShapeValueOf(const std::string& text) {
  if (text == "true" || text == "false") return TunedKernel::Shape::Value(text == "true");
  if (std::optional<DType> dtype = DTypeNamed(text)) return TunedKernel::Shape::Value(*dtype);
  if (std::optional<std::int64_t> integer = ParseNumber<std::int64_t>(text)) return *integer;
  if (std::optional<std::uint64_t> large = ParseNumber<std::uint64_t>(text)) return *large;
  if (std::optional<double> number = ParseNumber<double>(text)) return *number;
  return std::nullopt;
}

/// Returns nothing for a line that names another kernel than `kernel`.
Result<std::optional<TunedKernel::Shape>> ShapeOf(const char* text, const std::string& kernel) {
  TUNEONCE_RETURN_IF_ERROR(CheckNotNull(text, "a shape"));
  TUNEONCE_ASSIGN_OR_RETURN(ShapeLine line, ParseShapeLine(text));
  if (!line.kernel.empty() && line.kernel != kernel) return std::optional<TunedKernel::Shape>();
  std::optional<TunedKernel::Shape> shape(std::in_place);
  for (const auto& [name, value] : line.values) {
    std::optional<TunedKernel::Shape::Value> read = ShapeValueOf(value);
    if (!read) {
      return InvalidArgumentError(
          absl::StrCat("shape '", text, "': ", name, " is '", value, "': give a number, true, false or a dtype"));
    }
    shape->values.emplace_back(name, *read);
  }
  return shape;
}

/// Finds one counter among those that VisitFields lists.
struct CounterNamed {
  std::string_view wanted;
  std::optional<double> found;
  template <typename T>
  void operator()(std::string_view name, const T& value) {
    if (name == wanted) found = static_cast<double>(value);
  }
};

/// The texts of the thread's last plan.
struct PlanTexts {
  std::string action, reason, origin, config, variant, key, detail;
};

}  // namespace
}  // namespace v0
}  // namespace tuneonce

namespace t = tuneonce;

const char* tuneonce_version(void) { return TUNEONCE_VERSION; }

const char* tuneonce_last_error(void) { return t::last_error.c_str(); }

tuneonce_status tuneonce_context_create(const char* device, tuneonce_context** context) {
  return t::Run([&]() -> t::Status {
    TUNEONCE_RETURN_IF_ERROR(t::CheckNotNull(device, "device"));
    TUNEONCE_RETURN_IF_ERROR(t::CheckNotNull(context, "context"));
    TUNEONCE_ASSIGN_OR_RETURN(t::Device opened, t::OpenDevice(device));
    TUNEONCE_ASSIGN_OR_RETURN(t::Context retained, t::Context::RetainPrimary(opened));
    *context = new tuneonce_context(std::move(retained));
    return t::Status();
  });
}

tuneonce_status tuneonce_context_allocate(tuneonce_context* context, size_t bytes, void** data) {
  return t::Run([&]() -> t::Status {
    TUNEONCE_RETURN_IF_ERROR(t::CheckNotNull(context, "context"));
    TUNEONCE_RETURN_IF_ERROR(t::CheckNotNull(data, "data"));
    TUNEONCE_ASSIGN_OR_RETURN(
        t::DeviceBuffer buffer,
        t::DeviceBuffer::Allocate(t::StreamView(context->context.device().api(), /*stream=*/nullptr), bytes));
    *data = buffer.data();
    context->buffers.push_back(std::move(buffer));
    return t::Status();
  });
}

tuneonce_status tuneonce_context_synchronize(tuneonce_context* context) {
  return t::Run([&]() -> t::Status {
    TUNEONCE_RETURN_IF_ERROR(t::CheckNotNull(context, "context"));
    return t::StreamView(context->context.device().api(), /*stream=*/nullptr).Synchronize();
  });
}

void tuneonce_context_destroy(tuneonce_context* context) { delete context; }

tuneonce_status tuneonce_policy_create(tuneonce_policy** policy) {
  return t::Run([&]() -> t::Status {
    TUNEONCE_RETURN_IF_ERROR(t::CheckNotNull(policy, "policy"));
    *policy = new tuneonce_policy;
    return t::Status();
  });
}

tuneonce_status tuneonce_policy_set(tuneonce_policy* policy, const char* name, const char* value) {
  return t::Run([&]() -> t::Status {
    TUNEONCE_RETURN_IF_ERROR(t::CheckNotNull(policy, "policy"));
    TUNEONCE_RETURN_IF_ERROR(t::CheckNotNull(name, "name"));
    TUNEONCE_RETURN_IF_ERROR(t::CheckNotNull(value, "value"));
    if (std::string_view(name) != "store") return t::SetOptionText(&policy->policy, name, value);
    if (std::string_view(value) == "memory") {
      policy->policy.store = t::MakeMemoryStore();
      return t::Status();
    }
    t::SqliteStoreOptions options;
    options.path = value;
    TUNEONCE_ASSIGN_OR_RETURN(policy->policy.store, t::SqliteStore::Open(std::move(options)));
    return t::Status();
  });
}

void tuneonce_policy_destroy(tuneonce_policy* policy) { delete policy; }

tuneonce_status tuneonce_kernel_load(const char* folder_or_name, const tuneonce_policy* policy,
                                     tuneonce_kernel** kernel) {
  return t::Run([&]() -> t::Status {
    TUNEONCE_RETURN_IF_ERROR(t::CheckNotNull(folder_or_name, "folder_or_name"));
    TUNEONCE_RETURN_IF_ERROR(t::CheckNotNull(kernel, "kernel"));
    TUNEONCE_ASSIGN_OR_RETURN(
        t::TunedKernel loaded,
        t::TunedKernel::FromBundle(folder_or_name, policy != nullptr ? policy->policy : t::AutotunePolicy()));
    *kernel = new tuneonce_kernel{std::move(loaded)};
    return t::Status();
  });
}

void tuneonce_kernel_destroy(tuneonce_kernel* kernel) { delete kernel; }

tuneonce_status tuneonce_kernel_launch(tuneonce_kernel* kernel, CUstream stream, const tuneonce_argument* arguments,
                                       size_t count) {
  return t::Run([&]() -> t::Status {
    TUNEONCE_RETURN_IF_ERROR(t::CheckNotNull(kernel, "kernel"));
    TUNEONCE_ASSIGN_OR_RETURN(t::GivenArguments call, t::GivenArguments::Of(arguments, count));
    return kernel->kernel.Launch(stream, t::ArgumentSpan(call.data(), call.size()));
  });
}

tuneonce_status tuneonce_kernel_launch_if_ready(tuneonce_kernel* kernel, CUstream stream,
                                                const tuneonce_argument* arguments, size_t count, int* missed) {
  return t::Run([&]() -> t::Status {
    TUNEONCE_RETURN_IF_ERROR(t::CheckNotNull(kernel, "kernel"));
    TUNEONCE_RETURN_IF_ERROR(t::CheckNotNull(missed, "missed"));
    TUNEONCE_ASSIGN_OR_RETURN(t::GivenArguments call, t::GivenArguments::Of(arguments, count));
    bool has_missed = false;
    t::Status launched = kernel->kernel.Launch(stream, t::ArgumentSpan(call.data(), call.size()), &has_missed);
    *missed = has_missed ? 1 : 0;
    return launched;
  });
}

tuneonce_status tuneonce_kernel_warmup(tuneonce_kernel* kernel, CUstream stream, const tuneonce_argument* arguments,
                                       size_t count) {
  return t::Run([&]() -> t::Status {
    TUNEONCE_RETURN_IF_ERROR(t::CheckNotNull(kernel, "kernel"));
    TUNEONCE_ASSIGN_OR_RETURN(t::GivenArguments call, t::GivenArguments::Of(arguments, count));
    return kernel->kernel.Warmup(stream, t::ArgumentSpan(call.data(), call.size()));
  });
}

tuneonce_status tuneonce_kernel_warmup_shapes(tuneonce_kernel* kernel, CUstream stream, const char* const* shapes,
                                              size_t count) {
  return t::Run([&]() -> t::Status {
    TUNEONCE_RETURN_IF_ERROR(t::CheckNotNull(kernel, "kernel"));
    if (count > 0) TUNEONCE_RETURN_IF_ERROR(t::CheckNotNull(shapes, "shapes"));
    std::vector<t::TunedKernel::Shape> read;
    for (size_t i = 0; i < count; ++i) {
      TUNEONCE_ASSIGN_OR_RETURN(std::optional<t::TunedKernel::Shape> shape,
                                t::ShapeOf(shapes[i], kernel->kernel.definition().name()));
      if (shape) read.push_back(*std::move(shape));
    }
    return kernel->kernel.Warmup(stream, read);
  });
}

tuneonce_status tuneonce_kernel_tune_pending(tuneonce_kernel* kernel, CUstream stream) {
  return t::Run([&]() -> t::Status {
    TUNEONCE_RETURN_IF_ERROR(t::CheckNotNull(kernel, "kernel"));
    return kernel->kernel.TunePending(stream);
  });
}

tuneonce_status tuneonce_kernel_freeze(tuneonce_kernel* kernel) {
  return t::Run([&]() -> t::Status {
    TUNEONCE_RETURN_IF_ERROR(t::CheckNotNull(kernel, "kernel"));
    kernel->kernel.Freeze();
    return t::Status();
  });
}

tuneonce_status tuneonce_kernel_is_ready(const tuneonce_kernel* kernel, const tuneonce_argument* arguments,
                                         size_t count, int* is_ready) {
  return t::Run([&]() -> t::Status {
    TUNEONCE_RETURN_IF_ERROR(t::CheckNotNull(kernel, "kernel"));
    TUNEONCE_RETURN_IF_ERROR(t::CheckNotNull(is_ready, "is_ready"));
    TUNEONCE_ASSIGN_OR_RETURN(t::GivenArguments call, t::GivenArguments::Of(arguments, count));
    TUNEONCE_ASSIGN_OR_RETURN(bool tuned, kernel->kernel.IsReady(t::ArgumentSpan(call.data(), call.size())));
    *is_ready = tuned ? 1 : 0;
    return t::Status();
  });
}

tuneonce_status tuneonce_kernel_explain(const tuneonce_kernel* kernel, CUstream stream,
                                        const tuneonce_argument* arguments, size_t count, tuneonce_plan* plan) {
  return t::Run([&]() -> t::Status {
    TUNEONCE_RETURN_IF_ERROR(t::CheckNotNull(kernel, "kernel"));
    TUNEONCE_RETURN_IF_ERROR(t::CheckNotNull(plan, "plan"));
    TUNEONCE_ASSIGN_OR_RETURN(t::GivenArguments call, t::GivenArguments::Of(arguments, count));
    TUNEONCE_ASSIGN_OR_RETURN(t::LaunchPlan made,
                              kernel->kernel.Explain(stream, t::ArgumentSpan(call.data(), call.size())));
    thread_local t::PlanTexts texts;
    texts = {std::string(t::LaunchPlanName(made.action)),
             std::string(t::LaunchPlanName(made.reason)),
             std::string(t::LaunchPlanName(made.origin)),
             made.config ? made.config->ToString() : "",
             made.variant,
             made.key,
             made.detail};
    *plan = {texts.action.c_str(),  texts.reason.c_str(), texts.origin.c_str(), texts.config.c_str(),
             texts.variant.c_str(), texts.key.c_str(),    texts.detail.c_str()};
    return t::Status();
  });
}

tuneonce_status tuneonce_kernel_counter(const tuneonce_kernel* kernel, const char* name, double* value) {
  return t::Run([&]() -> t::Status {
    TUNEONCE_RETURN_IF_ERROR(t::CheckNotNull(kernel, "kernel"));
    TUNEONCE_RETURN_IF_ERROR(t::CheckNotNull(name, "name"));
    TUNEONCE_RETURN_IF_ERROR(t::CheckNotNull(value, "value"));
    t::CounterNamed counter{name, std::nullopt};
    const t::Counters counters = kernel->kernel.counters();
    t::VisitFields(counter, counters);
    t::VisitFields(counter, counters.now);
    if (!counter.found)
      return t::NotFoundError(
          absl::StrCat("counter '", name, "' does not exist: the C++ structs Counters and Gauges have their names"));
    *value = *counter.found;
    return t::Status();
  });
}
