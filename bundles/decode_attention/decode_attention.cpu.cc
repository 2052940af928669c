// o = softmax(scale q k^T) v of one query per sequence, as decode_attention_declared.py says it, with the softmax
// online, in float: block (head, sequence). The splits follow each other, so that nobody must know who is the last:
// `counters` stay as they are.
static constexpr float kLeast = -3.4e38f;

static int smaller(int a, int b) { return a < b ? a : b; }

/// One query against the keys from `begin` up to `end`: into `sums`, d numbers, its output. Returns the natural
/// logarithm of the sum of exponents; kLeast of no keys.
static float attend(const T* query, const T* k, const T* v, float* sums, float scale, int begin, int end, int d) {
  float largest = kLeast, total = 0;
  for (int i = 0; i < d; ++i) sums[i] = 0;
  for (int key = begin; key < end; ++key) {
    const long at = static_cast<long>(key) * d;
    float score = 0;
    for (int i = 0; i < d; ++i) score += static_cast<float>(query[i]) * static_cast<float>(k[at + i]);
    score *= scale;
    const float most = score > largest ? score : largest;
    const float weight = __builtin_expf(score - most), factor = __builtin_expf(largest - most);
    total = total * factor + weight;
    for (int i = 0; i < d; ++i) sums[i] = sums[i] * factor + weight * static_cast<float>(v[at + i]);
    largest = most;
  }
  if (total == 0) return kLeast;
  for (int i = 0; i < d; ++i) sums[i] /= total;
  return largest + __builtin_logf(total);
}

/// The outputs of SPLITS splits, each weighed by its sum of exponents.
static void combine(const float* outputs, const float* lse, T* out, int d) {
  float most = kLeast, total = 0;
  for (int split = 0; split < SPLITS; ++split) most = lse[split] > most ? lse[split] : most;
  for (int split = 0; split < SPLITS; ++split) total += __builtin_expf(lse[split] - most);
  for (int i = 0; i < d; ++i) {
    float sum = 0;
    for (int split = 0; split < SPLITS; ++split) sum += __builtin_expf(lse[split] - most) * outputs[split * d + i];
    out[i] = static_cast<T>(sum / total);
  }
}

static void decode_attention(const tuneonce_block& block, const T* q, const T* k, const T* v, const int* lengths, T* o,
                             int* /*counters*/, float scale, float* partial_o, float* partial_lse, int c, int h, int g,
                             int d) {
  const long row = static_cast<long>(block.y) * h + block.x;
  const long of_keys = (static_cast<long>(block.y) * g + static_cast<long>(block.x) / (h / g)) * c * d;
  const int length = lengths[block.y], num_tiles = (length + TILE_N - 1) / TILE_N;
  const int of_split = (num_tiles + SPLITS - 1) / SPLITS * TILE_N;
  float one_lse = 0, *one = static_cast<float*>(__builtin_alloca(sizeof(float) * static_cast<unsigned long>(d)));
  float* outputs = SPLITS == 1 ? one : partial_o + row * SPLITS * d;
  float* lse = SPLITS == 1 ? &one_lse : partial_lse + row * SPLITS;
  for (int split = 0; split < SPLITS; ++split) {
    lse[split] = attend(q + row * d, k + of_keys, v + of_keys, outputs + split * d, scale, split * of_split,
                        smaller((split + 1) * of_split, length), d);
  }
  combine(outputs, lse, o + row * d, d);
}
TUNEONCE_CPU_KERNEL(decode_attention);
