#include "tuneonce/families.h"

#include "definition/family.h"

namespace tuneonce {
inline namespace v0 {
namespace families {
namespace {

const Family& Named(const char* name) { return **FindFamily(name); }

SearchSpace OfRows(const char* name, const std::string& n) { return Named(name).Space(std::nullopt, {{"N", n}}); }

SearchSpace OfProducts(const char* name, const std::optional<Target>& only, const MatmulDims& dims) {
  return Named(name).Space(only, {{"M", dims.m}, {"N", dims.n}, {"K", dims.k}});
}

SearchSpace OfAttention(const char* name, const std::optional<Target>& only, const AttentionDims& dims) {
  return Named(name).Space(only, {{"M", dims.queries}, {"N", dims.keys}, {"D", dims.head}});
}

}  // namespace

SearchSpace OccupancyOnly() { return Named("occupancy_only").Space(); }
SearchSpace NormLike(const std::string& n) { return OfRows("norm_like", n); }
SearchSpace Reduction(const std::string& n) { return OfRows("reduction", n); }
SearchSpace Elementwise(const std::string& n) { return OfRows("elementwise", n); }
SearchSpace InPlace() { return Named("in_place").Space(); }
SearchSpace DenseMatmul(const std::optional<Target>& only, const MatmulDims& dims) {
  return OfProducts("dense_matmul", only, dims);
}
SearchSpace PersistentMatmul(const std::optional<Target>& only, const MatmulDims& dims) {
  return OfProducts("persistent_matmul", only, dims);
}
SearchSpace Attention(const std::optional<Target>& only, const AttentionDims& dims) {
  return OfAttention("attention", only, dims);
}
SearchSpace Fp8Matmul(const std::optional<Target>& only, const MatmulDims& dims) {
  return OfProducts("fp8_matmul", only, dims);
}
SearchSpace GroupedGemm(const std::optional<Target>& only, const MatmulDims& dims) {
  return OfProducts("grouped_gemm", only, dims);
}
SearchSpace VarlenAttention(const std::optional<Target>& only, const AttentionDims& dims) {
  return OfAttention("varlen_attention", only, dims);
}
SearchSpace DualGemm(const std::optional<Target>& only, const MatmulDims& dims) {
  return OfProducts("dual_gemm", only, dims);
}

}  // namespace families
}  // namespace v0
}  // namespace tuneonce
