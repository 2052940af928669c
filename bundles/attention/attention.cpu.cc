// o = softmax(scale q k^T) v, as attention_declared.py says it, with the softmax online, in float: block (TILE_M
// queries, head, batch), one query at a time.
static int smaller(int a, int b) { return a < b ? a : b; }

/// One query that sees `count` keys; `sums` are d numbers of its own.
static void attend(const T* query, const T* k, const T* v, T* out, float* sums, float scale, int count, int d) {
  float largest = -3.4e38f, total = 0;
  for (int i = 0; i < d; ++i) sums[i] = 0;
  for (int key = 0; key < count; ++key, k += d, v += d) {
    float score = 0;
    for (int i = 0; i < d; ++i) score += static_cast<float>(query[i]) * static_cast<float>(k[i]);
    score *= scale;
    const float most = score > largest ? score : largest;
    const float weight = __builtin_expf(score - most), factor = __builtin_expf(largest - most);
    total = total * factor + weight;
    for (int i = 0; i < d; ++i) sums[i] = sums[i] * factor + weight * static_cast<float>(v[i]);
    largest = most;
  }
  for (int i = 0; i < d; ++i) out[i] = static_cast<T>(total > 0 ? sums[i] / total : 0.0f);
}

static void attention(const tuneonce_block& block, const T* q, const T* k, const T* v, T* o, float scale, bool causal,
                      int s, int t, int h, int g, int d) {
  const long head = static_cast<long>(block.z) * h + block.y;
  const long kv_head = static_cast<long>(block.z) * g + static_cast<long>(block.y) * g / h;
  const int begin = static_cast<int>(block.x) * TILE_M, end = smaller(begin + TILE_M, s);
  float* sums = static_cast<float*>(__builtin_alloca(sizeof(float) * static_cast<unsigned long>(d)));
  for (int row = begin; row < end; ++row) {
    const long at = (head * s + row) * d;
    attend(q + at, k + kv_head * t * d, v + kv_head * t * d, o + at, sums, scale,
           causal ? smaller(row + 1 + t - s, t) : t, d);
  }
}
TUNEONCE_CPU_KERNEL(attention);
