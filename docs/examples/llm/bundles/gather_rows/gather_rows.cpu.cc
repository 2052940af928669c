// out[t] = table[rows[t]]: a block per row, of w half-precision numbers.
static void gather_rows(const tuneonce_block& block, const _Float16* table, const int* rows, _Float16* out, int w) {
  const _Float16* from = table + static_cast<long>(rows[block.x]) * w;
  for (int i = 0; i < w; ++i) out[static_cast<long>(block.x) * w + i] = from[i];
}
TUNEONCE_CPU_KERNEL(gather_rows);
