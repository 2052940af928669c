// o = softmax(scale q k^T) v within each sequence, whose keys lie in pages, as paged_attention_declared.py says it,
// with the softmax online, in float: block (TILE_M queries of a sequence, head), one query at a time.
static int smaller(int a, int b) { return a < b ? a : b; }

/// The last sequence that begins with this block or before.
static int sequence_of(int block, const int* cu_seqlens, int num_sequences) {
  int sequence = 0;
  while (sequence + 1 < num_sequences && cu_seqlens[sequence + 1] / TILE_M + sequence + 1 <= block) ++sequence;
  return sequence;
}

/// Where the keys of a sequence are, and its values, of one head: rows that are `stride` apart in pages of `page` rows.
struct Caches {
  const T *k, *v;
  const int* pages;
  int page;
  long stride;
  long row(int key) const { return (static_cast<long>(pages[key / page]) * page + key % page) * stride; }
};

/// One query that sees `count` keys; `sums` are d numbers of its own.
static void attend(const T* query, const Caches& caches, T* out, float* sums, float scale, int count, int d) {
  float largest = -3.4e38f, total = 0;
  for (int i = 0; i < d; ++i) sums[i] = 0;
  for (int key = 0; key < count; ++key) {
    const T *k = caches.k + caches.row(key), *v = caches.v + caches.row(key);
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

static void paged_attention(const tuneonce_block& block, const T* q, const T* k, const T* v, const int* pages,
                            const int* lengths, const int* cu_seqlens, T* o, float scale, bool causal, int s, int h,
                            int g, int d, int page, int table) {
  const int sequence = sequence_of(static_cast<int>(block.x), cu_seqlens, s);
  const int begin = cu_seqlens[sequence], num_queries = cu_seqlens[sequence + 1] - begin, num_keys = lengths[sequence];
  const int row_begin = (static_cast<int>(block.x) - begin / TILE_M - sequence) * TILE_M;
  const long of_head = static_cast<long>(block.y) * g / h * d;
  const Caches caches = {k + of_head, v + of_head, pages + static_cast<long>(sequence) * table, page,
                         static_cast<long>(g) * d};
  float* sums = static_cast<float*>(__builtin_alloca(sizeof(float) * static_cast<unsigned long>(d)));
  for (int row = row_begin; row < smaller(row_begin + TILE_M, num_queries); ++row) {
    const long at = (static_cast<long>(begin + row) * h + block.y) * d;
    attend(q + at, caches, o + at, sums, scale, causal ? row + 1 + num_keys - num_queries : num_keys, d);
  }
}
TUNEONCE_CPU_KERNEL(paged_attention);
