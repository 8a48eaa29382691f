/** The number that a value is, or that its text is. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  const isNumber = typeof value === 'string' && /^\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?\s*$/i.test(value);
  return isNumber ? Number(value) : undefined;
}
