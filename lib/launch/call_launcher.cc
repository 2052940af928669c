#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "launch/launch_words.h"

namespace tuneonce {
inline namespace v0 {

Status CallLauncher(const KernelDefinition& definition, const Variant& variant, const Config& config, CUstream stream,
                    const BoundCall& call, const std::uint64_t* workspaces) {
  auto who = [&] {
    return absl::StrCat("kernel '", definition.name(), "': the launcher",
                        variant.name.empty() ? "" : " of variant '" + variant.name + "'");
  };
  CallArguments arguments(definition, call.problem, call.problem.values.data(), workspaces);
  Status launched;
  try {  // Not a callback that must not launch: it may launch kernels that tune themselves.
    launched = variant.launcher(stream, config, arguments);
  } catch (...) {
    return StatusOfException(who(), StatusCode::kInvalidArgument);
  }
  if (!launched.ok()) return launched.WithPrefix(who());
  return arguments.Check();
}

}  // namespace v0
}  // namespace tuneonce
