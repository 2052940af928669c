#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "base/short_list.h"
#include "bundle/manifest_readers.h"

namespace tuneonce {
inline namespace v0 {
namespace {

// Most entries of a manifest's lists, far beyond what a kernel has: what is asked of each entry when it is read, and at
// each launch of a bucket, is bounded by them.
constexpr std::size_t kMostProducts = 64;
constexpr std::size_t kMostOperands = 16;

struct Operation {
  const char* name;
  std::size_t most;  // Operands; at least two.
  Term (*combine)(Term, Term);
};
constexpr Operation kOperations[] = {
    {"ceil_div", 2, &CeilDiv},
    {"floor_div", 2, [](Term a, Term b) { return std::move(a) / std::move(b); }},
    {"sum", kMostOperands, [](Term a, Term b) { return std::move(a) + std::move(b); }},
    {"product", kMostOperands, [](Term a, Term b) { return std::move(a) * std::move(b); }},
    {"min", kMostOperands, &Min},
    {"max", kMostOperands, &Max},
};

Result<Term> ReadUnresolved(const BundleSpace& space, const ManifestNode& node);

Result<Term> ReadNumber(const ManifestNode& node) {
  TUNEONCE_ASSIGN_OR_RETURN(std::int64_t value, node.Int());
  return Term(value);
}

Result<Term> ReadName(const BundleSpace& space, const ManifestNode& node) {
  TUNEONCE_ASSIGN_OR_RETURN(std::string name, node.String());
  TUNEONCE_ASSIGN_OR_RETURN(bool is_axis, space.MeansAxis(node));
  if (!is_axis) return Term(name.c_str());
  TUNEONCE_ASSIGN_OR_RETURN(IntAxis axis, space.FindIntAxis(node));
  return Term(axis, std::move(name));
}

Result<Term> ReadOperation(const BundleSpace& space, const Operation& operation, const ManifestNode& node) {
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren list, node.Array());
  if (list.size() < 2 || list.size() > operation.most) {
    return node.Error(operation.most == 2 ? "expected [dividend, divisor]"
                                          : absl::StrCat("expected two to ", operation.most, " terms"));
  }
  TUNEONCE_ASSIGN_OR_RETURN(Term result, ReadUnresolved(space, list.front()));
  for (std::size_t i = 1; i < list.size(); ++i) {
    TUNEONCE_ASSIGN_OR_RETURN(Term next, ReadUnresolved(space, list[i]));
    result = operation.combine(std::move(result), std::move(next));
  }
  return result;
}

/// [[4, "M", "N"], [2, "N"]] is 4 M N + 2 N.
Result<Term> ReadSumOfProducts(const BundleSpace& space, const ManifestNode& node) {
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren products, node.Array(kMostProducts));
  Term sum(0);
  for (const ManifestNode& each : products) {
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren factors, each.Array(kMostOperands));
    if (factors.empty()) return each.Error("expected a list that begins with a number, [number, dim, ...]");
    TUNEONCE_ASSIGN_OR_RETURN(Term product, ReadNumber(factors.front()));
    for (std::size_t i = 1; i < factors.size(); ++i) {
      TUNEONCE_ASSIGN_OR_RETURN(Term factor, ReadName(space, factors[i]));
      product = std::move(product) * std::move(factor);
    }
    sum = &each == &products.front() ? std::move(product) : std::move(sum) + std::move(product);
  }
  return sum;
}

/// Lists the fields that say what a term is, those like `wanted` first.
std::string FieldsOfTerms(std::string_view wanted) {
  std::vector<std::string> fields = {"axis", "device"};
  for (const Operation& operation : kOperations) fields.emplace_back(operation.name);
  return ShortList(std::move(fields), wanted);
}

Result<Term> ReadObject(const BundleSpace& space, const ManifestNode& node) {
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren members, node.Object());
  if (members.size() != 1)
    return node.Error(absl::StrCat("a term must have exactly one field, but this one has ", members.size(),
                                   "; the fields are: ", FieldsOfTerms("")));
  const ManifestNode& value = members.front();
  const std::string field(value.name());
  if (field == "axis") {
    TUNEONCE_ASSIGN_OR_RETURN(IntAxis axis, space.FindIntAxis(value));
    TUNEONCE_ASSIGN_OR_RETURN(std::string name, value.String());
    return Term(axis, std::move(name));
  }
  if (field == "device") {
    TUNEONCE_ASSIGN_OR_RETURN(std::string name, value.String());
    if (name != "num_sms") return value.Error("expected num_sms, got '" + name + "'");
    return NumSms();
  }
  for (const Operation& operation : kOperations) {
    if (field == operation.name) return ReadOperation(space, operation, value);
  }
  return value.Error(absl::StrCat("unknown field '", field, "'; a term must have one of: ", FieldsOfTerms(field)));
}

Result<Term> ReadUnresolved(const BundleSpace& space, const ManifestNode& node) {
  switch (node.kind()) {
    case ManifestNode::Kind::kInt:
      return ReadNumber(node);
    case ManifestNode::Kind::kString:
      return ReadName(space, node);
    case ManifestNode::Kind::kObject:
      return ReadObject(space, node);
    case ManifestNode::Kind::kArray:
      return ReadSumOfProducts(space, node);
    default:
      return node.Error(
          "expected a whole number, a name of a dim, a scalar or an axis, or a term as {\"ceil_div\": [\"M\", "
          "\"TILE_M\"]}");
  }
}

}  // namespace

Result<Term> ReadTerm(const BundleSpace& space, const ManifestNode& node) {
  TUNEONCE_ASSIGN_OR_RETURN(Term term, ReadUnresolved(space, node));
  if (Status resolved = term.Resolve(space.names(), Term::kNoValue + 1); !resolved.ok()) {
    return node.Error(resolved.message());
  }
  return term;
}

Result<Term> ReadTermField(const BundleSpace& space, const ManifestNode& node, std::string_view field) {
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* term, node.Get(field));
  return ReadTerm(space, *term);
}

}  // namespace v0
}  // namespace tuneonce
