// Keys and values of tokens (t, g, d) into the caches (b, g, c, d): token t goes to place slots[t] % c of sequence
// slots[t] / c; one whose slot is negative or beyond the caches goes nowhere. A block per token.
static void append_kv(const tuneonce_block& block, const _Float16* k, const _Float16* v, const int* slots,
                      _Float16* k_cache, _Float16* v_cache, int b, int c, int g, int d) {
  const int slot = slots[block.x];
  if (slot < 0 || slot >= b * c) return;
  for (int head = 0; head < g; ++head) {
    const long from = (static_cast<long>(block.x) * g + head) * d;
    const long to = ((static_cast<long>(slot / c) * g + head) * c + slot % c) * d;
    for (int i = 0; i < d; ++i) {
      k_cache[to + i] = k[from + i];
      v_cache[to + i] = v[from + i];
    }
  }
}
TUNEONCE_CPU_KERNEL(append_kv);
