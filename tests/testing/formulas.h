#ifndef TUNEONCE_TESTS_TESTING_FORMULAS_H_
#define TUNEONCE_TESTS_TESTING_FORMULAS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

// What kernels should compute, in float64 and by other code than theirs.

namespace tuneonce::testing {

using Extents = std::map<std::string, std::int64_t>;
/// Tensors in the order of the parameters, as before the launch; outputs become what they are after it.
using Tensors = std::vector<std::vector<double>>;

inline void MatmulFormula(const Extents& dims, Tensors& tensors) {
  const auto m = static_cast<std::size_t>(dims.at("M")), n = static_cast<std::size_t>(dims.at("N"));
  const auto k = static_cast<std::size_t>(dims.at("K"));
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t p = 0; p < k; ++p) sum += tensors[0][i * k + p] * tensors[1][p * n + j];
      tensors[2][i * n + j] = sum;
    }
  }
}

inline constexpr float kEpsilon = 1e-5f;
inline void RmsNormFormula(const Extents& dims, Tensors& tensors) {
  const auto m = static_cast<std::size_t>(dims.at("M")), n = static_cast<std::size_t>(dims.at("N"));
  for (std::size_t i = 0; i < m; ++i) {
    const double* x = tensors[0].data() + i * n;
    double sum = 0;
    for (std::size_t j = 0; j < n; ++j) sum += x[j] * x[j];
    const double scale = 1.0 / std::sqrt(sum / static_cast<double>(n) + static_cast<double>(kEpsilon));
    for (std::size_t j = 0; j < n; ++j) tensors[2][i * n + j] = x[j] * scale * tensors[1][j];
  }
}

inline void RopeFormula(const Extents& dims, Tensors& tensors) {
  const auto tokens = static_cast<std::size_t>(dims.at("T")), heads = static_cast<std::size_t>(dims.at("H"));
  const auto half = static_cast<std::size_t>(dims.at("R"));
  for (std::size_t token = 0; token < tokens; ++token) {
    for (std::size_t head = 0; head < heads; ++head) {
      double* low = tensors[0].data() + (token * heads + head) * 2 * half;
      for (std::size_t i = 0; i < half; ++i) {
        const double c = tensors[1][token * half + i], s = tensors[2][token * half + i];
        const double u = low[i], v = low[i + half];
        low[i] = u * c - v * s;
        low[i + half] = v * c + u * s;
      }
    }
  }
}

inline void SoftmaxFormula(const Extents& dims, Tensors& tensors) {
  const auto m = static_cast<std::size_t>(dims.at("M")), n = static_cast<std::size_t>(dims.at("N"));
  for (std::size_t i = 0; i < m; ++i) {
    const double* x = tensors[0].data() + i * n;
    const double largest = *std::max_element(x, x + n);
    double sum = 0;
    for (std::size_t j = 0; j < n; ++j) sum += std::exp(x[j] - largest);
    for (std::size_t j = 0; j < n; ++j) tensors[1][i * n + j] = std::exp(x[j] - largest) / sum;
  }
}

inline void SiluAndMulFormula(const Extents& dims, Tensors& tensors) {
  const auto m = static_cast<std::size_t>(dims.at("M")), n = static_cast<std::size_t>(dims.at("N"));
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const double gate = tensors[0][i * 2 * n + j];
      tensors[1][i * n + j] = gate / (1 + std::exp(-gate)) * tensors[0][i * 2 * n + n + j];
    }
  }
}

inline void VectorAddFormula(const Extents&, Tensors& tensors) {
  for (std::size_t i = 0; i < tensors[2].size(); ++i) tensors[2][i] = tensors[0][i] + tensors[1][i];
}

inline void LayerNormFormula(const Extents& dims, Tensors& tensors) {
  const auto m = static_cast<std::size_t>(dims.at("M")), n = static_cast<std::size_t>(dims.at("N"));
  for (std::size_t i = 0; i < m; ++i) {
    const double* x = tensors[0].data() + i * n;
    double sum = 0, squares = 0;
    for (std::size_t j = 0; j < n; ++j) sum += x[j];
    const double mean = sum / static_cast<double>(n);
    for (std::size_t j = 0; j < n; ++j) squares += (x[j] - mean) * (x[j] - mean);
    const double scale = 1.0 / std::sqrt(squares / static_cast<double>(n) + static_cast<double>(kEpsilon));
    for (std::size_t j = 0; j < n; ++j) tensors[3][i * n + j] = (x[j] - mean) * scale * tensors[1][j] + tensors[2][j];
  }
}

inline void DualGemmFormula(const Extents& dims, Tensors& tensors) {
  Tensors gates = {tensors[0], tensors[1], tensors[3]}, ups = {tensors[0], tensors[2], tensors[3]};
  MatmulFormula(dims, gates);
  MatmulFormula(dims, ups);
  for (std::size_t i = 0; i < tensors[3].size(); ++i) {
    tensors[3][i] = gates[2][i] / (1 + std::exp(-gates[2][i])) * ups[2][i];
  }
}

/// (M, K) by (N, K), times two scales.
inline void Fp8MatmulFormula(const Extents& dims, Tensors& tensors) {
  const auto m = static_cast<std::size_t>(dims.at("M")), n = static_cast<std::size_t>(dims.at("N"));
  const auto k = static_cast<std::size_t>(dims.at("K"));
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t p = 0; p < k; ++p) sum += tensors[0][i * k + p] * tensors[1][j * k + p];
      tensors[4][i * n + j] = sum * tensors[2][0] * tensors[3][0];
    }
  }
}

/// (M, K) by (N, K), each 128 numbers of a row times one scale, and each 128 x 128 of the second.
inline void Fp8BlockMatmulFormula(const Extents& dims, Tensors& tensors) {
  const auto m = static_cast<std::size_t>(dims.at("M")), n = static_cast<std::size_t>(dims.at("N"));
  const auto k = static_cast<std::size_t>(dims.at("K")), kb = static_cast<std::size_t>(dims.at("KB"));
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t p = 0; p < k; ++p) {
        const double scale = tensors[2][i * kb + p / 128] * tensors[3][j / 128 * kb + p / 128];
        sum += tensors[0][i * k + p] * tensors[1][j * k + p] * scale;
      }
      tensors[4][i * n + j] = sum;
    }
  }
}

/// The rows from offsets[e] up to offsets[e + 1] by the matrix e.
inline void GroupedGemmFormula(const Extents& dims, Tensors& tensors) {
  const auto k = static_cast<std::size_t>(dims.at("K")), n = static_cast<std::size_t>(dims.at("N"));
  for (std::size_t group = 0; group + 1 < tensors[2].size(); ++group) {
    const auto begin = static_cast<std::size_t>(tensors[2][group]);
    const auto end = static_cast<std::size_t>(tensors[2][group + 1]);
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::size_t p = 0; p < k; ++p) sum += tensors[0][i * k + p] * tensors[1][(group * k + p) * n + j];
        tensors[3][i * n + j] = sum;
      }
    }
  }
}

/// The first rows[e] rows of x[e] by the matrix e.
inline void GroupedGemmPointersFormula(const Extents& dims, Tensors& tensors) {
  const auto m = static_cast<std::size_t>(dims.at("M")), k = static_cast<std::size_t>(dims.at("K"));
  const auto n = static_cast<std::size_t>(dims.at("N"));
  for (std::size_t group = 0; group < tensors[2].size(); ++group) {
    for (std::size_t i = group * m; i < group * m + static_cast<std::size_t>(tensors[2][group]); ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::size_t p = 0; p < k; ++p) sum += tensors[0][i * k + p] * tensors[1][(group * k + p) * n + j];
        tensors[3][i * n + j] = sum;
      }
    }
  }
}

/// gelu(x) z, with the tanh of arXiv:1606.08415.
inline void ElementwiseFormula(const Extents&, Tensors& tensors) {
  const double slope = std::sqrt(2 / std::acos(-1.0));
  for (std::size_t i = 0; i < tensors[2].size(); ++i) {
    const double x = tensors[0][i];
    tensors[2][i] = 0.5 * x * (1 + std::tanh(slope * (x + 0.044715 * x * x * x))) * tensors[1][i];
  }
}

inline constexpr float kAttentionScale = 0.3f;
/// One query that sees `count` keys; a query that sees none gets zeros.
inline void AttendFormula(const double* query, const double* keys, const double* values, double* out, std::size_t count,
                          std::size_t d) {
  std::vector<double> weights(count);
  double largest = -HUGE_VAL, total = 0;
  for (std::size_t key = 0; key < count; ++key) {
    for (std::size_t i = 0; i < d; ++i) weights[key] += query[i] * keys[key * d + i];
    weights[key] *= static_cast<double>(kAttentionScale);
    largest = std::max(largest, weights[key]);
  }
  std::fill_n(out, d, 0.0);
  for (double& weight : weights) total += weight = std::exp(weight - largest);
  for (std::size_t key = 0; key < count; ++key) {
    for (std::size_t i = 0; i < d; ++i) out[i] += weights[key] / total * values[key * d + i];
  }
}
template <bool kIsCausal>
void AttentionFormula(const Extents& dims, Tensors& tensors) {
  const std::int64_t s = dims.at("S"), t = dims.at("T"), h = dims.at("H"), g = dims.at("G"), d = dims.at("D");
  for (std::int64_t head = 0; head < dims.at("B") * h; ++head) {
    const std::int64_t shared = (head / h * g + head % h / (h / g)) * t * d;
    for (std::int64_t query = 0; query < s; ++query) {
      const std::int64_t at = (head * s + query) * d;
      const std::int64_t count = kIsCausal ? std::max<std::int64_t>(0, query + 1 + t - s) : t;
      AttendFormula(tensors[0].data() + at, tensors[1].data() + shared, tensors[2].data() + shared,
                    tensors[3].data() + at, static_cast<std::size_t>(count), static_cast<std::size_t>(d));
    }
  }
}

/// One query per sequence and head, of the first lengths[b] keys of a cache.
inline void DecodeAttentionFormula(const Extents& dims, Tensors& tensors) {
  const auto h = static_cast<std::size_t>(dims.at("H")), g = static_cast<std::size_t>(dims.at("G"));
  const auto c = static_cast<std::size_t>(dims.at("C")), d = static_cast<std::size_t>(dims.at("D"));
  for (std::size_t sequence = 0; sequence < tensors[3].size(); ++sequence) {
    for (std::size_t head = 0; head < h; ++head) {
      const std::size_t at = (sequence * h + head) * d, shared = (sequence * g + head / (h / g)) * c * d;
      AttendFormula(tensors[0].data() + at, tensors[1].data() + shared, tensors[2].data() + shared,
                    tensors[4].data() + at, static_cast<std::size_t>(tensors[3][sequence]), d);
    }
  }
}

/// AttentionFormula of each sequence and head, whose rows are gathered first.
template <bool kIsCausal>
void VarlenAttentionFormula(const Extents& dims, Tensors& tensors) {
  const auto h = static_cast<std::size_t>(dims.at("H")), g = static_cast<std::size_t>(dims.at("G"));
  const auto d = static_cast<std::size_t>(dims.at("D"));
  auto rows = [&](std::size_t tensor, std::size_t heads, std::size_t head, std::size_t begin, std::size_t end) {
    std::vector<double> gathered;
    for (std::size_t row = begin; row < end; ++row) {
      const double* at = tensors[tensor].data() + (row * heads + head) * d;
      gathered.insert(gathered.end(), at, at + d);
    }
    return gathered;
  };
  for (std::size_t sequence = 0; sequence + 1 < tensors[3].size(); ++sequence) {
    const auto begin = static_cast<std::size_t>(tensors[3][sequence]);
    const auto end = static_cast<std::size_t>(tensors[3][sequence + 1]);
    const auto length = static_cast<std::int64_t>(end - begin);
    const Extents of_one = {{"B", 1}, {"H", 1}, {"G", 1}, {"S", length}, {"T", length}, {"D", dims.at("D")}};
    for (std::size_t head = 0; head < h; ++head) {
      const std::size_t shared = head / (h / g);
      Tensors one = {rows(0, h, head, begin, end), rows(1, g, shared, begin, end), rows(2, g, shared, begin, end),
                     std::vector<double>((end - begin) * d)};
      AttentionFormula<kIsCausal>(of_one, one);
      for (std::size_t i = 0; i < one[3].size(); ++i) {
        tensors[4][((begin + i / d) * h + head) * d + i % d] = one[3][i];
      }
    }
  }
}

/// AttentionFormula of each sequence and head, with the keys that its pages have.
template <bool kIsCausal>
void PagedAttentionFormula(const Extents& dims, Tensors& tensors) {
  const std::int64_t h = dims.at("H"), g = dims.at("G"), d = dims.at("D"), page = dims.at("PAGE");
  const std::vector<double>&pages = tensors[3], &lengths = tensors[4], &cu_seqlens = tensors[5];
  auto append = [d](std::vector<double>& to, const std::vector<double>& from, std::int64_t at) {
    to.insert(to.end(), from.begin() + at, from.begin() + at + d);
  };
  for (std::size_t sequence = 0; sequence < lengths.size(); ++sequence) {
    const auto begin = static_cast<std::int64_t>(cu_seqlens[sequence]);
    const auto num_queries = static_cast<std::int64_t>(cu_seqlens[sequence + 1]) - begin;
    const auto num_keys = static_cast<std::int64_t>(lengths[sequence]);
    const Extents of_one = {{"B", 1}, {"H", 1}, {"G", 1}, {"S", num_queries}, {"T", num_keys}, {"D", d}};
    const double* table = pages.data() + static_cast<std::int64_t>(sequence) * dims.at("TABLE");
    for (std::int64_t head = 0; head < h; ++head) {
      Tensors one = {{}, {}, {}, std::vector<double>(static_cast<std::size_t>(num_queries * d))};
      for (std::int64_t row = 0; row < num_queries; ++row) append(one[0], tensors[0], ((begin + row) * h + head) * d);
      for (std::int64_t key = 0; key < num_keys; ++key) {
        const std::int64_t row = static_cast<std::int64_t>(table[key / page]) * page + key % page;
        for (std::size_t of : {1, 2}) append(one[of], tensors[of], (row * g + head / (h / g)) * d);
      }
      AttentionFormula<kIsCausal>(of_one, one);
      for (std::int64_t i = 0; i < num_queries * d; ++i) {
        tensors[6][static_cast<std::size_t>(((begin + i / d) * h + head) * d + i % d)] =
            one[3][static_cast<std::size_t>(i)];
      }
    }
  }
}

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_FORMULAS_H_
