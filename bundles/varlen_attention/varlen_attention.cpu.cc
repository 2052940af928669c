// o = softmax(scale q k^T) v within each sequence, as varlen_attention_declared.py says it, with the softmax online, in
// float: block (TILE_M queries of a sequence, head), one query at a time.
static int smaller(int a, int b) { return a < b ? a : b; }

/// The last sequence that begins with this block or before.
static int sequence_of(int block, const int* cu_seqlens, int num_sequences) {
  int sequence = 0;
  while (sequence + 1 < num_sequences && cu_seqlens[sequence + 1] / TILE_M + sequence + 1 <= block) ++sequence;
  return sequence;
}

/// One query that sees `count` keys, `stride` numbers apart; `sums` are d numbers of its own.
static void attend(const T* query, const T* k, const T* v, T* out, float* sums, float scale, int count, int d,
                   long stride) {
  float largest = -3.4e38f, total = 0;
  for (int i = 0; i < d; ++i) sums[i] = 0;
  for (int key = 0; key < count; ++key, k += stride, v += stride) {
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

static void varlen_attention(const tuneonce_block& block, const T* q, const T* k, const T* v, const int* cu_seqlens,
                             T* o, float scale, bool causal, int num_offsets, int h, int g, int d) {
  const int sequence = sequence_of(static_cast<int>(block.x), cu_seqlens, num_offsets - 1);
  const int begin = cu_seqlens[sequence], length = cu_seqlens[sequence + 1] - begin;
  const int row_begin = (static_cast<int>(block.x) - begin / TILE_M - sequence) * TILE_M;
  const long kv_stride = static_cast<long>(g) * d;
  const long of_keys = begin * kv_stride + static_cast<long>(block.y) * g / h * d;
  float* sums = static_cast<float*>(__builtin_alloca(sizeof(float) * static_cast<unsigned long>(d)));
  for (int row = row_begin; row < smaller(row_begin + TILE_M, length); ++row) {
    const long at = (static_cast<long>(begin + row) * h + block.y) * d;
    attend(q + at, k + of_keys, v + of_keys, o + at, sums, scale, causal ? row + 1 : length, d, kv_stride);
  }
}
TUNEONCE_CPU_KERNEL(varlen_attention);
