#include "inspect/code_warnings.h"

#include <algorithm>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "launch/parameter_block.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using OfVariant = ClassifiedBundle::OfVariant;

/// The first architecture that has TMA.
constexpr int kCapabilityOfTma = 90;

/// The names of a definition's tensors that the kernel of `variant` takes at `places`.
std::set<std::string> NamesAt(const std::set<int>& places, const KernelDefinition& definition, const Variant& variant) {
  std::set<std::string> names;
  Result<ParameterLayout> layout = ParameterLayout::Create(definition, variant.convention, variant.parameters);
  for (int place : places) {
    const auto at = static_cast<std::size_t>(place);
    const bool is_declared = layout.ok() && at < layout->num_declared();
    names.insert(is_declared ? definition.parameters()[layout->MeaningOf(at).parameter].name
                             : absl::StrCat("parameter ", place));
  }
  return names;
}

/// "'a', 'b'".
std::string Quoted(const std::set<std::string>& names) {
  return absl::StrJoin(names, ", ",
                       [](std::string* out, const std::string& name) { absl::StrAppend(out, "'", name, "'"); });
}

/// Warnings of one variant.
class VariantWarnings {
 public:
  VariantWarnings(const KernelDefinition& definition, const Variant& variant, const KernelEvidence& evidence)
      : definition_(definition), variant_(variant), evidence_(evidence) {}

  std::vector<std::string> Find(const std::set<std::string>& aligned, bool has_tma) {
    if (evidence_.num_products_in_plain_loops > 0) {
      Add("a matrix product stands in an unstructured loop, which tileiras does not pipeline (3.7x slower at 4096^3 on "
          "an H100); loop over tiles::irange in Tile C++, over range in Python");
    }
    if (has_tma) AddStrides(aligned);
    if (const std::set<std::string> names = Names(evidence_.unordered_tensors); !names.empty()) {
      Add(absl::StrCat(Quoted(names), names.size() == 1 ? " is" : " are",
                       " loaded and stored without a token from one to the other, and only tokens order Tile IR's "
                       "accesses, so that a load may return either value; access the tensor through one array or "
                       "pointer, which makes front ends chain the tokens"));
    }
    if (evidence_.has_unordered_signal) {
      Add("a block branches on a counter or flag that other blocks write, and loads data that they stored, but no "
          "token "
          "orders these loads after an operation with memory order acquire, so that they may read old data; read the "
          "counter or flag with acquire (an atomic operation: acquire-release), and pass the token that this returns "
          "to the loads");
    }
    if (evidence_.waits_for_blocks) {
      Add("a block waits in a loop for what another block writes, which hangs if that block has not started; wait only "
          "for blocks that have (as for the holder of a lock), or launch no more blocks than run at once, and tune "
          "with isolation");
    }
    return std::move(found_);
  }

 private:
  void Add(const std::string& text) { found_.push_back(absl::StrCat("variant '", variant_.name, "': ", text)); }

  std::set<std::string> Names(const std::set<int>& places) const { return NamesAt(places, definition_, variant_); }

  void AddStrides(const std::set<std::string>& aligned) {
    std::set<std::string> names;
    for (const std::string& name : Names(evidence_.unaligned_tensors)) {
      if (aligned.count(name) == 0) names.insert(name);
    }
    if (names.empty()) return;
    Add(absl::StrCat("the compiler cannot see that strides of ", Quoted(names),
                     " are multiples of 16 bytes, so that TMA does not copy their tiles; let the code assume it "
                     "(tiles::assume_divisible in Tile C++, alignment in an exporter's declaration)"));
  }

  const KernelDefinition& definition_;
  const Variant& variant_;
  const KernelEvidence& evidence_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> CodeWarnings(const KernelDefinition& definition, const std::vector<OfVariant>& variants,
                                      const Target& target) {
  std::vector<std::pair<const Variant*, const KernelEvidence*>> read;
  std::set<std::string> aligned;
  for (const OfVariant& each : variants) {
    if (!IsTile(each.kind) || each.num_sources == 0) continue;
    auto is_it = [&](const Variant& variant) { return variant.name == each.name; };
    auto variant = std::find_if(definition.variants().begin(), definition.variants().end(), is_it);
    if (variant == definition.variants().end()) continue;
    read.emplace_back(&*variant, &each.largest);
    const std::set<std::string> open = NamesAt(each.largest.unaligned_tensors, definition, *variant);
    for (const std::string& name : NamesAt(each.largest.aligned_tensors, definition, *variant)) {
      if (open.count(name) == 0) aligned.insert(name);
    }
  }
  std::vector<std::string> found;
  for (const auto& [variant, evidence] : read) {
    for (std::string& text :
         VariantWarnings(definition, *variant, *evidence).Find(aligned, target.capability() >= kCapabilityOfTma)) {
      found.push_back(std::move(text));
    }
  }
  return found;
}

}  // namespace v0
}  // namespace tuneonce
