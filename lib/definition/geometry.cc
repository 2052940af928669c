#include "tuneonce/geometry.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tuneonce {
inline namespace v0 {
namespace {

std::string Extents(const Dim3& d) { return absl::StrCat("(", d.x, ", ", d.y, ", ", d.z, ")"); }

}  // namespace

std::string Geometry::ToString() const {
  std::string text = absl::StrCat("grid ", Extents(grid), ", block ", Extents(block));
  if (!(cluster == Dim3{})) absl::StrAppend(&text, ", cluster ", Extents(cluster));
  if (shared_memory_bytes != 0) absl::StrAppend(&text, ", ", shared_memory_bytes, " bytes of shared memory");
  return text;
}

Status Geometry::Check() const {
  if (IsLaunchable()) return Status();
  return InvalidArgumentError(
      absl::StrCat(ToString(),
                   " cannot be launched: every extent must be at least 1, the grid at most (2147483647, "
                   "65535, 65535), a block's extents at most 1024"));
}

void GeometryFn::Default(const GeometryFn& other) {
  // What was set before the function (Variant::Block) stays, so that Resolve finds that both are set.
  if (is_function_ && (other.grid_ || other.is_function_)) return;
  if (!grid_ && !is_function_) {
    grid_ = other.grid_;
    function_ = other.function_;
    is_function_ = other.is_function_;
  }
  if (block_.empty()) block_ = other.block_;
  if (cluster_.empty()) cluster_ = other.cluster_;
  if (!shared_memory_) shared_memory_ = other.shared_memory_;
  if (!of_code_) of_code_ = other.of_code_;
  programmatic_launch_ = programmatic_launch_ || other.programmatic_launch_;
}

Status GeometryFn::Resolve(const TermNames& names) {
  if (is_function_) {
    if (!function_) return InvalidArgumentError("the geometry function is empty: pass a function that can be called");
    if (block_.empty() && cluster_.empty() && !shared_memory_ && !of_code_ && !programmatic_launch_) return Status();
    return InvalidArgumentError(
        "the geometry is a function, so a separate block, cluster, shared memory or attribute would be ignored: set "
        "all of them in the function");
  }
  if (!grid_) grid_ = Grid::Fixed(1);
  for (std::vector<Term>* terms : {&block_, &cluster_}) {
    if (terms->empty()) *terms = {1, 1, 1};
  }
  if (!shared_memory_) shared_memory_ = Term(0);
  TUNEONCE_RETURN_IF_ERROR(grid_->Resolve(names));
  for (Term& term : block_) TUNEONCE_RETURN_IF_ERROR(term.Resolve(names, /*least=*/1).WithPrefix("block"));
  for (Term& term : cluster_) TUNEONCE_RETURN_IF_ERROR(term.Resolve(names, /*least=*/1).WithPrefix("cluster"));
  TUNEONCE_RETURN_IF_ERROR(shared_memory_->Resolve(names, /*least=*/0).WithPrefix("shared memory"));
  ComputeConstants();
  return Status();
}

void GeometryFn::ComputeConstants() {
  auto constant = [](const Term& term) { return term.IsConstant(); };
  is_constant_ = std::all_of(block_.begin(), block_.end(), constant) &&
                 std::all_of(cluster_.begin(), cluster_.end(), constant) && shared_memory_->IsConstant();
  prototype_.programmatic_launch = programmatic_launch_;
  if (is_constant_) SetTerms(Config(), Problem(), &prototype_);
}

GeometryFn GeometryFn::For(const Config& config) const {
  GeometryFn one = *this;
  if (!grid_) return one;
  one.grid_ = grid_->For(config);
  for (std::vector<Term>* terms : {&one.block_, &one.cluster_}) {
    for (Term& term : *terms) term = term.For(config);
  }
  one.shared_memory_ = shared_memory_->For(config);
  if (of_code_) {
    const CodeGeometry code = of_code_(config);
    if (code.block) one.block_ = {*code.block, 1, 1};
    if (code.shared_memory_bytes) one.shared_memory_ = *code.shared_memory_bytes;
    if (code.cluster) {
      one.cluster_ = {*code.cluster, 1, 1};
      one.blocks_per_cluster_ = *code.cluster;
    }
    one.of_code_ = nullptr;
  }
  one.ComputeConstants();
  return one;
}

std::optional<Geometry> GeometryFn::AllButGrid() const {
  bool is_known = grid_ && grid_->pattern() != Grid::Pattern::kCustom && is_constant_ && !of_code_;
  return is_known && prototype_.IsLaunchable() ? std::optional<Geometry>(prototype_) : std::nullopt;
}

void GeometryFn::SetTerms(const Config& config, const Problem& problem, Geometry* geometry) const {
  auto extents = [&](const std::vector<Term>& terms) {
    return Dim3{terms[0].Value(config, problem), terms[1].Value(config, problem), terms[2].Value(config, problem)};
  };
  geometry->block = extents(block_);
  geometry->cluster = extents(cluster_);
  geometry->shared_memory_bytes = shared_memory_->Value(config, problem);
}

Geometry GeometryFn::operator()(const Config& config, const Problem& problem) const {
  if (!grid_) return function_(config, problem);
  if (of_code_) return For(config)(config, problem);
  Geometry geometry = prototype_;
  geometry.grid = GridOf(config, problem);
  if (!is_constant_) SetTerms(config, problem, &geometry);
  return geometry;
}

Status GeometryFn::Check(const Config& config, const Problem& problem) const {
  Status status = (*this)(config, problem).Check();
  if (status.ok() || !grid_) return status;
  TUNEONCE_RETURN_IF_ERROR(grid_->CheckTerms(config, problem).WithPrefix("the grid"));
  for (const std::vector<Term>* terms : {&block_, &cluster_}) {
    for (const Term& term : *terms) {
      TUNEONCE_RETURN_IF_ERROR(
          term.Evaluate(config, problem).status().WithPrefix(terms == &block_ ? "the block" : "the cluster"));
    }
  }
  TUNEONCE_RETURN_IF_ERROR(shared_memory_->Evaluate(config, problem).status().WithPrefix("the shared memory"));
  return InvalidArgumentError(absl::StrCat(status.message(), "; the grid is ", grid_->ToString(config, problem)));
}

}  // namespace v0
}  // namespace tuneonce
