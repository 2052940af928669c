// Keys and values of tokens (t, g, d) into the caches (b, g, c, d): token t goes to place slots[t] % c of sequence
// slots[t] / c; one whose slot is negative or beyond the caches goes nowhere. A block per token, VECTOR half-precision
// numbers per load. A half is its bits.
struct alignas(2 * VECTOR) Piece {
  unsigned short values[VECTOR];
};

extern "C" __global__ void __launch_bounds__(THREADS)
    append_kv(const Piece* k, const Piece* v, const int* slots, Piece* k_cache, Piece* v_cache, int b, int c, int g,
              int d) {
  const int slot = slots[blockIdx.x], of_head = d / VECTOR, pieces = g * of_head;
  if (slot < 0 || slot >= b * c) return;
  for (int i = threadIdx.x; i < pieces; i += THREADS) {
    const long long from = static_cast<long long>(blockIdx.x) * pieces + i;
    const long long head = static_cast<long long>(slot / c) * g + i / of_head;
    const long long to = (head * c + slot % c) * of_head + i % of_head;
    k_cache[to] = k[from];
    v_cache[to] = v[from];
  }
}
